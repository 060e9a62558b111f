"""``package.module:function`` -> graphs to place: other people's training steps."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from suite.capture.describe_exception import describe_exception
from suite.capture.from_function import Program, capture_function
from suite.capture.openvino.read import is_network
from suite.capture.options import Options
from suite.core.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import tensorflow as tf
    from tensorflow.types.experimental import ConcreteFunction, GenericFunction

_WANTED = (
    "return a tf.function with an input_signature, a concrete function, a Keras model, or"
    " (tf.function, [tf.TensorSpec, ...]); for inference, a model of OpenVINO's or PyTorch's"
)


def capture_target(target: str, options: Options) -> Program:
    """Import ``package.module:function`` and capture the training step it is or returns.

    Raises InputError as :func:`found` and :func:`capture_step` do.
    """
    return capture_step(target, found(target), options)


def found(target: str) -> object:
    """Import ``package.module:function``: what it is, or returns where it is a plain function.

    Raises InputError for each way in which it can fail: one line that names the target.
    """
    module, _, attribute = target.partition(":")
    if module.endswith(".py") or not re.fullmatch(r"\w+(\.\w+)*:\w+(\.\w+)*", target):
        raise InputError(f"{target!r} names no function; write package.module:function (no .py)")
    return _built(target, _attribute(_import(module), module, attribute))


def _import(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise InputError(_not_found(module, error.name)) from None
        said = describe_exception(error)
        raise InputError(f"importing {module} failed: {said}; mend it") from None
    except (Exception, SystemExit) as error:
        said = describe_exception(error)
        raise InputError(f"importing {module} failed: {said}; mend it") from None


def _not_found(module: str, lacking: str) -> str:
    """Why there is no module ``lacking``, of which ``module`` is or is to be a part."""
    top, file = module.partition(".")[0], Path(*module.split(".")).with_suffix(".py")
    if not (file.exists() and top in sys.modules):
        return f"no module {lacking!r} in this folder or installed; check the name"
    # A folder without an __init__.py counts only where there is no other module of its name.
    other = getattr(sys.modules[top].__spec__, "origin", None)
    return f"{file} is hidden by another {top} ({other}); give the folder {top} another name"


def _attribute(found: object, module: str, path: str) -> object:
    for name in path.split("."):
        if not hasattr(found, name):
            known = sorted(n for n in dir(found) if not n.startswith("_"))
            hint = did_you_mean(name, known).strip() or f"it has {', '.join(known)}"
            raise InputError(f"module {module} has no {name!r}; {hint}")
        found = getattr(found, name)
    return found


def _built(target: str, found: object) -> object:
    """Call a plain function to get the step; leave alone what is a step already."""
    if isinstance(found, tuple | list) or is_network(found) or not callable(found):
        return found
    # A plain function is none, and TensorFlow may have no part in what it returns.
    if not inspect.isfunction(found) and _is_step(found):
        return found
    for name, parameter in inspect.signature(found).parameters.items():
        optional = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter.default is parameter.empty and not optional:
            raise InputError(
                f"{target} needs the argument {name!r}; name a function that takes none and returns"
                " the step"
            )
    try:
        return found()
    except (Exception, SystemExit) as error:
        raise InputError(f"{target} failed: {describe_exception(error)}; mend it") from None


def _is_step(found: object) -> bool:
    import keras
    import tensorflow as tf

    traced = isinstance(found, tf.types.experimental.ConcreteFunction)
    return traced or hasattr(found, "get_concrete_function") or isinstance(found, keras.Model)


def capture_step(target: str, found: object, options: Options) -> Program:
    """Capture a step that is there: a ``tf.function``, a concrete one, a Keras model, or a pair.

    The pair is (``tf.function``, inputs). InputError names the ``target``.
    """
    import keras
    import tensorflow as tf

    if isinstance(found, keras.Model):
        from suite.capture.from_keras import capture_keras

        return capture_keras(found, target, options)
    if options.given:
        raise InputError(f"{target} has its own inputs; leave out --batch and --input")
    if isinstance(found, tf.types.experimental.ConcreteFunction):
        return capture_function(found, target)
    if hasattr(found, "get_concrete_function"):
        return capture_function(_traced(target, found, _no_inputs(target, found)), target)
    if isinstance(found, tuple | list) and found and isinstance(found[0], keras.Model):
        raise InputError(
            f"{target} gives a Keras model and its inputs: of what, its training or its prediction?"
            " Return the model for a training step, or (tf.function(model.call), [...])"
        )
    if isinstance(found, tuple | list) and len(found) == 2 and callable(found[0]):
        step = found[0] if hasattr(found[0], "get_concrete_function") else tf.function(found[0])
        return capture_function(_traced(target, step, _inputs(target, found[1])), target)
    raise InputError(f"{target} gives {_described(found)}; {_WANTED}")


def _described(found: object) -> str:
    """Say what a user returned: ``None``, or ``a tuple (Tensor, int)``, or ``'x' (str)``."""
    kind = type(found).__name__
    if found is None or not isinstance(found, tuple | list):
        return "None" if found is None else f"{_short(found)} ({kind})"
    return f"a {kind} ({', '.join(type(entry).__name__ for entry in found[:3])})"


def _short(found: object) -> str:
    words = " ".join(repr(found).split())
    return words if len(words) <= 40 else f"{words[:37]}..."


def _no_inputs(target: str, step: GenericFunction) -> tuple[()]:
    """Return no inputs; InputError when the step needs some that nothing describes."""
    needed = [
        name
        for name, p in inspect.signature(step.python_function).parameters.items()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if needed and step.input_signature is None:
        raise InputError(
            f"{target}: the step takes {', '.join(needed)} of unknown shapes; {_WANTED}"
        )
    return ()


def _inputs(target: str, given: object) -> Sequence[tf.TypeSpec]:
    import tensorflow as tf

    if isinstance(given, tf.TypeSpec) or not isinstance(given, tuple | list):
        raise InputError(
            f"{target} gives (step, {_described(given)}); its second must be a list of"
            " tf.TensorSpec"
        )
    for leaf in tf.nest.flatten(given):
        if not isinstance(leaf, tf.TypeSpec) and not tf.is_tensor(leaf):
            raise InputError(
                f"{target} gives {_described(leaf)} among the step's inputs; each must be a"
                " tf.TensorSpec"
            )
    return given


def _traced(target: str, step: GenericFunction, inputs: Sequence[tf.TypeSpec]) -> ConcreteFunction:
    try:
        return step.get_concrete_function(*inputs)
    except Exception as error:
        raise InputError(f"tracing {target} failed: {describe_exception(error)}; mend it") from None


def built_step(where: str, built: object) -> tuple[GenericFunction, Sequence[tf.TypeSpec]]:
    """What the ``build`` of a model gave; InputError, which begins with ``where``, for no step."""
    if (
        not isinstance(built, tuple | list)
        or len(built) != 2
        or not hasattr(built[0], "get_concrete_function")
    ):
        raise InputError(
            f"{where} gives {_described(built)}; return (tf.function, [tf.TensorSpec, ...]), a"
            " GraphFile or a model of OpenVINO's"
        )
    return built[0], _inputs(where, built[1])
