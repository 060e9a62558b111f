"""Heads from refutation: the compiled part of :mod:`suite.bounds.serialisation`."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from suite.bounds.critical_path import NEVER, Nanoseconds

SPAN = 512
"""Ancestors looked at: those among so many operations before, in topological order."""
SWEEPS = 3
"""Times that what is known of an operation may spread through all of its neighbours."""


class Costs(NamedTuple):
    """The graph in one direction; a kind is a set of devices with equal durations."""

    offsets: NDArray[np.int64]
    """int64[ops + 1]: the edges into each operation."""
    source: NDArray[np.int64]
    """int64[edges]: the operation each comes from."""
    together: NDArray[np.bool_]
    """bool[edges]: whether both ends are in one colocation class."""
    size: NDArray[np.int64]
    """int64[edges]: row of ``arrive`` and ``leave``."""
    arrive: Nanoseconds
    """int64[sizes, kinds]: the least transfer from any other device to one of the kind."""
    leave: Nanoseconds
    """int64[sizes, kinds]: the least transfer to any other device."""
    here: Nanoseconds
    """int64[ops, kinds]: duration."""
    elsewhere: Nanoseconds
    """int64[ops, kinds]: the least duration on any other device than one of the kind."""
    others: NDArray[np.bool_]
    """bool[kinds, kinds]: whether a device of the second is another than one of the first."""


class Cone(NamedTuple):
    """What is known of the ``SPAN`` operations before v, latest first."""

    inside: NDArray[np.bool_]
    """Whether it is an ancestor of v."""
    near_lag: Nanoseconds
    """The least time from its end to the start of v if it is beside v."""
    far_lag: Nanoseconds
    """The same if it is apart."""
    near: Nanoseconds
    """Its least start if it is beside v, ``NEVER`` if it cannot be."""
    far: Nanoseconds
    """Its least end if it is apart, ``NEVER`` if it cannot be."""


def raised(costs: Costs, heads: Nanoseconds) -> Nanoseconds:
    """Return heads, int64[ops, kinds], that are at least those given and what refutation proves."""
    heads = np.array(heads, np.int64, order="C")
    scratch = [np.zeros(SPAN, np.int64) for _ in range(4)]
    _raise_all(costs, Cone(np.zeros(SPAN, np.bool_), *scratch), heads, np.full_like(heads, NEVER))
    return heads


@numba.njit(cache=True)
def _raise_all(costs, cone, heads, ends):  # type: ignore[no-untyped-def]
    """Raise ``heads`` in place; ``ends``: where an operation is not on one device of the kind."""
    ops, kinds = heads.shape
    for op in range(ops):
        for kind in range(kinds):
            if costs.here[op, kind] < NEVER:
                heads[op, kind] = _raise(op, kind, costs, cone, heads, ends)
        for kind in range(kinds):
            for other in range(kinds):
                if costs.others[kind, other] and costs.here[op, other] < NEVER:
                    end = heads[op, other] + costs.here[op, other]
                    ends[op, kind] = min(ends[op, kind], end)


@numba.njit(cache=True)
def _raise(op, kind, costs, cone, heads, ends):  # type: ignore[no-untyped-def]
    """Refute ever later times: in growing steps while that works, then in shrinking ones."""
    span = _gather(op, kind, costs, cone)
    head = max(heads[op, kind], _arrival(op, kind, costs, heads, ends))
    step, growing = 1, True
    while step:
        if _refuted(op, kind, head + step, span, costs, cone, heads, ends):
            head += step
        else:
            growing = False
        step = 2 * step if growing else step // 2
    return head


@numba.njit(cache=True)
def _arrival(op, kind, costs, heads, ends):  # type: ignore[no-untyped-def]
    """When the last input arrives, each from where that is earliest."""
    latest = 0
    for edge in range(costs.offsets[op], costs.offsets[op + 1]):
        source = costs.source[edge]
        arrival = min(heads[source, kind] + costs.here[source, kind], NEVER)
        if not costs.together[edge]:
            arrival = min(arrival, ends[source, kind] + costs.arrive[costs.size[edge], kind])
        latest = max(latest, arrival)
    return latest


@numba.njit(cache=True)
def _gather(op, kind, costs, cone):  # type: ignore[no-untyped-def]
    """Find the ancestors of ``op`` and their lags; return how far back they may be."""
    span = min(op, SPAN)
    cone.inside[:span] = False
    cone.near_lag[:span] = 0
    cone.far_lag[:span] = 0
    _spread(op, op, kind, 0, NEVER, costs, cone)
    for i in range(span):
        if cone.inside[i]:
            before = op - 1 - i
            near = min(costs.here[before, kind] + cone.near_lag[i], NEVER)
            far = min(costs.elsewhere[before, kind] + cone.far_lag[i], NEVER)
            _spread(before, op, kind, near, far, costs, cone)
    return span


@numba.njit(cache=True)
def _spread(reader, op, kind, near, far, costs, cone):  # type: ignore[no-untyped-def]
    """Raise the lags of a reader's inputs: ``near``, ``far`` are from its own start."""
    for edge in range(costs.offsets[reader], costs.offsets[reader + 1]):
        i = op - 1 - costs.source[edge]
        if i >= SPAN:
            continue
        near_lag, far_lag = near, far
        if not costs.together[edge]:
            near_lag = min(near, costs.leave[costs.size[edge], kind] + far)
            far_lag = min(far, costs.arrive[costs.size[edge], kind] + near)
        cone.inside[i] = True
        cone.near_lag[i] = max(cone.near_lag[i], near_lag)
        cone.far_lag[i] = max(cone.far_lag[i], far_lag)


