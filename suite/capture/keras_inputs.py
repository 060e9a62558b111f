"""What a Keras model takes: from its symbolic inputs, or from the call that built it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suite.capture.options import Options
from suite.core.errors import InputError

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

Tensors = Sequence["tf.Tensor"]


@dataclass(frozen=True, eq=False)
class KerasInputs:
    """The inputs of a model as a flat list, and how to call the model on such a list."""

    specs: list[tf.TensorSpec]
    packed: Callable[[Tensors], object]
    """The list in the structure that the model takes, a dict where it takes several arguments."""
    call: Callable[[Tensors], object]
    """Calls the model, in training."""
    source: str
    """In words, empty where the model says its inputs itself."""

    def __str__(self) -> str:
        """The choice, in words, with types where the model does not say them."""
        if not self.source:
            return f"inputs {', '.join(f'{spec.name} {spec.shape}' for spec in self.specs)}"
        each = (f"{spec.name} {spec.shape} {spec.dtype.name}" for spec in self.specs)
        return f"inputs {', '.join(each)} ({self.source})"


def inputs_of(network: keras.Model, name: str, options: Options) -> KerasInputs:
    """Find the inputs of a model, open dimensions filled in from ``options``.

    A functional or Sequential model has symbolic inputs. A subclassed one has none, but where it
    was called on data, Keras recorded the shapes with which it was built. InputError without both.
    """
    symbolic = list(getattr(network, "inputs", None) or ())
    return _symbolic(network, symbolic, options) if symbolic else _built(network, name, options)


def _symbolic(
    network: keras.Model, tensors: Sequence[keras.KerasTensor], options: Options
) -> KerasInputs:
    import keras
    import tensorflow as tf

    options.check_inputs({tensor.name: tensor.shape for tensor in tensors})
    specs = [
        tf.TensorSpec(options.shape(t.name, t.shape), options.dtype(t.name, t.dtype), t.name)
        for t in tensors
    ]
    structure = getattr(network, "input", tensors[0])  # a Sequential need not have it

    def packed(flat: Tensors) -> object:
        return keras.tree.pack_sequence_as(structure, list(flat))

    return KerasInputs(specs, packed, lambda flat: network(packed(flat), training=True), "")


def _built(network: keras.Model, name: str, options: Options) -> KerasInputs:
    import keras
    import tensorflow as tf

    built = network.get_build_config() or {}
    # One argument, perhaps a list or a dict of tensors; or several, by name.
    one = built.get("input_shape")
    arguments = {"input": one} if one is not None else _named(built.get("shapes_dict") or {})
    shapes = [
        (path, shape) for key, entry in arguments.items() for path, shape in _leaves(key, entry)
    ]
    if not shapes:
        raise InputError(
            f"{name} does not say its inputs; build it with keras.Input, or call it once on data"
            " before you return it"
        )
    batch = (None,) if options.batch is not None else ()
    shapes = [(path, (*batch, *shape[len(batch) :]) if shape else shape) for path, shape in shapes]
    options.check_inputs(dict(shapes))
    untyped = [path for path, _ in shapes if path not in options.types]
    if untyped:
        _check_ids(network, name, untyped)
    specs = []
    for path, shape in shapes:
        known = (None, *shape[1:]) if path in options.inputs and shape else shape
        dtype = options.types.get(path, network.input_dtype)
        specs.append(tf.TensorSpec(options.shape(path, known), dtype, path))
    structure = {key: _marked(entry) for key, entry in arguments.items()}

    def packed(flat: Tensors) -> Any:
        found = keras.tree.pack_sequence_as(structure, list(flat))
        return found if one is None else found["input"]

    def call(flat: Tensors) -> object:
        given = packed(flat)
        return network(**given, training=True) if one is None else network(given, training=True)

    return KerasInputs(specs, packed, call, "the shapes of the call that built it")


def _check_ids(network: keras.Model, name: str, untyped: Sequence[str]) -> None:
    """Refuse token ids that come as short floats, the only type that is known (InputError)."""
    import keras
    import tensorflow as tf

    layers = network._flatten_layers()
    embeds = any(isinstance(layer, keras.layers.Embedding) for layer in layers)
    if embeds and tf.as_dtype(network.input_dtype).size < 4:
        said = " ".join(f"--input {path}=int32" for path in untyped)
        raise InputError(
            f"{name} does not say its inputs' types, and ids of an Embedding would be rounded to"
            f" {network.input_dtype}; give types, {said}, or build it with keras.Input(...,"
            " dtype='int32')"
        )


def _named(shapes: Mapping[str, object]) -> dict[str, object]:
    """Keras calls the shape of argument ``x`` ``x_shape``; an argument left out has none."""
    return {k.removesuffix("_shape"): shape for k, shape in shapes.items() if shape is not None}


def _is_shape(entry: object) -> bool:
    return isinstance(entry, list | tuple) and all(d is None or isinstance(d, int) for d in entry)


def _leaves(path: str, entry: object) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    """Every shape of a structure, in Keras' order, with a name for the input it is of."""
    if isinstance(entry, list | tuple) and _is_shape(entry):
        yield path, tuple(entry)
    elif isinstance(entry, Mapping):
        for key in sorted(entry):
            yield from _leaves(f"{path}_{key}", entry[key])
    elif isinstance(entry, list | tuple):
        for i, inner in enumerate(entry):
            yield from _leaves(f"{path}_{i}", inner)


def _marked(entry: object) -> object:
    """The structure with one leaf for each shape: a tuple would be taken apart."""
    if _is_shape(entry):
        return 0
    if isinstance(entry, Mapping):
        return {key: _marked(inner) for key, inner in entry.items()}
    return [_marked(inner) for inner in entry] if isinstance(entry, list | tuple) else 0
