"""FLOP and bytes of every operation, from TensorFlow Grappler's op-level cost estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from suite.capture.decompositions import decomposition_flops
from suite.capture.products import product_flops
from suite.capture.tensorflow_internals import CLUSTER, DEVICE_PROPERTIES, ITEM, NAMED_DEVICE
from suite.core.arrays import Floats

if TYPE_CHECKING:
    import tensorflow as tf

_STATE_TRAFFIC = {
    "ResourceApplyAdam": (7.0, 14.0),
    "ResourceApplyMomentum": (5.0, 4.0),
    "ResourceApplyKerasMomentum": (5.0, 4.0),
    "ResourceApplyRMSProp": (7.0, 10.0),
    "ResourceApplyGradientDescent": (3.0, 2.0),
    "ApplyAdam": (7.0, 14.0),
    "ApplyMomentum": (5.0, 4.0),
    "ApplyRMSProp": (7.0, 10.0),
    "Assign": (2.0, 0.0),
    "AssignAdd": (3.0, 1.0),
    "AssignSub": (3.0, 1.0),
    "AssignVariableOp": (2.0, 0.0),
    "AssignAddVariableOp": (3.0, 1.0),
    "AssignSubVariableOp": (3.0, 1.0),
    **dict.fromkeys(("ResourceScatterUpdate", "ResourceScatterNdUpdate"), (2.0, 0.0)),
    **dict.fromkeys(("ResourceScatterAdd", "ResourceScatterSub"), (3.0, 1.0)),
    **dict.fromkeys(("ResourceScatterMul", "ResourceScatterDiv"), (3.0, 1.0)),
    **dict.fromkeys(("ResourceScatterMin", "ResourceScatterMax"), (3.0, 1.0)),
    **dict.fromkeys(("ResourceScatterNdAdd", "ResourceScatterNdSub"), (3.0, 1.0)),
}
"""Bytes moved per byte of the variable and FLOP per element: each state is read and written, the
gradient is read. Grappler cannot see the variable behind a handle, and takes the reference that an
update of a reference variable returns for a tensor that is written."""
_UPDATES = ("ResourceApply", "ResourceSparseApply", "Apply", "SparseApply")
"""How updates' names begin: those that are not above move as much for each of their states."""
_WORK = 2.0
"""FLOP of such an update per element of each state. It waits for memory, whatever it computes."""
_OFF = 0.01
"""Grappler's count of a product stands where it is this near, as a share. It knows neither
three-dimensional convolutions nor ellipses in an einsum, nor what is computed when dilated or
explicitly padded; of decompositions and Fourier transforms it knows nothing."""


def count(
    graph_def: tf.compat.v1.GraphDef, wanted: Sequence[str], operations: Sequence[tf.Operation]
) -> tuple[Floats, Floats]:
    """Return (FLOP, bytes touched): float64[ops] each, in the order of ``operations``.

    These are some or all ``tf.Operation`` of the imported ``graph_def``. Grappler costs the graph
    on a virtual device of 1 FLOP and 1 byte per microsecond, so that its times read as counts.
    """
    import tensorflow as tf

    device = "/job:localhost/replica:0/task:0/device:CPU:0"
    unit = DEVICE_PROPERTIES.load()(type="CPU", num_cores=1, frequency=1, bandwidth=1000)
    unit.memory_size = 1 << 60
    meta = tf.compat.v1.MetaGraphDef()
    meta.graph_def.CopyFrom(graph_def)
    for node in meta.graph_def.node:
        node.device = device
    meta.collection_def["train_op"].node_list.value.extend(wanted)
    virtual = CLUSTER.load()(devices=[NAMED_DEVICE.load()(name=device, properties=unit)])
    costs, _, _ = virtual.MeasureCosts(
        ITEM.load()(meta, ignore_colocation=True, ignore_user_placement=False)
    )
    estimate = {c.node: (c.compute_time / 1000, c.memory_time / 1000) for c in costs}
    pairs = [_corrected(op, *estimate.get(op.name, (0.0, 0.0))) for op in operations]
    flops, touched = np.array(pairs, np.float64).reshape(-1, 2).T
    return flops, touched


def _corrected(op: tf.Operation, flops: float, touched: float) -> tuple[float, float]:
    """Replace what the estimator does not know: updates of variables, look-ups, some products."""
    if op.type in _STATE_TRAFFIC:
        traffic, work = _STATE_TRAFFIC[op.type]
        update = op.inputs[-1]
        elements = max((_elements(t) for t in op.inputs), default=0)
        return work * elements, traffic * elements * update.dtype.size
    if op.type.startswith(_UPDATES):
        return _update(op)
    if op.type == "ResourceGather":
        size = _elements(op.outputs[0]) * op.outputs[0].dtype.size
        return 0.0, 2.0 * size
    exact = product_flops(op)
    if exact is None:
        exact = decomposition_flops(op)
    if exact is not None and abs(flops - exact) > _OFF * exact:
        return exact, touched
    return flops, touched


def _update(op: tf.Operation) -> tuple[float, float]:
    """Of an optimizer's update: its states, one of which is the variable, are read and written.

    The largest of the values that it is given is the gradient; a sparse one is of some rows.
    """
    given = [
        t for t in op.inputs if t.dtype.name != "resource" and not t.dtype.name.endswith("_ref")
    ]
    states, gradient = len(op.inputs) - len(given), max(given, key=_elements)
    elements = _elements(gradient)
    return _WORK * states * elements, (2.0 * states + 1) * elements * gradient.dtype.size


def _elements(tensor: tf.Tensor) -> int:
    return int(tensor.shape.num_elements() or 0)