@numba.njit(cache=True)
def _refuted(op, kind, limit, span, costs, cone, heads, ends):  # type: ignore[no-untyped-def]
    """Whether ``op`` cannot start before ``limit``."""
    for i in range(span):
        before = op - 1 - i
        cone.near[i] = heads[before, kind] if costs.here[before, kind] < NEVER else NEVER
        cone.far[i] = ends[before, kind]
        if cone.far[i] + cone.far_lag[i] >= limit:
            cone.far[i] = NEVER
    for _ in range(SWEEPS):
        news = False
        for i in range(span - 1, -1, -1):
            if cone.inside[i]:
                news |= _settle(i, op, kind, limit, costs, cone)
                if cone.near[i] == NEVER and cone.far[i] == NEVER:
                    return True
        if not news:
            break
    return _queue(op, kind, span, costs, cone) >= limit


@numba.njit(cache=True)
def _settle(i, op, kind, limit, costs, cone):  # type: ignore[no-untyped-def]
    """Raise an ancestor's least times by its inputs'; return whether a side is now ruled out."""
    here, near, far = op - 1 - i, cone.near[i], 0
    for edge in range(costs.offsets[here], costs.offsets[here + 1]):
        j = op - 1 - costs.source[edge]
        if j >= SPAN:
            continue
        near_end = min(cone.near[j] + costs.here[costs.source[edge], kind], NEVER)
        far_end = cone.far[j]
        size = costs.size[edge]
        if costs.together[edge]:
            near, far = max(near, near_end), max(far, far_end)
        else:
            near = max(near, min(near_end, far_end + costs.arrive[size, kind]))
            far = max(far, min(far_end, near_end + costs.leave[size, kind]))
    far = max(cone.far[i], far + costs.elsewhere[here, kind])
    if near + costs.here[here, kind] + cone.near_lag[i] >= limit:
        near = NEVER
    if far + cone.far_lag[i] >= limit:
        far = NEVER
    news = (near >= NEVER) > (cone.near[i] >= NEVER) or (far >= NEVER) > (cone.far[i] >= NEVER)
    cone.near[i], cone.far[i] = min(near, NEVER), min(far, NEVER)
    return news


@numba.njit(cache=True)
def _queue(op, kind, span, costs, cone):  # type: ignore[no-untyped-def]
    """Return the least start of ``op`` after all that must be beside it, one after the other."""
    beside = np.flatnonzero(cone.inside[:span] & (cone.far[:span] == NEVER))
    work, start = 0, 0
    for i in beside[np.argsort(-cone.near[beside])]:
        work += costs.here[op - 1 - i, kind]
        start = max(start, cone.near[i] + work)
    return start
