"""What a cut costs in whole networks, where it costs more than the tensors' way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from suite.core.arrays import Floats, Ints
from suite.core.graph import OpGraph
from suite.execution.measurement import Backend, Step
from suite.execution.profiling.links import Fit
from suite.execution.profiling.run_step import time_step

RUNS = (2, 3, 5, 9, 17, 33)
"""Into how many runs of operations, in topological order, a network is cut."""


@dataclass(frozen=True)
class Cut:
    """A network whose runs of operations lie on two devices by turns."""

    seconds: float
    """Of an inference."""
    computing: float
    """Seconds of its operations, as measured on each device alone."""
    transfers: int
    size: int
    """Bytes of all transfers."""


def measure_cuts(
    backend: Backend, graph: OpGraph, step: Step, seconds: dict[int, Floats]
) -> list[Cut]:
    """Run a network in pieces; ``seconds``: of its operations (float64[ops]) on two devices.

    InputError where a run fails.
    """
    cuts = []
    for runs in RUNS:
        for turn in (list(seconds), list(seconds)[::-1]):
            devices = np.array(turn)[(np.arange(graph.n_ops) * runs // graph.n_ops) % 2]
            taken = time_step(backend, step, devices, graph.name)
            computing = sum(float(one[devices == d].sum()) for d, one in seconds.items())
            cuts.append(Cut(taken, computing, *_sent(graph, devices)))
    return cuts


def _sent(graph: OpGraph, devices: Ints) -> tuple[int, int]:
    """Transfers and their bytes: a tensor goes once to each other device that reads it."""
    tensors, consumers = graph.edges
    sources, targets = devices[graph.producer[tensors]], devices[consumers]
    away = sources != targets
    moved = np.unique(np.stack([tensors[away], targets[away]]), axis=1)[0]
    return len(moved), int(graph.tensor_bytes[moved].sum())


def fit_cuts(plain: Fit, cuts: Iterable[Cut]) -> Fit:
    """The link with which inferences take what was measured, never faster than ``plain``.

    That is a tensor's way alone. A border costs more in a network: convolutions reorder what
    crosses it, operations that were fused run by themselves, and threads are woken for every part.
    Least squares of relative deviations over the cuts.
    """
    rows = np.array([(one.seconds, one.computing, one.transfers, one.size) for one in cuts])
    measured, computing, transfers, size = rows.T
    known = computing + transfers * plain.latency + size / plain.bandwidth
    design = np.stack([transfers, size / plain.bandwidth], axis=1)
    (latency, share), _ = nnls(design / measured[:, None], (measured - known) / measured)
    simulated = known + design @ (latency, share)
    error = float(np.sqrt(np.mean((simulated / measured - 1.0) ** 2)))
    return Fit(plain.latency + float(latency), plain.bandwidth / (1.0 + float(share)), error)
