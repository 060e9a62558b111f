"""m-SCT's favourite children: a linear program by HiGHS (Hanen and Munier 1995; Baechi 2020).

minimise w  with start s_i >= 0 of each task and, of each edge, x_ij in [0, 1]: 0 if j follows i on
its device at once,

    s_i + p_i + c_ij x_ij <= s_j,   s_i + p_i <= w,
    each task has one favourite child and is the favourite of one parent, at most:
    sum_j x_ij >= children of i - 1,   sum_i x_ij >= parents of j - 1.

Baechi solves it over operations and takes x < 0.1 for 0. Here a task is a chain: an operation is
merged with its only reader if that reads nothing else, or if it reads nothing itself. Nothing that
could run at the same time is merged but such sources, and no cycle can come of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats, Ints
from suite.core.problem import Problem

_NEAR = 0.1
"""Below it an edge counts as free of communication: Baechi's rounding."""


def favourites(problem: Problem) -> NDArray[np.int64]:
    """int64[ops]: the operation that should follow each one on its device, or -1.

    An operation whose tensor a task's favourite child reads has that reader. Times are those of
    the first GPU and of the link between the first two: the theory knows one kind of device.
    """
    graph = problem.graph
    favourite = np.full(graph.n_ops, -1, np.int64)
    tensors, readers = graph.edges
    if len(problem.machine.accelerators) < 2 or not len(tensors):
        return favourite
    task = chains(graph.n_ops, graph.producer[tensors], readers)
    ends = task[graph.producer[tensors]], task[readers]
    apart = ends[0] != ends[1]
    if not apart.any():
        return favourite
    tasks = int(task.max()) + 1
    pairs, which = np.unique(
        (ends[0].astype(np.int64) * tasks + ends[1])[apart], return_inverse=True
    )
    first, second = problem.machine.accelerators[:2]
    link = problem.machine.link_of[first, second]
    cost = link.latency + graph.tensor_bytes[tensors[apart]] / link.bandwidth
    parents, children = np.divmod(pairs, tasks)
    fastest = problem.seconds.min(axis=1)
    here = problem.seconds[:, first]
    work = np.bincount(task, np.where(np.isfinite(here), here, fastest), minlength=tasks)
    near = _solve(work, parents, children, np.bincount(which.reshape(-1), cost)) < _NEAR
    producers, children_read = graph.producer[tensors[apart]], readers[apart]
    chosen = near[which.reshape(-1)]
    favourite[producers[chosen]] = children_read[chosen]
    return favourite


def chains(n: int, sources: Ints, targets: Ints) -> NDArray[np.int64]:
    """Merge each node of a DAG that has one successor into it, if that has no other predecessor.

    Edges (int[edges] each) lead from sources to targets. Nodes without predecessors join their only
    successor, too. Returns int64[n], tasks numbered from 0.
    """
    edges = np.unique(np.stack([sources, targets]).astype(np.int64), axis=1)
    outgoing, incoming = (np.bincount(ends, minlength=n) for ends in edges)
    alone = (incoming[edges[1]] == 1) | (incoming[edges[0]] == 0)
    joined = edges[:, (outgoing[edges[0]] == 1) & alone]
    into = np.arange(n)
    into[joined[0]] = joined[1]
    while (into[into] != into).any():
        into = into[into]
    return np.unique(into, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _solve(work: NDArray[Any], parents: Ints, children: Ints, cost: NDArray[Any]) -> Floats:
    """Return x of each edge, float64[edges]."""
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("solver", "simplex")
    solver.passModel(_program(work, parents, children, cost))
    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(f"m-SCT's linear program ended with {status}")
    return np.array(solver.getSolution().col_value)[1 + len(work) :]


def _program(work: NDArray[Any], parents: Ints, children: Ints, cost: NDArray[Any]) -> Any:
    """Columns: w, s of each task, x of each edge. Rows: edges, tasks, then the degrees."""
    import highspy

    tasks, edges = len(work), len(parents)
    scale = float(work.sum()) or 1.0
    edge, last = np.arange(edges), np.setdiff1d(np.arange(tasks), parents)
    far = 1 + tasks + edge
    rows, columns = [edge, edge, edge], [1 + children, 1 + parents, far]
    values = [np.ones(edges), -np.ones(edges), -cost / scale]
    least = [work[parents] / scale, work[last] / scale]
    rows += [edges + np.arange(len(last))] * 2
    columns += [np.zeros(len(last), np.int64), 1 + last]
    values += [np.ones(len(last)), -np.ones(len(last))]
    for ends in (parents, children):
        _, number, degree = np.unique(ends, return_inverse=True, return_counts=True)
        rows.append(sum(map(len, least)) + number.reshape(-1))
        columns.append(far)
        values.append(np.ones(edges))
        least.append(degree - 1.0)
    row, column = np.concatenate(rows), np.concatenate(columns)
    value = np.concatenate(values)
    order = np.lexsort((row, column))
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = 1 + tasks + edges, sum(map(len, least))
    program.col_cost_ = (np.arange(program.num_col_) == 0).astype(np.float64)
    program.col_lower_ = np.zeros(program.num_col_)
    program.col_upper_ = np.where(np.arange(program.num_col_) > tasks, 1.0, highspy.kHighsInf)
    program.row_lower_ = np.concatenate(least)
    program.row_upper_ = np.full(program.num_row_, highspy.kHighsInf)
    matrix = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_ = np.searchsorted(column[order], np.arange(program.num_col_ + 1))
    matrix.index_, matrix.value_ = row[order], value[order]
    return program
