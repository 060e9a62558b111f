"""What TensorFlow's kernel registry says of an operation: a GPU kernel, outputs in host memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol

from suite.capture.tensorflow_internals import REGISTERED_KERNELS
from suite.core.arrays import Bools

if TYPE_CHECKING:
    import tensorflow as tf


class _Kernel(Protocol):
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


@cache
def _kernels(op_type: str) -> tuple[_Kernel, ...]:
    return tuple(REGISTERED_KERNELS.load()(op_type).kernel)


def _matches(kernel: _Kernel, node: tf.compat.v1.NodeDef) -> bool:
    """Whether the kernel's type constraints allow the node's attributes."""
    for constraint in kernel.constraint:
        attr = node.attr[constraint.name]
        types = attr.list.type if attr.list.type else [attr.type]
        if any(t not in constraint.allowed_values.list.type for t in types):
            return False
    return True


def gpu_kernel(node: tf.compat.v1.NodeDef) -> _Kernel | None:
    """Return the registered kernel that runs a NodeDef on a GPU, or None.

    The plain TensorFlow package registers its GPU kernels on machines without a GPU, too.
    """
    for kernel in _kernels(node.op):
        if kernel.device_type in ("GPU", "DEFAULT") and _matches(kernel, node):
            return kernel
    return None


def host_outputs(op: tf.Operation, kernel: _Kernel | None) -> Bools:
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
