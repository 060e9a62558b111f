"""The least time in which devices can share out work: a linear program, and a proof from its duals.

minimise T  with every class split over the devices that may run it, and on each device work <= T
(and, if asked, persistent bytes <= memory). The solver's answer is not trusted: by weak duality any
prices y >= 0 that sum to 1 over the devices, and z >= 0, give a lower bound on T,

    sum over classes of min over devices of (y work + z bytes)  -  sum over devices of z memory,

so the duals are only taken as a good guess of y and z, and the bound is computed from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suite.bounds.alike import Alike
from suite.core.arrays import Floats, same_columns
from suite.core.problem import Problem

ROUNDING = 1e-10
"""Share given away to floating-point sums, far above their error."""
_SLACK = 1e-6
"""Memory is loosened by this share in the program, so that rounding never makes it infeasible."""


@dataclass(frozen=True, eq=False)
class Load:
    """Work to be shared out over groups of identical devices."""

    work: Floats
    """float64[classes, groups]: nanoseconds, infinite where a class may not go."""
    persistent: NDArray[np.int64]
    """int64[classes]: bytes."""
    firsts: NDArray[np.int64]
    """int64[groups]: one kind of device of each group."""
    sizes: NDArray[np.int64]
    """int64[groups]: devices in each group; one that runs k operations at once counts k times, and
    has a k-th of its memory each time."""
    memory: NDArray[np.int64]
    """int64[groups]: bytes of each."""

    @classmethod
    def of(cls, problem: Problem, durations: NDArray[np.int64], alike: Alike | None = None) -> Load:
        """Sum ``durations`` (int64[ops, kinds], nanoseconds) by class and by group of devices.

        Kinds of devices that are ``alike``, by default every device.
        """
        alike = alike or Alike.apart(problem.machine)
        work = class_work(problem, durations, alike)
        memory = -(-problem.machine.memory[alike.firsts] // alike.lanes)
        firsts, group = same_columns(np.vstack([work, memory.astype(np.float64)]))
        sizes = np.bincount(group[alike.kind], alike.lanes[alike.kind]).astype(np.int64)
        persistent = problem.class_persistent_bytes
        return cls(work[:, firsts], persistent, firsts, sizes, memory[firsts])

    def least(self) -> tuple[float, Floats]:
        """Return proven nanoseconds and the prices of time, float64[groups], that prove it."""
        duals = self._duals(with_memory=False)
        prices = duals / float(duals @ self.sizes)
        return self._proven(prices, np.zeros(len(prices))), prices

    def least_within_memory(self) -> float:
        """Return proven nanoseconds for placements whose persistent bytes fit; else infinity."""
        duals = self._duals(with_memory=True)
        if not len(duals):
            return math.inf
        prices, rents = np.split(duals, 2)
        total = float(prices @ self.sizes)
        return self._proven(prices / total, rents / total * self._scale / self.memory)

    @property
    def _scale(self) -> float:
        return max(float(self.work.min(axis=1).sum()), 1.0) / int(self.sizes.sum())

    def _proven(self, prices: Floats, rents: Floats) -> float:
        cost = priced(prices, self.work) + rents * self.persistent[:, None]
        rented = float(self.sizes * rents @ self.memory)
        gross = float(cost.min(axis=1).sum())
        return math.ceil(gross - rented - ROUNDING * (gross + rented))

    def _duals(self, *, with_memory: bool) -> Floats:
        """Duals of the load rows, then of the memory rows; none when the program is infeasible.

        It is solved over distinct classes: unrolled networks repeat the same few many times.
        """
        import highspy

        table = np.column_stack([self.work, self.persistent])
        rows, counts = np.unique(table, axis=0, return_counts=True)
        rows *= counts[:, None]
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.passModel(self._program(rows[:, :-1] / self._scale, rows[:, -1], with_memory))
        solver.run()
        status = solver.getModelStatus()
        if with_memory and status == highspy.HighsModelStatus.kInfeasible:
            return np.empty(0)
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"the load program ended with {status}")
        duals: Floats = np.abs(np.array(solver.getSolution().row_dual, np.float64))
        return duals[len(rows) :]

    def _program(self, work: Floats, persistent: Floats, with_memory: bool) -> Any:
        """Variables: T, then the share of each class on each group; rows: classes, then devices."""
        import highspy

        n, groups = work.shape
        index, group = np.nonzero(np.isfinite(work))
        rows = [index, n + group, n + groups + group]
        entries = [np.ones(len(index)), work[index, group], persistent[index] / self.memory[group]]
        blocks = 3 if with_memory else 2
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = 1 + len(index), n + (blocks - 1) * groups
        lp.col_cost_ = np.concatenate([[1.0], np.zeros(len(index))])
        lp.col_lower_ = np.zeros(lp.num_col_)
        lp.col_upper_ = np.full(lp.num_col_, highspy.kHighsInf)
        lp.row_lower_ = np.concatenate([np.ones(n), np.full(lp.num_row_ - n, -highspy.kHighsInf)])
        limits = [np.ones(n), np.zeros(groups), self.sizes * (1 + _SLACK)]
        lp.row_upper_ = np.concatenate(limits[:blocks])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        starts = groups + blocks * np.arange(len(index) + 1)
        lp.a_matrix_.start_ = np.concatenate([[0], starts])
        cells = np.stack(rows[:blocks], axis=1), np.stack(entries[:blocks], axis=1)
        lp.a_matrix_.index_ = np.concatenate([n + np.arange(groups), cells[0].reshape(-1)])
        lp.a_matrix_.value_ = np.concatenate([-self.sizes, cells[1].reshape(-1)])
        return lp


def class_work(problem: Problem, durations: NDArray[np.int64], alike: Alike) -> Floats:
    """float64[classes, kinds]: sums of int64[ops, kinds], infinite where a class may not go."""
    classes, n = problem.graph.colocation, problem.graph.n_classes
    columns = [np.bincount(classes, column, n) for column in durations.astype(np.float64).T]
    work: Floats = np.stack(columns, axis=1).astype(np.float64)
    work[~problem.allowed[:, alike.firsts]] = np.inf
    return work


def priced(price: Floats, work: Floats) -> Floats:
    """Return ``price * work`` (float64[..., groups]), infinite where ``work`` is, even at 0."""
    return np.where(np.isfinite(work), price * np.where(np.isfinite(work), work, 0.0), np.inf)
