"""TensorFlow's SavedModels -> graphs to place: one call of a signature, inference or training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from suite.capture.describe_exception import describe_exception
from suite.capture.from_function import Program, capture_function
from suite.capture.options import Options
from suite.core.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf
    from tensorflow.types.experimental import ConcreteFunction

USUAL = "serving_default"
"""The signature that TensorFlow and Keras write where nobody names one."""


def capture_folder(model: str, options: Options) -> Program:
    """Load a SavedModel and capture a call of the signature ``options.fetch``.

    Without one, of ``serving_default``, or of the only one there is. Open dimensions of its inputs
    are filled in from ``options``. InputError says why it cannot be.
    """
    import tensorflow as tf

    try:
        loaded = tf.saved_model.load(model)
    except Exception as error:
        if "there are 0 MetaGraphs" in str(error):
            raise InputError(f"{model} is damaged: it has no graph; save it again") from None
        if "MetaGraph" in str(error):
            raise InputError(
                f"{model} has several graphs, told apart by tags; save one of them alone, or name a"
                " function that loads it (package.module:function)"
            ) from None
        raise InputError(f"TensorFlow cannot load {model}: {describe_exception(error)}") from None
    chosen = _signature(model, list(loaded.signatures), options)
    signature = loaded.signatures[chosen]
    specs = _inputs(signature, options)
    try:
        # Traced once more, with all sizes known: what was saved may leave some open.
        step = tf.function(lambda **given: signature(**given), autograph=False)
        function = step.get_concrete_function(**specs)
    except Exception as error:
        said = describe_exception(error)
        raise InputError(f"{model}: tracing signature {chosen} failed: {said}") from None
    choices = [f"signature {chosen} of {', '.join(loaded.signatures)}"]
    if specs:
        sizes = (f"{name} {tuple(spec.shape)}" for name, spec in specs.items())
        choices.append(f"inputs {', '.join(sizes)}")
    return capture_function(function, Path(model).resolve().name, choices)


def _signature(model: str, names: list[str], options: Options) -> str:
    """The signature that is asked for, or the usual one; InputError if there is none such."""
    if not names:
        raise InputError(
            f"{model} has no signatures; save it with some (tf.saved_model.save(..., signatures=)),"
            " or name a function that loads it (package.module:function)"
        )
    wanted = options.fetch or ((USUAL,) if USUAL in names else tuple(names))
    if len(wanted) > 1 or wanted[0] not in names:
        raise InputError(f"{model} has the signatures {', '.join(names)}; name one with --fetch")
    return wanted[0]


def _inputs(signature: ConcreteFunction, options: Options) -> dict[str, tf.TensorSpec]:
    """The inputs of a signature, with all their sizes."""
    import tensorflow as tf

    known = signature.structured_input_signature[1]
    shapes = {name: spec.shape for name, spec in known.items()}
    sizes = {name: None if s.rank is None else s.as_list() for name, s in shapes.items()}
    options.check_inputs(sizes)
    specs = {}
    # TensorFlow gives them in another order each time.
    for name, spec in sorted(known.items()):
        options.dtype(name, spec.dtype.name)
        specs[name] = tf.TensorSpec(options.shape(name, sizes[name]), spec.dtype, name)
    return specs
