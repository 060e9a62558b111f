"""Keras models -> graphs to place: one training step of the model, as it was compiled."""

from __future__ import annotations

import inspect
import keyword
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from suite.capture.describe_exception import describe_exception
from suite.capture.from_function import Program, capture_function
from suite.capture.keras_inputs import KerasInputs, Tensors, inputs_of
from suite.capture.options import Options
from suite.capture.unrolled import unrolled
from suite.core.errors import InputError

if TYPE_CHECKING:
    import keras
    import tensorflow as tf
    from tensorflow.types.experimental import GenericFunction

Loss = Callable[[object, Tensors, object], "tf.Tensor"]
"""What the model was called on, labels and predictions to a number."""


def capture_file(model: str, options: Options) -> Program:
    """Load a ``.keras`` or ``.h5`` file and capture a training step; InputError if it cannot."""
    import keras

    path = Path(model)
    if path.suffix.lower() == ".keras" and not zipfile.is_zipfile(path):
        raise InputError(f"{model} is damaged or no .keras file; save the model again")
    try:
        network = keras.models.load_model(path, safe_mode=not options.trust)
    except Exception as error:
        if "safe_mode" in str(error):
            raise InputError(
                f"{model} holds Python code (a Lambda layer), which would run on this host; if you"
                " know who made the file, add --trust"
            ) from None
        raise InputError(
            f"Keras cannot load {model}: {describe_exception(error)}; if it has classes of your own"
            " or was saved by another Keras, name the function that builds it instead"
            " (package.module:function)"
        ) from None
    return capture_keras(network, path.stem, options)


def capture_keras(network: keras.Model, name: str, options: Options) -> Program:
    """Capture forward, loss, backward and update of a ``keras.Model``.

    The loss and the optimizer are those it was compiled with, else SGD on the sum of the outputs'
    mean squares. A model's own ``compute_loss`` and what its layers add count; without a compiled
    loss, labels are shaped like the outputs for the one, and there are none for the other.
    Recurrent layers are unrolled: a loop would be one operation. The graph's ``choices`` say all
    this. InputError for what cannot be trained, has open shapes or a ``train_step`` of its own.
    """
    _check_own_rules(network, name)
    inputs = inputs_of(network, name, options)
    choices = [str(inputs)]
    if not network.trainable_variables:
        raise InputError(f"{name} has no trainable weights; there is no step to place")
    try:
        with unrolled(network, name) as loops:
            choices += loops
            outputs = _outputs(network, inputs)
            labels, loss, optimizer, said = _goal(network, outputs)
            named = [spec.name for spec in inputs.specs] + _label_names(network, outputs, labels)
            step = _training_step(network, inputs, loss, optimizer, _signature(named))
            function = step.get_concrete_function(*inputs.specs, *labels)
    except InputError:
        raise
    except Exception as error:
        words = describe_exception(error)
        raise InputError(f"{name}: Keras cannot build a training step: {words}") from None
    try:
        return capture_function(function, name, [*choices, *said, *_metrics(network)])
    except InputError as error:
        if f"'{optimizer.name}/cond" not in str(error):
            raise
        raise InputError(
            f"{name}: optimizer {type(optimizer).__name__} branches, as Keras' does on the sparse"
            " gradients of an Embedding; compile with Adam or SGD, or name a function of one step"
        ) from None


def _check_own_rules(network: keras.Model, name: str) -> None:
    """Refuse what would be trained otherwise than by the model, or not at all (InputError)."""
    import keras

    if _overrides(network, "train_step"):
        raise InputError(
            f"{name} has a train_step of its own, which Keras calls on batches of any form; name a"
            " function of one step instead (package.module:function)"
        )
    optimizer = getattr(network, "optimizer", None)
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        raise InputError(
            f"{name}'s optimizer scales the loss (mixed_float16) and so skips some updates, which a"
            " graph of plain operations cannot; use mixed_bfloat16"
        )
    for setting in ("gradient_accumulation_steps", "ema_overwrite_frequency"):
        if getattr(optimizer, setting, None):
            raise InputError(
                f"{name}'s optimizer does other work in some steps ({setting}), which a graph of"
                " plain operations cannot; compile it without"
            )


