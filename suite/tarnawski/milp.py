"""Mixed-integer programs, built block by block and solved by HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suite.core.arrays import Ints
from suite.tarnawski.workload import Floats

Terms = Sequence[tuple[ArrayLike, ArrayLike]]
"""(columns, coefficients): of one length each, or single."""


@dataclass(frozen=True)
class Solved:
    """What HiGHS found."""

    values: Floats | None
    """float64[columns]; None when it found no solution."""
    bound: float
    """Proved lower bound of the objective."""
    optimal: bool
    """Within the gap asked for."""
    infeasible: bool
    """Proved to have no solution."""


@dataclass
class Program:
    """minimise one column subject to rows."""

    lower: list[Floats] = field(default_factory=list)
    upper: list[Floats] = field(default_factory=list)
    integer: list[NDArray[np.bool_]] = field(default_factory=list)
    columns: int = 0
    rows: int = 0
    entries: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)
    limits: list[Floats] = field(default_factory=list)

    def variables(self, *shape: int, upper: float = inf, integer: bool = False) -> Ints:
        """Add columns >= 0; return their numbers, int64[shape]."""
        count = int(np.prod(shape))
        self.lower.append(np.zeros(count))
        self.upper.append(np.full(count, upper))
        self.integer.append(np.full(count, integer))
        self.columns += count
        return np.arange(self.columns - count, self.columns).reshape(shape)

    def forbid(self, columns: ArrayLike) -> None:
        """Fix these columns at zero."""
        self.most(0.0, [(columns, 1.0)])

    def most(self, limit: ArrayLike, terms: Terms) -> None:
        """Add one row for each position of the arrays: sum of coefficient x column <= limit."""
        sizes = [np.size(columns) for columns, _ in terms]
        if not min(sizes):
            return
        size = max(sizes)
        rows = np.arange(self.rows, self.rows + size)
        for columns, coefficient in terms:
            ends = np.broadcast_to(np.ravel(columns), (size,))
            values = np.broadcast_to(np.asarray(coefficient, np.float64), (size,))
            self.entries.append((rows, ends, values))
        self.limits.append(np.broadcast_to(np.asarray(limit, np.float64), (size,)))
        self.rows += size

    def sum_most(self, limit: float, terms: Terms) -> None:
        """Add one row: the sum over all positions of all terms <= limit."""
        for columns, coefficient in terms:
            ends = np.ravel(columns)
            values = np.broadcast_to(np.ravel(coefficient), ends.shape)
            self.entries.append((np.full(len(ends), self.rows), ends, values))
        self.limits.append(np.array([limit]))
        self.rows += 1

    def sum_is(self, value: float, columns: ArrayLike) -> None:
        """Add: the sum of these columns is ``value``."""
        self.sum_most(value, [(columns, 1.0)])
        self.sum_most(-value, [(columns, -1.0)])

    def equal(self, left: Ints, right: Ints) -> None:
        """Add for each column of two int64[rows, n]: their sums over the rows are equal."""
        if left.shape[1]:
            self.most(0.0, [*((row, 1.0) for row in left), *((row, -1.0) for row in right)])
            self.most(0.0, [*((row, -1.0) for row in left), *((row, 1.0) for row in right)])

    def minimise(
        self, target: int, gap: float, seconds: float, start: dict[int, float], seed: int
    ) -> Solved:
        """Minimise column ``target`` from a start: integer columns and their values."""
        import highspy

        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("mip_rel_gap", gap)
        solver.setOptionValue("time_limit", max(seconds, 0.1))
        solver.setOptionValue("random_seed", seed)
        # Half-open doors times big constants would make the claimed latency too small.
        solver.setOptionValue("mip_feasibility_tolerance", 1e-9)
        solver.setOptionValue("primal_feasibility_tolerance", 1e-9)
        solver.passModel(self._model(highspy, target))
        if start:
            columns = np.array(sorted(start), np.int32)
            values = np.array([start[int(c)] for c in columns])
            solver.setSolution(len(columns), columns, values)
        solver.run()
        info, status = solver.getInfo(), solver.getModelStatus()
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        return Solved(
            np.array(solver.getSolution().col_value) if found else None,
            float(info.mip_dual_bound),
            status == highspy.HighsModelStatus.kOptimal,
            status == highspy.HighsModelStatus.kInfeasible,
        )

    def _model(self, highspy: ModuleType, target: int) -> Any:
        rows, columns, values = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        order = np.lexsort((rows, columns))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.columns, self.rows
        model.col_cost_ = (np.arange(self.columns) == target).astype(np.float64)
        model.col_lower_ = np.concatenate(self.lower)
        model.col_upper_ = np.concatenate(self.upper)
        model.row_lower_ = np.full(self.rows, -inf)
        model.row_upper_ = np.concatenate(self.limits)
        whole, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
        model.integrality_ = [whole if i else real for i in np.concatenate(self.integer)]
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kColwise
        matrix.start_ = np.searchsorted(columns[order], np.arange(self.columns + 1))
        matrix.index_, matrix.value_ = rows[order], values[order]
        return model
