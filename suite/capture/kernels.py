"""What TensorFlow's kernel registry says of an operation: a GPU kernel, outputs in host memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from suite.capture.packed import unpacked
from suite.capture.tensorflow_internals import KERNEL_LIST, REGISTERED_KERNELS
from suite.core.arrays import Bools

if TYPE_CHECKING:
    import tensorflow as tf


class Kernel(Protocol):
    """TensorFlow's ``KernelDef``, as far as it is read here."""

    @property
    def device_type(self) -> str: ...

    @property
    def host_memory_arg(self) -> Sequence[str]: ...

    @property
    def constraint(self) -> Sequence[_Constraint]: ...


class _Constraint(Protocol):
    """``KernelDef.AttrConstraint``: the types that an attribute may have."""

    @property
    def name(self) -> str: ...

    @property
    def allowed_values(self) -> tf.compat.v1.AttrValue: ...


Registry = Callable[[str], Sequence[Kernel]]
"""The kernels of an operation type."""


@cache
def registered(op_type: str) -> Sequence[Kernel]:
    """Return the kernels that the TensorFlow that runs here has."""
    return tuple(REGISTERED_KERNELS.load()(op_type).kernel)


def recorded(path: Path) -> Registry:
    """Return the kernels that another version of TensorFlow has: a KernelList as text."""
    from google.protobuf import text_format

    found = defaultdict(list)
    for kernel in text_format.Parse(unpacked(path), KERNEL_LIST.load()()).kernel:
        found[kernel.op].append(kernel)
    return lambda op_type: found.get(op_type, ())


Types = frozenset[int]
"""Numbers of TensorFlow's data types, of an attribute that is one or a list of them."""


def gpu_kernel(node: tf.compat.v1.NodeDef, registry: Registry = registered) -> Kernel | None:
    """Return the kernel of ``registry`` that runs a NodeDef on a GPU, or None.

    The plain TensorFlow package registers its GPU kernels on machines without a GPU, too.
    """
    names = _constrained(node.op, registry)
    return _first_gpu_kernel(node.op, registry, tuple(_types(node.attr[name]) for name in names))


# A graph of 20,000 operations has a hundred kinds; to read what a kernel says takes time.
@cache
def _first_gpu_kernel(op_type: str, registry: Registry, types: tuple[Types, ...]) -> Kernel | None:
    """The first GPU kernel that allows its constrained attributes these types."""
    given = dict(zip(_constrained(op_type, registry), types, strict=True))
    for kernel in _gpu_kernels(op_type, registry):
        if all(given[one.name] <= _types(one.allowed_values) for one in kernel.constraint):
            return kernel
    return None


@cache
def _constrained(op_type: str, registry: Registry) -> tuple[str, ...]:
    """The attributes on whose types it depends which kernel an operation has."""
    kernels = _gpu_kernels(op_type, registry)
    return tuple(sorted({one.name for kernel in kernels for one in kernel.constraint}))


def _gpu_kernels(op_type: str, registry: Registry) -> list[Kernel]:
    return [kernel for kernel in registry(op_type) if kernel.device_type in ("GPU", "DEFAULT")]


def _types(attribute: tf.compat.v1.AttrValue) -> Types:
    return frozenset(attribute.list.type or [attribute.type])


def host_outputs(op: tf.Operation, kernel: Kernel | None) -> Bools:
    """bool[outputs] of a ``tf.Operation``: which ones its GPU kernel leaves in host memory."""
    import numpy as np

    on_host = set(kernel.host_memory_arg) if kernel is not None else set()
    flags: list[bool] = []
    for arg in op.op_def.output_arg:
        count = 1
        if arg.number_attr:
            count = op.get_attr(arg.number_attr)
        elif arg.type_list_attr:
            count = len(op.get_attr(arg.type_list_attr))
        flags += [arg.name in on_host] * count
    return np.array(flags, np.bool_)
