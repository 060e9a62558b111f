"""How a captured step is called: its arguments as the flat tensors that its graph takes, and back.

TensorFlow's own rules: nested structures are flattened with ``tf.nest``, Python values were fixed
when the step was captured, and None stays None.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from suite.core.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf
    from tensorflow.types.experimental import ConcreteFunction


class Arguments:
    """The parameters of a concrete function, with what each was captured for."""

    def __init__(
        self,
        function: ConcreteFunction,
        python: Callable[..., object] | None,
        *,
        casts: bool = False,
    ) -> None:
        """Read the signature; ``python``, the function that was traced, gives the defaults.

        ``casts``: tensors of other numeric types are cast where Keras' own training would.
        """
        self._casts = casts
        positional, keyword = function.structured_input_signature
        parameters = list(function.function_type.parameters.values())
        self._specs: dict[str, object] = dict(
            zip((p.name for p in parameters), positional, strict=False)
        )
        # As the graph's inputs are: keywords by name, however they were defined.
        self._specs |= dict(sorted(keyword.items()))
        defaults = {} if python is None else inspect.signature(python).parameters
        shown = [p for p in parameters if p.name in self._specs]
        self.signature = inspect.Signature(list(_with_defaults(shown, self._specs, defaults)))
        """How the step is called; a Python value that was captured may be left out."""

    def flat(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> list[tf.Tensor]:
        """The tensors of a call, in the order of the graph's inputs; InputError if they do not fit.

        A shape, a type or a Python value other than what was captured does not: its graph would be
        another one, for which there is no placement.
        """
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InputError(
                f"the placed step is called as step{self.signature}: {error}"
            ) from None
        bound.apply_defaults()
        return [
            tensor
            for name, spec in self._specs.items()
            for tensor in _tensors(name, spec, bound.arguments[name], self._casts)
        ]


def _with_defaults(
    parameters: Sequence[inspect.Parameter],
    specs: Mapping[str, object],
    defaults: Mapping[str, inspect.Parameter],
) -> Iterator[inspect.Parameter]:
    found: dict[str, object] = {}
    for parameter in parameters:
        own = defaults.get(parameter.name)
        found[parameter.name] = parameter.empty if own is None else own.default
        if not _has_tensors(specs[parameter.name]):
            found[parameter.name] = specs[parameter.name]
    by_name = [p.kind is p.KEYWORD_ONLY for p in parameters]
    needed = [i for i, p in enumerate(parameters) if found[p.name] is p.empty and not by_name[i]]
    for i, parameter in enumerate(parameters):
        # Before one without a default, none can have one, unless it is given by name alone.
        before = not by_name[i] and i < max(needed, default=-1)
        default = parameter.empty if before else found[parameter.name]
        yield inspect.Parameter(parameter.name, parameter.kind, default=default)


def _has_tensors(spec: object) -> bool:
    import tensorflow as tf

    return any(isinstance(leaf, tf.TypeSpec) for leaf in tf.nest.flatten(spec))


def _tensors(name: str, spec: object, value: object, casts: bool) -> Iterator[tf.Tensor]:
    import tensorflow as tf

    try:
        tf.nest.assert_same_structure(spec, value, expand_composites=True)
    except (TypeError, ValueError):
        raise InputError(
            f"argument {name!r} was captured as {_said(spec)}; give the same structure"
        ) from None
    wanted = tf.nest.flatten(spec, expand_composites=True)
    given = tf.nest.flatten(value, expand_composites=True)
    for one, leaf in zip(wanted, given, strict=True):
        if isinstance(one, tf.TypeSpec):
            yield _tensor(name, one, leaf, casts)
        elif not _equal(one, leaf):
            raise InputError(
                f"argument {name!r} was captured as {one!r}, not {leaf!r}; place the step that is"
                " captured with the other value"
            )


def _tensor(name: str, spec: tf.TensorSpec, value: Any, casts: bool) -> tf.Tensor:
    import tensorflow as tf

    wanted = spec.dtype
    if tf.is_tensor(value) and value.dtype != wanted:
        given = tf.as_dtype(value.dtype)
        if not (casts and _keeps_its_numbers(given, wanted)):
            raise InputError(
                f"argument {name!r} is {given.name}, the step was captured for {wanted.name}; give"
                f" tf.cast({name}, tf.{wanted.name})"
            )
        value = tf.cast(value, wanted)
    try:
        tensor = tf.convert_to_tensor(value, wanted)
    except (TypeError, ValueError) as error:
        words = str(error).splitlines()[0]
        raise InputError(f"argument {name!r} is no {wanted.name} tensor: {words}") from None
    if not spec.shape.is_compatible_with(tensor.shape):
        raise InputError(
            f"argument {name!r} has the shape {tensor.shape}, but the placement is of a step for"
            f" {spec.shape}; capture and place the step for that shape"
        )
    return tensor


def _keeps_its_numbers(given: tf.DType, wanted: tf.DType) -> bool:
    """Whether a cast changes at most digits: a fraction that is cut off hides a mistake."""
    if wanted.is_integer:
        return bool(given.is_integer)
    return bool(wanted.is_floating and (given.is_integer or given.is_floating))


def _equal(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and bool(one == other))


def _said(spec: object) -> str:
    import tensorflow as tf

    def word(leaf: object) -> object:
        return f"{leaf.dtype.name}{leaf.shape}" if isinstance(leaf, tf.TensorSpec) else leaf

    return str(tf.nest.map_structure(word, spec))


def packed(function: ConcreteFunction, tensors: Sequence[tf.Tensor]) -> object:
    """The outputs of a concrete function in the structure in which it returns them."""
    import tensorflow as tf

    structure = function.structured_outputs
    rest = iter(tensors)
    flat = tf.nest.flatten(structure, expand_composites=True)
    leaves = [None if leaf is None else next(rest) for leaf in flat]
    return tf.nest.pack_sequence_as(structure, leaves, expand_composites=True)
