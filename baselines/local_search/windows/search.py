"""Walks in windows of one step, several side by side."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from baselines.local_search.windows.kernel import walk
from baselines.local_search.windows.traced import Classes, Edges, Traced
from baselines.local_search.windows.window import Window
from suite.core.cores import my_share
from suite.core.problem import Problem
from suite.simulator.compiled.judge import Simulator
from suite.simulator.compiled.resumed import compiled, roomy_workspace, simulate_before
from suite.simulator.compiled.state import Totals, Work

KEPT = 8
"""Placements of a walk that are kept: the last of those estimated to be faster than all before."""


@dataclass(frozen=True, eq=False)
class Found:
    """What a walk in a window found."""

    rows: list[Classes]
    """int64[n_classes] each; the last is estimated to be the fastest."""
    costs: list[int]
    """Nanoseconds that each step is estimated to take."""
    simulated: float
    """Whole steps that take about as long to simulate as what was simulated for it."""


class Windows:
    """Walks in windows of one problem's steps."""

    def __init__(self, problem: Problem, simulator: Simulator) -> None:
        """Prepare for it; ``simulator`` has the semantics ``placebench``."""
        self.edges = Edges(problem, simulator)
        self._layout, self._rules = simulator.layout, simulator.rules._replace(bounded=True)
        self._before = compiled(simulate_before, self._rules)
        self._walk = compiled(walk, self._rules)
        self._spare: queue.SimpleQueue[tuple[Work, Totals]] = queue.SimpleQueue()

    def traced(self, row: Classes) -> Traced:
        """The step of a placement, int64[n_classes], on whose devices all can run."""
        return Traced.of(self.edges, row)

    def search(
        self,
        step: Traced,
        spans: Sequence[tuple[float, float]],
        trials: int,
        rng: np.random.Generator,
    ) -> list[Found]:
        """Walk in each of these windows, shares of the step; with a second core two at a time."""
        seeds = rng.integers(1, 2**63, size=len(spans))

        def walked(number: int) -> Found:
            return self._walked(step, *spans[number], trials, int(seeds[number]))

        threads = min(len(spans), my_share().threads)
        if threads == 1:
            return [walked(number) for number in range(len(spans))]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(walked, range(len(spans))))

    def _walked(self, step: Traced, first: float, last: float, trials: int, seed: int) -> Found:
        begins, ends = round(first * step.nanoseconds), round(last * step.nanoseconds)
        w, totals = scratch = self._scratch()
        devices = step.slack.times.devices
        requests = int(self._before(self._layout, w, totals, devices, begins))
        window = step.window(begins, ends, requests)
        rows, costs = np.empty((KEPT, len(window.members)), np.int64), np.empty(KEPT, np.int64)
        kept = w._replace(**{name: array.copy() for name, array in w._asdict().items()})
        own = window.tail[np.arange(len(window.members)), window.devices[window.members]]
        cost = int((step.slack.times.end[window.members] + own).max(initial=0))
        parts, places = len(window.part_begin) - 1, window.prices.size
        found = 0
        if parts:
            found = self._walk(
                *(self._layout, w, totals, kept, requests, window, cost, trials),
                *(np.array([seed], np.uint64), window.devices.copy(), window.devices.copy()),
                *(np.zeros(parts, np.int64), np.zeros((places, 2), np.int64)),
                *(rows, costs),
            )
        self._spare.put(scratch)
        last_ones = [at % KEPT for at in range(max(0, int(found) - KEPT), int(found))]
        return Found(
            [self._row(step.row, window, rows[at]) for at in last_ones],
            [int(costs[at]) for at in last_ones],
            first + trials * (last - first),
        )

    def _scratch(self) -> tuple[Work, Totals]:
        try:
            return self._spare.get_nowait()
        except queue.Empty:
            return roomy_workspace(self._layout, self._rules)

    def _row(self, row: Classes, window: Window, devices: Classes) -> Classes:
        """The placement with the window's operations on these devices, int64[members].

        What they alone read goes along, if it was made before.
        """
        changed = row.copy()
        changed[self.edges.classes[window.members]] = devices
        follows = self.edges.follows
        sources = np.flatnonzero((follows >= 0) & (window.number < 0))
        reader = follows[sources]
        moved = changed[reader] != row[reader]
        changed[self.edges.classes[sources[moved]]] = changed[reader[moved]]
        return changed
