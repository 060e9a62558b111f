"""Keras model files -> OpGraph: one training step of the model, as it was compiled."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite.capture.from_function import capture_function
from suite.capture.load_model import Options
from suite.capture.user_errors import told
from suite.core.errors import InputError
from suite.core.graph import OpGraph


def capture_file(model: str, options: Options) -> OpGraph:
    """Load a ``.keras`` or ``.h5`` file and capture a training step; InputError if it cannot."""
    import keras

    path = Path(model)
    if path.suffix.lower() == ".keras" and not zipfile.is_zipfile(path):
        raise InputError(f"{model} is damaged or no .keras file; save the model again")
    try:
        network = keras.models.load_model(path)
    except Exception as error:
        raise InputError(f"Keras cannot load {model}: {told(error)}") from None
    return capture_keras(network, path.stem, options)


def capture_keras(network: Any, name: str, options: Options) -> OpGraph:
    """Capture forward, loss, backward and update of a ``keras.Model``.

    The loss and the optimizer are those it was compiled with, else SGD on the sum of the outputs'
    mean squares. Recurrent layers are unrolled: a loop would be one operation. The graph's
    ``choices`` say all this. InputError for what cannot be trained or has open shapes.
    """
    import tensorflow as tf

    inputs, packed = _inputs(network, name, options)
    choices = [f"inputs {', '.join(f'{s.name} {s.shape}' for s in inputs)}"]
    if not network.trainable_variables:
        raise InputError(f"{name} has no trainable weights; there is no step to place")
    choices += _unroll(network)
    try:
        forward = tf.function(lambda *x: network(packed(x), training=True), autograph=False)
        outputs = forward.get_concrete_function(*inputs).structured_outputs
        labels, loss, optimizer, said = _goal(network, outputs)
        step = _training_step(network, packed, len(inputs), loss, optimizer)
        function = step.get_concrete_function(*inputs, *labels)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{name}: Keras cannot build a training step: {told(error)}") from None
    return capture_function(function, name, choices + said)


def _inputs(network: Any, name: str, options: Options) -> tuple[list[Any], Callable[[Any], Any]]:
    """Return the inputs (``tf.TensorSpec`` each) and what packs a flat list of them for a call."""
    import keras
    import tensorflow as tf

    tensors = list(getattr(network, "inputs", None) or ())
    if not tensors:
        raise InputError(f"{name} does not say its inputs; build it with keras.Input and save it")
    names = [tensor.name for tensor in tensors]
    options.check_names(names)
    specs = [tf.TensorSpec(options.shape(t.name, t.shape), t.dtype, t.name) for t in tensors]
    structure = getattr(network, "input", tensors[0])  # a Sequential need not have it
    return specs, lambda flat: keras.tree.pack_sequence_as(structure, list(flat))


def _unroll(network: Any) -> list[str]:
    import keras

    found = [layer for layer in network._flatten_layers() if isinstance(layer, keras.layers.RNN)]
    for layer in found:
        layer.unroll = True
    return ["recurrent layers unrolled"] if found else []


def _goal(network: Any, outputs: Any) -> tuple[list[Any], Callable[..., Any], Any, list[str]]:
    """Return what to train for: (label specs, loss(y, y_pred), optimizer, the choice in words)."""
    import keras
    import tensorflow as tf

    optimizer = getattr(network, "optimizer", None)
    if network.loss is not None and optimizer is not None:
        specs = _labels(network, outputs)

        def compiled(labels: Any, predictions: Any) -> Any:
            y = keras.tree.pack_sequence_as(outputs, list(labels))
            return network.compute_loss(y=y, y_pred=predictions)

        kind = type(optimizer)
        said = [f"optimizer {kind.__name__} and loss {_written(network.loss)}, as compiled"]
        # The one that was loaded may be tied to variables that loading has replaced.
        return specs, compiled, kind.from_config(optimizer.get_config()), said

    def squares(labels: Any, predictions: Any) -> Any:
        terms = [tf.reduce_mean(tf.square(p)) for p in keras.tree.flatten(predictions)]
        return tf.add_n([*terms, *network.losses])

    said = ["not compiled: optimizer SGD and the sum of the outputs' mean squares as loss"]
    return [], squares, keras.optimizers.SGD(), said


def _written(loss: Any) -> str:
    if isinstance(loss, dict):
        return ", ".join(f"{name}: {_written(value)}" for name, value in loss.items())
    if isinstance(loss, list | tuple):
        return ", ".join(map(_written, loss))
    if isinstance(loss, str):
        return loss
    return str(getattr(loss, "name", getattr(loss, "__name__", type(loss).__name__)))


def _labels(network: Any, outputs: Any) -> list[Any]:
    """Specs of the labels: class numbers for sparse losses, else shaped like the output."""
    import keras
    import tensorflow as tf

    flat = keras.tree.flatten(outputs)
    loss = network.loss
    if isinstance(loss, dict):
        # As compiled: keyed by the outputs' names, in a model whose outputs have them.
        names = list(outputs) if isinstance(outputs, dict) else network.output_names
        losses = [loss.get(name) for name in names]
    else:
        losses = list(loss) if isinstance(loss, list | tuple) else [loss] * len(flat)
    specs = []
    for i, (output, entry) in enumerate(zip(flat, losses, strict=True)):
        sparse = entry is not None and "sparse" in _name(entry)
        shape, dtype = (output.shape[:-1], tf.int32) if sparse else (output.shape, tf.float32)
        specs.append(tf.TensorSpec(shape, dtype, f"label_{i}"))
    return specs


def _name(loss: Any) -> str:
    import keras

    found = keras.losses.get(loss)
    return str(getattr(found, "__name__", type(found).__name__)).lower()


def _training_step(
    network: Any,
    packed: Callable[[Any], Any],
    inputs: int,
    loss: Callable[..., Any],
    optimizer: Any,
) -> Any:
    """Return the ``tf.function`` of one step: its arguments are the inputs, then the labels."""
    import tensorflow as tf

    variables = network.trainable_variables
    optimizer.build(variables)

    def step(*tensors: Any) -> Any:
        with tf.GradientTape() as tape:
            predictions = network(packed(tensors[:inputs]), training=True)
            value = loss(tensors[inputs:], predictions)
        optimizer.apply(tape.gradient(value, variables), variables)
        return value

    return tf.function(step, autograph=False)