def _overrides(network: keras.Model, method: str) -> bool:
    """Whether the model's class has a method of its own in place of Keras'."""
    import keras

    return getattr(type(network), method) is not getattr(keras.Model, method)


def _outputs(network: keras.Model, inputs: KerasInputs) -> object:
    """Something with the shape and dtype of each output, in the model's own structure.

    Tracing the whole model for it takes as long as tracing the step's forward half: models that
    know their own outputs are asked, where that leaves no dimension open.
    """
    import keras
    import tensorflow as tf

    if getattr(network, "inputs", None) and getattr(network, "outputs", None):
        flat = [tuple(spec.shape) for spec in inputs.specs]
        given = keras.tree.pack_sequence_as(network.input, flat) if len(flat) > 1 else flat[0]
        shapes = network.compute_output_shape(given)
        # Several outputs come as a structure of shapes, which only tracing tells from one shape.
        if isinstance(shapes, tuple) and all(isinstance(size, int) for size in shapes):
            return tf.TensorSpec(shapes, network.outputs[0].dtype)
    forward = tf.function(lambda *x: inputs.call(x), autograph=False)
    return forward.get_concrete_function(*inputs.specs).structured_outputs


def _goal(
    network: keras.Model, outputs: object
) -> tuple[list[tf.TensorSpec], Loss, keras.optimizers.Optimizer, list[str]]:
    """What to train for: (label specs, loss(x, y, y_pred), optimizer, the choice in words).

    Only a call of the model tells whether its layers add to the loss: where it has no other, the
    words are there once the loss was called.
    """
    import keras
    import tensorflow as tf

    def squares(x: object, labels: Tensors, predictions: object) -> tf.Tensor:
        terms = [tf.reduce_mean(tf.square(p)) for p in keras.tree.flatten(predictions)]
        return tf.add_n([*terms, *network.losses])

    optimizer = getattr(network, "optimizer", None)
    if optimizer is None:
        said = ["not compiled: optimizer SGD and the sum of the outputs' mean squares as loss"]
        return [], squares, keras.optimizers.SGD(), said
    kind, own = type(optimizer).__name__, _overrides(network, "compute_loss")
    if network.loss is not None or own:
        specs = _labels(network, outputs)

        def compiled(x: object, labels: Tensors, predictions: object) -> tf.Tensor:
            y = keras.tree.pack_sequence_as(outputs, list(labels))
            return network.compute_loss(x=x, y=y, y_pred=predictions)

        loss = "compute_loss of its own" if own else f"loss {_written(network.loss)}"
        said = [f"optimizer {kind} and {loss}, as compiled"]
        said += _label_order(_label_names(network, outputs, specs), specs)
        return specs, compiled, _fitting(optimizer, network), said

    said = []

    def added(x: object, labels: Tensors, predictions: object) -> tf.Tensor:
        few = "what its layers add" if network.losses else "the sum of the outputs' mean squares"
        said[:] = [f"optimizer {kind}, as compiled without a loss: {few}"]
        if network.losses:
            return network.compute_loss(x=x, y_pred=predictions)
        return squares(x, labels, predictions)

    return [], added, _fitting(optimizer, network), said


def _fitting(
    optimizer: keras.optimizers.Optimizer, network: keras.Model
) -> keras.optimizers.Optimizer:
    """The model's own optimizer, with its state; a fresh one where it is of other variables.

    One that was loaded may be tied to variables that loading has replaced. Some of its own may have
    been frozen since.
    """
    tied = {id(variable) for variable in getattr(optimizer, "_trainable_variables", ())}
    if not optimizer.built or tied >= {id(v) for v in network.trainable_variables}:
        return optimizer
    return type(optimizer).from_config(optimizer.get_config())


def _written(loss: object) -> str:
    if isinstance(loss, dict):
        return ", ".join(f"{name}: {_written(value)}" for name, value in loss.items())
    if isinstance(loss, list | tuple):
        return ", ".join(map(_written, loss))
    if isinstance(loss, str):
        return loss
    return str(getattr(loss, "name", getattr(loss, "__name__", type(loss).__name__)))


