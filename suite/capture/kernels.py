"""What TensorFlow's kernel registry says of an operation: a GPU kernel, outputs in host memory."""

from __future__ import annotations

from functools import cache
from typing import Any

from suite.core.arrays import Bools


@cache
def _kernels(op_type: str) -> tuple[Any, ...]:
    from tensorflow.python.framework import kernels

    return tuple(kernels.get_registered_kernels_for_op(op_type).kernel)


def _matches(kernel: Any, node: Any) -> bool:
    """Whether the kernel's type constraints allow the node's attributes."""
    for constraint in kernel.constraint:
        attr = node.attr[constraint.name]
        types = attr.list.type if attr.list.type else [attr.type]
        if any(t not in constraint.allowed_values.list.type for t in types):
            return False
    return True


def gpu_kernel(node: Any) -> Any:
    """Return the registered kernel that runs a NodeDef on a GPU, or None.

    The plain TensorFlow package registers its GPU kernels on machines without a GPU, too.
    """
    for kernel in _kernels(node.op):
        if kernel.device_type in ("GPU", "DEFAULT") and _matches(kernel, node):
            return kernel
    return None


def host_outputs(op: Any, kernel: Any) -> Bools:
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
