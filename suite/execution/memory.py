"""Peak memory of every device, from TensorFlow's step statistics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from suite.execution.request import Request
from suite.execution.step_stats import NodeStats, StepStats

if TYPE_CHECKING:
    import tensorflow as tf

ALLOCATOR, STATISTICS, UNKNOWN = "allocator", "step statistics", "unknown"


def peaks(
    request: Request, graph: tf.Graph, statistics: Sequence[StepStats]
) -> tuple[tuple[int | None, ...], str]:
    """Bytes of every device, and where they come from; the most over all traced steps.

    A device with an allocator of its own is believed: it counts variables, received copies and all
    else that it hands out, at the ends of operations. Where several share one, what the step's
    operations allocate is added to variables and constants, and received copies are left out.
    """
    if not statistics:
        return (None,) * len(request.device_names), UNKNOWN
    found: list[int | None] = []
    source = ALLOCATOR
    for name, own in zip(request.device_names, request.own_allocator, strict=True):
        told = [allocator_peak(one, name) for one in statistics] if own else [None]
        if any(told):
            found.append(max(value or 0 for value in told))
            continue
        recorded = max(recorded_peak(one, name) for one in statistics)
        found.append(resident_bytes(graph, name) + recorded)
        source = STATISTICS if found[-1] else source
    return tuple(found), source


def resident_bytes(graph: tf.Graph, device_name: str) -> int:
    """Bytes of the variables and constants of a ``tf.Graph`` on a device."""
    import tensorflow as tf

    total = 0
    for op in graph.get_operations():
        if op.device != device_name:
            continue
        if op.type == "VarHandleOp":
            shape = tf.TensorShape(op.get_attr("shape"))
            total += shape.num_elements() * tf.as_dtype(op.get_attr("dtype")).size
        elif op.type == "Const" and op.outputs[0].dtype != tf.string:
            total += (op.outputs[0].shape.num_elements() or 0) * op.outputs[0].dtype.size
    return total


def allocator_peak(statistics: StepStats, device_name: str) -> int | None:
    """Most bytes the device's allocator had handed out when an operation ended; None: not told."""
    most = 0
    for node in _nodes(statistics, device_name):
        most = max([most, *(used.allocator_bytes_in_use for used in node.memory)])
    return most or None


def recorded_peak(statistics: StepStats, device_name: str) -> int:
    """Peak of the allocations and releases that the step's operations recorded, in bytes."""
    changes: dict[int, list[int]] = defaultdict(list)
    for node in _nodes(statistics, device_name):
        for used in node.memory:
            for record in used.allocation_records:
                changes[record.alloc_micros].append(record.alloc_bytes)
    # Within a microsecond, what is freed is freed first: tensors are handed on, not held twice.
    ordered = [change for time in sorted(changes) for change in sorted(changes[time])]
    return max(0, int(np.cumsum([0, *ordered]).max()))


def _nodes(statistics: StepStats, device_name: str) -> list[NodeStats]:
    return [n for d in statistics.dev_stats if d.device == device_name for n in d.node_stats]
