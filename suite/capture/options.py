"""What a model file leaves open: sizes, what to run, whether to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suite.core.errors import InputError

DEFAULT_BATCH = 32
"""Keras' own default, for files that leave the batch open."""


@dataclass(frozen=True)
class Options:
    """What a model file leaves open."""

    batch: int | None = None
    """The first dimension of inputs that leave it open; None: 32, for inference 1."""
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Input name -> its whole shape."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Input name -> its type, such as int32, where the model does not say it."""
    fetch: tuple[str, ...] = ()
    """Operations of a GraphDef that a step runs (none: those that nothing reads), or the signature
    of a SavedModel (none: the usual one).
    """
    trust: bool = False
    """Whether a Keras model may run Python code that it carries."""

    def __post_init__(self) -> None:
        """Refuse sizes below 1 and types of no numbers (InputError)."""
        if self.batch is not None and self.batch < 1:
            raise InputError(f"the batch is {self.batch}; give >= 1")
        for name, shape in self.inputs.items():
            if any(size < 1 for size in shape):
                raise InputError(f"input {name}: the shape is {shape}; give sizes >= 1")
        for name, dtype in self.types.items():
            if not _is_type(dtype):
                raise InputError(
                    f"input {name}: there is no type {dtype!r}; give one such as int32 or float32"
                )

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Options:
        """What ``asdict`` made of options, read back from JSON."""
        inputs = {name: tuple(shape) for name, shape in fields["inputs"].items()}
        return cls(**{**fields, "inputs": inputs, "fetch": tuple(fields["fetch"])})

    @property
    def given(self) -> bool:
        """Whether anything is said of the inputs or of what to run."""
        return replace(self, trust=False) != Options()

    def shape(self, name: str, known: Sequence[int | None] | None) -> tuple[int, ...]:
        """Complete an input's shape (None: open; all of it: unknown rank); InputError if unable."""
        given = self.inputs.get(name)
        if given is None and known is not None:
            first = [self.batch or DEFAULT_BATCH if size is None else size for size in known[:1]]
            given = tuple(size for size in (*first, *known[1:]) if size is not None)
        if given is None or (known is not None and not _fits(given, known)):
            words = "an unknown shape" if known is None else f"the shape {_written(known)}"
            if name in self.inputs:
                words += f", which {','.join(map(str, self.inputs[name]))} does not fit"
            raise InputError(
                f"input {name!r} has {words}; give it whole with --input {name}=SIZE,SIZE,..."
            )
        return given

    def dtype(self, name: str, known: str) -> str:
        """The type of an input of which the model says ``known``; InputError if told otherwise."""
        given = self.types.get(name, known)
        if given != known:
            raise InputError(f"input {name!r} is {known}, the model says; leave out {given}")
        return known

    def check_inputs(self, known: Mapping[str, Sequence[int | None] | None]) -> None:
        """Raise InputError when something was said that no input of these shapes can heed.

        ``known``: by name, None for what is open, or for all of a shape of unknown rank.
        """
        for name in (*self.inputs, *self.types):
            if name not in known:
                raise InputError(f"there is no input {name!r}; inputs: {', '.join(known)}")
        first = {shape[0] for shape in known.values() if shape}
        if self.batch is None or None in known.values() or first & {None, self.batch}:
            return
        sizes = ", ".join(f"{name} {_written(shape)}" for name, shape in known.items() if shape)
        raise InputError(
            f"no input can have a batch of {self.batch}: {sizes or 'there is none with a size'};"
            " leave out --batch"
        )


def _is_type(name: str) -> bool:
    """Whether a type of numbers, or of truth values, has this name in NumPy or is bfloat16."""
    try:
        return name == "bfloat16" or (np.dtype(name).kind in "biuf" and np.dtype(name).name == name)
    except TypeError:
        return False


def _fits(given: Sequence[int], known: Sequence[int | None]) -> bool:
    pairs = zip(given, known, strict=False)
    return len(given) == len(known) and all(k in (None, size) for size, k in pairs)


def _written(shape: Sequence[int | None]) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"