def _labels(network: keras.Model, outputs: object) -> list[tf.TensorSpec]:
    """Specs of the labels: class numbers for sparse losses, else shaped like the output."""
    import keras
    import tensorflow as tf

    flat = keras.tree.flatten(outputs)
    loss = network.loss
    if isinstance(loss, dict):
        # As compiled: keyed by the outputs' names, in a model whose outputs have them.
        names = _output_names(network, outputs)
        losses = [loss.get(name) for name in names]
    else:
        losses = list(loss) if isinstance(loss, list | tuple) else [loss] * len(flat)
    specs = []
    for i, (output, entry) in enumerate(zip(flat, losses, strict=True)):
        sparse = entry is not None and "sparse" in _name(entry)
        shape, dtype = (output.shape[:-1], tf.int32) if sparse else (output.shape, tf.float32)
        specs.append(tf.TensorSpec(shape, dtype, f"label_{i}"))
    return specs


def _output_names(network: keras.Model, outputs: object) -> list[str]:
    """Names of the outputs, in the order in which Keras takes a structure apart: a dict sorted."""
    return sorted(outputs) if isinstance(outputs, dict) else list(network.output_names)


def _metrics(network: keras.Model) -> Iterator[str]:
    """In words, which metrics a model was compiled with: the step does without them."""
    import keras

    compiled = getattr(network, "_compile_metrics", None)
    given = [] if compiled is None else [compiled._user_metrics, compiled._user_weighted_metrics]
    named = [_written(one) for one in keras.tree.flatten(given) if one is not None]
    if named:
        yield f"metrics {', '.join(named)} left out"


def _label_names(
    network: keras.Model, outputs: object, specs: Sequence[tf.TensorSpec]
) -> list[str]:
    """What labels are called: as their outputs, where there are several and these have names."""
    if len(specs) > 1 and (isinstance(outputs, dict) or getattr(network, "output_names", None)):
        return _output_names(network, outputs)
    return [spec.name for spec in specs]


def _label_order(names: Sequence[str], specs: Sequence[tf.TensorSpec]) -> Iterator[str]:
    """In words, where there are several labels and their outputs have names."""
    pairs = list(zip(names, specs, strict=True))
    if any(name != spec.name for name, spec in pairs):
        each = (f"{name} {spec.shape}" for name, spec in pairs)
        yield f"labels of the outputs {', '.join(each)}, in this order"


def _name(loss: object) -> str:
    import keras

    found = keras.losses.get(loss)
    return str(getattr(found, "__name__", type(found).__name__)).lower()


def _signature(names: Iterable[object]) -> inspect.Signature:
    """One parameter for each name, spelt as Python and TensorFlow want it; no two alike."""
    found: list[str] = []
    for name in names:
        spelt = re.sub(r"\W", "_", str(name))  # outputs may have numbers for names
        spelt = spelt if spelt[:1].isalpha() else f"arg_{spelt}"
        while keyword.iskeyword(spelt) or spelt in found:
            spelt += "_"
        found.append(spelt)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in found])


def _training_step(
    network: keras.Model,
    inputs: KerasInputs,
    loss: Loss,
    optimizer: keras.optimizers.Optimizer,
    signature: inspect.Signature,
) -> GenericFunction:
    """Return the ``tf.function`` of one step: its arguments are the inputs, then the labels."""
    import tensorflow as tf

    variables = network.trainable_variables
    if not optimizer.built:
        optimizer.build(variables)
    count = len(inputs.specs)

    def step(*tensors: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            predictions = inputs.call(tensors[:count])
            value = loss(inputs.packed(tensors[:count]), tensors[count:], predictions)
            # As Keras does: the optimizer divides the gradients by its loss_scale_factor.
            scaled = optimizer.scale_loss(value)
        optimizer.apply(tape.gradient(scaled, variables), variables)
        return value

    # By which TensorFlow knows the arguments: it would call them tensors_0 and so on.
    step.__signature__ = signature  # type: ignore[attr-defined]
    return tf.function(step, autograph=False)
