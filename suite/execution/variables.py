"""Variables that move to another device and stay the same Python objects.

A ``tf.Variable`` is a handle to storage on one device. Moving it makes new storage, copies the
value and gives the variable the new handle; nothing public in TensorFlow does that. Whoever holds
the variable follows: Keras layers, optimizers, checkpoints, and functions that are traced from now
on. Functions that have been traced hold the old handle; those that are alive are given the new one.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from suite.core.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf


def check_movable(name: str, variable: tf.Variable) -> None:
    """Raise InputError for a variable that cannot be moved (distributed ones, TensorFlow 1's)."""
    import tensorflow as tf

    plain = isinstance(variable, tf.Variable) and isinstance(
        getattr(variable, "_handle", None), tf.Tensor
    )
    if not plain or not hasattr(variable.handle, "numpy"):
        raise InputError(
            f"variable {name!r} is a {type(variable).__name__}, which cannot be moved; make plain"
            " variables, outside of any distribution strategy"
        )


def move(wanted: Iterable[tuple[tf.Variable, str]]) -> int:
    """Move variables to devices (full names), with their values; how many were elsewhere.

    All are moved, or none where a device has no room. The old storage is emptied: what still refers
    to it, such as a dataset that was made from a variable, fails with a wrong shape instead of
    reading what is out of date.
    """
    import tensorflow as tf

    elsewhere = [(variable, device) for variable, device in wanted if variable.device != device]
    copies = [_copy(variable, device) for variable, device in elsewhere]
    old = [variable.handle for variable, _ in elsewhere]
    for (variable, _), handle in zip(elsewhere, copies, strict=True):
        handle._parent_trackable = weakref.ref(variable)
        variable._handle = handle
    if old:
        _retarget({id(before): handle for before, handle in zip(old, copies, strict=True)})
    for before, (variable, _) in zip(old, elsewhere, strict=True):
        tf.raw_ops.AssignVariableOp(resource=before, value=tf.zeros([0], variable.dtype))
    return len(old)


def _copy(variable: tf.Variable, device: str) -> tf.Tensor:
    """The handle of new storage with the variable's value."""
    import tensorflow as tf

    with tf.device(device):
        copy = tf.Variable(variable.read_value(), dtype=variable.dtype, shape=variable.shape)
    handle: tf.Tensor = copy.handle
    if handle.device != device:
        raise InputError(f"TensorFlow does not put variable {variable.name!r} on {device}")
    for label in ("_name", "_unique_id"):  # by which SavedModels know it
        setattr(handle, label, getattr(variable.handle, label))
    return handle


def _retarget(new: Mapping[int, tf.Tensor]) -> None:
    """Give all functions that have been traced the new handles; ``new``: by id of the old one."""
    import tensorflow as tf

    for found in gc.get_objects():
        # By type: asking a weak proxy for its class would raise.
        if not issubclass(type(found), tf.types.experimental.ConcreteFunction):
            continue
        captures = found.graph.captures
        if not any(id(outer) in new for outer, _ in captures):
            continue
        outers = [new.get(id(outer), outer) for outer, _ in captures]
        found.graph.function_captures.reset_captures(outers, [inner for _, inner in captures])
        given = found._captured_inputs
        found.set_external_captures([new.get(id(outer), outer) for outer in given])
