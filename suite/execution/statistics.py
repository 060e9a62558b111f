"""TensorFlow's step statistics -> timelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from suite.execution.measurement import Trace
from suite.execution.step_stats import NodeStats, StepStats

_Event = tuple[int, int, int, str, str]
"""Start and end in nanoseconds, device, operation, label."""


def trace_of(statistics: StepStats, device_names: Sequence[str]) -> Trace:
    """Turn one step's ``StepStats`` into a Trace.

    On a GPU the statistics of the device itself say when the host launched an operation; where
    there are statistics of its streams, the span of the operation's kernels takes their place.
    """
    index = {name: i for i, name in enumerate(device_names)}
    kernels = _kernels(statistics)
    events = []
    for device in statistics.dev_stats:
        if "/stream" in device.device:
            continue
        number = index.get(device.device, -1)
        on_gpu = "GPU:" in device.device
        for node in device.node_stats:
            span = kernels.get(node.node_name) if on_gpu else None
            start, end = span or _span(node)
            events.append((start, end, number, node.node_name, node.timeline_label))
    return _trace(sorted(events))


def _trace(events: list[_Event]) -> Trace:
    # From the epoch, seconds as float64 would be no finer than a quarter of a microsecond.
    first = events[0][0] if events else 0
    return Trace(
        tuple(event[3] for event in events),
        tuple(event[4] for event in events),
        np.array([event[2] for event in events], np.int32),
        np.array([(event[0] - first) / 1e9 for event in events], np.float64),
        np.array([(event[1] - first) / 1e9 for event in events], np.float64),
    )


def _span(node: NodeStats) -> tuple[int, int]:
    """Start and end in nanoseconds; transfers carry microseconds alone."""
    if node.all_start_nanos:
        start = node.all_start_nanos + node.op_start_rel_nanos
        return start, node.all_start_nanos + node.op_end_rel_nanos
    start = node.all_start_micros + node.op_start_rel_micros
    return 1000 * start, 1000 * (node.all_start_micros + node.op_end_rel_micros)


def _kernels(statistics: StepStats) -> Mapping[str, tuple[int, int]]:
    """Operation -> when its first kernel began and its last one ended."""
    spans: dict[str, tuple[int, int]] = {}
    for device in statistics.dev_stats:
        if "/stream:all" not in device.device:
            continue
        for node in device.node_stats:
            name = node.node_name.partition(":")[0]
            start, end = _span(node)
            before = spans.get(name, (start, end))
            spans[name] = min(before[0], start), max(before[1], end)
    return spans
