"""Where the time of one placed step goes, in the simulator's timeline and in a real trace."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from suite.core.arrays import Floats
from suite.execution.measurement import Trace
from suite.simulator.timeline import Timeline

LARGEST = 8
"""Operation types kept, those that differ most."""
RECEIVED, COPIED = "RecvTensor", "Memcpy"
"""How TensorFlow's step statistics tell transfers: between servers by the name, to and from a GPU
by the label. A GPU's copies within an operation have the operation's name."""


def breakdown(line: Timeline, traces: Sequence[Trace]) -> dict[str, Any]:
    """Facts of both timelines as JSON: seconds, by name of the device.

    ``simulated`` and ``measured``: ``busy`` (time in which a device computes), ``transfers`` (how
    many) and ``transfer_seconds`` (their times summed); ``operations``: rows of type, device,
    count, simulated and measured seconds, where they differ most. ``measured`` is empty and there
    are no rows without a trace.
    """
    problem = line.problem
    names = [device.name for device in problem.machine.devices]
    simulated = {
        "busy": dict(zip(names, (line.result.busy / 1e9).tolist(), strict=True)),
        "transfers": len(line.tensor),
        "transfer_seconds": float((line.arrived - line.sent).sum() / 1e9),
    }
    if not traces:
        return {"simulated": simulated, "measured": {}, "operations": []}
    trace = traces[len(traces) // 2]
    return {
        "simulated": simulated,
        "measured": measured_of(trace, problem.graph.op_names, names),
        "operations": _operations(line, trace, names),
    }


def measured_of(trace: Trace, op_names: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """What the devices ``names`` did in one step of the operations ``op_names``, for breakdown."""
    known = set(op_names)
    computes = np.array([name in known for name in trace.names], np.bool_)
    moves = np.array(
        [_moves(*event, known) for event in zip(trace.names, trace.labels, strict=True)], np.bool_
    )
    busy = {}
    for device, name in enumerate(names):
        here = computes & (trace.devices == device)
        busy[name] = covered(trace.start[here], trace.end[here])
    seconds = float((trace.end - trace.start)[moves].sum())
    return {"busy": busy, "transfers": int(moves.sum()), "transfer_seconds": seconds}


def _moves(name: str, label: str, known: Container[str]) -> bool:
    """Whether an event of a trace is a transfer between devices."""
    own = name.partition(":")[0] in known
    return name.startswith(RECEIVED) or (label.startswith(COPIED) and not own)


def covered(start: Floats, end: Floats) -> float:
    """Seconds in which at least one of the intervals (float64[n] each) is under way."""
    order = np.argsort(start)
    start, end = start[order], np.maximum.accumulate(end[order]) if len(end) else end
    before = np.concatenate([[-np.inf], end[:-1]]) if len(end) else end
    return float(np.maximum(0, end - np.maximum(start, before)).sum())


def _operations(line: Timeline, trace: Trace, names: Sequence[str]) -> list[list[Any]]:
    graph = line.problem.graph
    simulated, measured = (line.end - line.start) / 1e9, trace.op_seconds(graph.op_names)
    sums: dict[tuple[str, int], list[float]] = {}
    for op in np.flatnonzero(np.isfinite(measured)).tolist():
        row = sums.setdefault((graph.op_types[op], int(line.devices[op])), [0, 0.0, 0.0])
        row[0] += 1
        row[1] += float(simulated[op])
        row[2] += float(measured[op])
    ranked = sorted(sums.items(), key=lambda item: (-abs(item[1][1] - item[1][2]), item[0]))
    return [[kind, names[device], *row] for (kind, device), row in ranked[:LARGEST]]
