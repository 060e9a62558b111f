"""What the page shows of a placement: which parts of the graph are where, and who is busy when."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from suite.bench.cell import SIMULATOR
from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.report.page.records import Value, short
from suite.report.recorded import recorded_devices, recorded_problem
from suite.report.unrolled import layer_name, unroll

BINS = 100
"""Stretches of the graph, and of the time line, of equal length."""
LEVELS = 10
"""A share is drawn in tenths."""
PROBLEM = ("machine", "gpus", "task")
"""Records that agree in these, and in their graph's fingerprint, share a problem."""


def chosen(records: pd.DataFrame) -> pd.DataFrame:
    """The fastest valid record of every placer, task, machine and grid, else the first one."""
    simulated = records[(records["backend"] == SIMULATOR) & records["utilisation"].map(bool)]
    order = simulated.assign(failed=simulated["status"] != "ok")
    order = order.sort_values(["failed", "step_time"], kind="stable")
    return order.drop_duplicates(["grid", *PROBLEM, "placer"]).sort_index()


def placements(records: pd.DataFrame) -> tuple[dict[str, Value], dict[str, str]]:
    """Number of a record -> what to draw of it; and why maps are missing, by task.

    A drawing holds ``bin`` (seconds), ``devices`` (names), ``busy`` and, where the graph is at
    hand, ``map``: a coded line of shares a device (:func:`coded`). Unrolled models have ``layers``
    too: for each layer and pass a list of the indices of the devices that compute most, a step
    each; None where none does.
    """
    found: dict[str, Value] = {}
    missing: dict[str, str] = {}
    shown = chosen(records)
    for _, mine in shown.groupby(_same_problem(shown), sort=False):
        problem: Problem | None = None
        try:
            problem = recorded_problem(mine.iloc[0])
        except InputError as error:
            missing[str(mine.iloc[0]["task"])] = str(error)
        at = None if problem is None else positions(problem)
        for number, record in mine.iterrows():
            drawing = timeline(record)
            if problem is not None and at is not None:
                try:
                    drawing |= where(problem, at, recorded_devices(record, problem))
                except InputError as error:
                    missing[f"{record['task']} under {record['placer']}"] = str(error)
            found[str(number)] = drawing
    return found, missing


def _same_problem(records: pd.DataFrame) -> list[pd.Series]:
    fingerprints = records["graph"].map(lambda graph: graph.get("fingerprint", ""))
    return [*(records[name] for name in PROBLEM), fingerprints]


def timeline(record: pd.Series) -> dict[str, Value]:
    """When each device computes: a coded line of the share of each stretch of time."""
    strips = record["utilisation"]
    devices = sorted(strips["devices"])
    count = max(len(strips["devices"][name]) for name in devices)
    every = -(-count // BINS)
    busy = []
    for name in devices:
        shares = np.asarray(strips["devices"][name], np.float64)
        padded = np.pad(shares, (0, -len(shares) % every))
        busy.append(coded(padded.reshape(-1, every).mean(axis=1)))
    seconds = short(float(strips["bin_seconds"]) * every)
    return {"bin": seconds, "devices": list(devices), "busy": busy}


def positions(problem: Problem) -> Ints:
    """int64[ops]: in which stretch of the graph an operation is, from 0 to BINS - 1.

    That is where it would start if every operation had its fastest device to itself and transfers
    took no time: left what the step begins with, right what it ends with.
    """
    graph = problem.graph
    seconds = problem.seconds.min(axis=1)
    # Plain lists: NumPy takes longer for the few readers that most tensors have.
    takes, start = seconds.tolist(), [0.0] * graph.n_ops
    makers, readers, first = (
        array.tolist() for array in (graph.producer, graph.consumers, graph.consumer_offsets)
    )
    for tensor in np.argsort(graph.producer, kind="stable").tolist():
        end = start[makers[tensor]] + takes[makers[tensor]]
        for reader in readers[first[tensor] : first[tensor + 1]]:
            start[reader] = max(start[reader], end)
    begin = np.array(start)
    whole = float((begin + seconds).max(initial=0.0)) or 1.0
    return np.minimum((begin / whole * BINS).astype(np.int64), BINS - 1)


def where(problem: Problem, at: Ints, devices: Ints) -> dict[str, Value]:
    """The map of a placement, ``devices`` int[ops], along the ``at`` of :func:`positions`."""
    n = problem.machine.n_devices
    spent = problem.seconds[np.arange(problem.graph.n_ops), devices]
    cells = np.bincount(devices * BINS + at, weights=spent, minlength=n * BINS).reshape(n, BINS)
    whole = cells.sum(axis=0)
    shares = cells / np.where(whole > 0, whole, 1)
    names = [device.name for device in problem.machine.devices]
    lines = dict(zip(names, shares, strict=True))
    drawing: dict[str, Value] = {"map": [coded(lines[name]) for name in sorted(names)]}
    layers = list(_layers(problem, devices))
    return drawing | ({"layers": layers} if layers else {})


def _layers(problem: Problem, devices: Ints) -> Iterator[Value]:
    """(layer, device with most of the compute time of each step) of an unrolled model."""
    found = unroll(problem, devices)
    names = [device.name for device in problem.machine.devices]
    number = {name: sorted(names).index(name) for name in names}
    for seconds, suffix in zip(found.seconds, ("", ", backward"), strict=True):
        for layer, cells in zip(found.layers, seconds, strict=True):
            most = cells.argmax(axis=1)
            devices_of_steps = [
                number[names[d]] if cell.any() else None
                for d, cell in zip(most, cells, strict=True)
            ]
            yield [layer_name(layer) + suffix, devices_of_steps]


def coded(shares: NDArray[np.float64]) -> str:
    """Shares in tenths, ``a`` to ``k``, each followed by how often it is repeated if it is."""
    levels = np.clip(np.rint(shares * LEVELS), 0, LEVELS).astype(int)
    edges = np.flatnonzero(np.diff(levels)) + 1
    runs = np.split(levels, edges)
    return "".join(f"{chr(97 + run[0])}{len(run) if len(run) > 1 else ''}" for run in runs)
