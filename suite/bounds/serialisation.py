"""Release and delivery times that see a device run one operation at a time, and help cost time.

Let operation v be on device d. An ancestor of v is *beside* it, on d as well, or *apart*. Forwards
from the ancestors' release times and backwards from v, with the cheaper of beside and apart at
each operation between and a transfer where the two meet, there is a least time at which each
ancestor starts or ends either way, and a least time from its end to the start of v, its lag. Now
assume that v starts before some time t:

1. An ancestor that would make v start at t or later by being apart is beside v; likewise the other
   way round. What is known about one tells more about its neighbours: their least times grow, since
   a transfer to or from the known side can no longer be avoided.
2. d runs those beside v one after the other: if the first of some of them cannot start before time
   a, v cannot start before a + their durations.

If that contradicts the assumption, or an operation can be neither beside nor apart, v starts at t
or later: t is a release time of v on d (:mod:`suite.bounds.serialisation_kernel`). So where two
branches join, either the shorter one is transferred or v waits for both, one after the other.
Delivery times are release times in the graph turned round.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.bounds.alike import NEVER, Alike, bytes_moved, least_each_way
from suite.bounds.critical_path import Nanoseconds, release_and_delivery
from suite.bounds.serialisation_kernel import Costs, raised
from suite.core.arrays import Bools, Ints, same_columns
from suite.core.problem import Problem


def serial_release_and_delivery(
    problem: Problem,
    durations: Nanoseconds,
    alike: Alike | None = None,
    reached: tuple[Nanoseconds, Nanoseconds] | None = None,
) -> tuple[Nanoseconds, Nanoseconds]:
    """Raise :func:`suite.bounds.critical_path.release_and_delivery`: same meaning, never less.

    ``reached`` is what that answers, where it is known.
    """
    alike = alike or Alike.apart(problem.machine)
    release, delivery = reached or release_and_delivery(problem, durations, alike)
    # Whatever their links, devices with the same durations are one kind here.
    firsts, kind = same_columns(durations)
    ahead, back = _both_ways(problem, durations[:, firsts], kind[alike.kind])
    later = raised(ahead, _least(release, kind))[:, kind]
    longer = raised(back, _least(delivery, kind)[::-1])[::-1, kind]
    return np.maximum(release, later), np.maximum(delivery, longer)


def _least(values: Nanoseconds, kind: NDArray[np.int64]) -> Nanoseconds:
    """int64[ops, devices] to int64[ops, kinds]: the least of each kind."""
    columns = [values[:, kind == k].min(axis=1) for k in range(int(kind.max()) + 1)]
    return np.stack(columns, axis=1)


def _both_ways(
    problem: Problem, durations: Nanoseconds, kind: NDArray[np.int64]
) -> tuple[Costs, Costs]:
    """Costs of the graph and of the graph turned round, last operation first."""
    graph = problem.graph
    # One order of rows for both ways: numba would compile anew for another.
    here = np.ascontiguousarray(np.where(durations > 0, durations, NEVER))
    counts = np.bincount(kind)
    others = ~np.diag(counts == 1)
    elsewhere = np.stack([np.where(row, here, NEVER).min(axis=1) for row in others], axis=1)
    sizes, size_of = np.unique(bytes_moved(problem), return_inverse=True)
    arrive, leave = least_each_way(problem.machine, kind, sizes, lambda link: link.latency)
    tensors, readers = graph.edges
    makers, rows = graph.producer[tensors], size_of.reshape(-1)[tensors]
    last = graph.n_ops - 1
    ahead = _edges(problem, readers, makers, rows, graph.colocation)
    back = _edges(problem, last - makers, last - readers, rows, graph.colocation[::-1])
    turned = np.ascontiguousarray(here[::-1]), np.ascontiguousarray(elsewhere[::-1])
    return (
        Costs(*ahead, arrive, leave, here, elsewhere, others),
        Costs(*back, leave, arrive, *turned, others),
    )


def _edges(
    problem: Problem, end: Ints, start: Ints, size: Ints, classes: Ints
) -> tuple[NDArray[np.int64], NDArray[np.int64], Bools, NDArray[np.int64]]:
    """Offsets, sources, whether together, and sizes of the edges, sorted by their end."""
    order = np.argsort(end, kind="stable")
    ends, source = end[order].astype(np.int64), start[order].astype(np.int64)
    offsets = np.searchsorted(ends, np.arange(problem.graph.n_ops + 1)).astype(np.int64)
    together = np.asarray(classes[source] == classes[ends], np.bool_)
    return offsets, source, together, size[order].astype(np.int64)
