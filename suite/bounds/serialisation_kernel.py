"""Release times from refutation: the compiled part of :mod:`suite.bounds.serialisation`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.bounds.alike import NEVER
from suite.bounds.critical_path import Nanoseconds
from suite.core.compilation import kernel

SPAN = 512
"""Ancestors looked at: those among so many operations before, in topological order."""


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


def raised(costs: Costs, release: Nanoseconds) -> Nanoseconds:
    """Return release times, int64[ops, kinds]: those given, raised to what refutation proves."""
    release = np.array(release, np.int64, order="C")
    scratch = [np.zeros(SPAN, np.int64) for _ in range(4)]
    cone = Cone(np.zeros(SPAN, np.bool_), *scratch)
    _raise_all(costs, cone, release, np.full_like(release, NEVER))
    return release


@kernel
def _raise_all(costs: Costs, cone: Cone, release: Nanoseconds, ends: Nanoseconds) -> None:
    """Raise ``release`` in place; ``ends``: where an operation is not on one device of the kind."""
    ops, kinds = release.shape
    # In topological order: what is proven of an operation serves those that read it.
    for op in range(ops):
        for kind in range(kinds):
            if costs.here[op, kind] < NEVER:
                release[op, kind] = _raise(op, kind, costs, cone, release, ends)
        # Only now is it known where else the operation would end first.
        for kind in range(kinds):
            for other in range(kinds):
                if costs.others[kind, other] and costs.here[op, other] < NEVER:
                    end = release[op, other] + costs.here[op, other]
                    ends[op, kind] = min(ends[op, kind], end)


@kernel
def _raise(
    op: int, kind: int, costs: Costs, cone: Cone, release: Nanoseconds, ends: Nanoseconds
) -> int:
    """Refute ever later times: in growing steps while that works, then in shrinking ones."""
    span = _gather(op, kind, costs, cone)
    start: int = max(release[op, kind], _arrival(op, kind, costs, release, ends))
    # Bisection by doubling: what is refuted for a time is refuted for every earlier one.
    step, growing = 1, True
    while step:
        if _refuted(op, kind, start + step, span, costs, cone, release, ends):
            start += step
        else:
            growing = False
        step = 2 * step if growing else step // 2
    return start


@kernel
def _arrival(op: int, kind: int, costs: Costs, release: Nanoseconds, ends: Nanoseconds) -> int:
    """When the last input arrives, each from where that is earliest."""
    latest = 0
    for edge in range(costs.offsets[op], costs.offsets[op + 1]):
        source = costs.source[edge]
        arrival = min(release[source, kind] + costs.here[source, kind], NEVER)
        if not costs.together[edge]:
            arrival = min(arrival, ends[source, kind] + costs.arrive[costs.size[edge], kind])
        latest = max(latest, arrival)
    return latest


@kernel
def _gather(op: int, kind: int, costs: Costs, cone: Cone) -> int:
    """Find the ancestors of ``op`` and their lags; return how far back they may be."""
    # Far ancestors matter little, and all of them would take quadratic time.
    span = min(op, SPAN)
    cone.inside[:span] = False
    cone.near_lag[:span] = 0
    cone.far_lag[:span] = 0
    for i in range(-1, span):
        before = op - 1 - i
        # v itself, which comes first, is on d: nothing of it is apart. One call serves all, since
        # numba would compile what it calls anew for constants.
        near, far = 0, NEVER
        if i >= 0:
            if not cone.inside[i]:
                continue
            near = min(costs.here[before, kind] + cone.near_lag[i], NEVER)
            far = min(costs.elsewhere[before, kind] + cone.far_lag[i], NEVER)
        _spread(before, op, kind, near, far, costs, cone)
    return span


@kernel
def _spread(reader: int, op: int, kind: int, near: int, far: int, costs: Costs, cone: Cone) -> None:
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


@kernel
def _refuted(
    op: int,
    kind: int,
    limit: int,
    span: int,
    costs: Costs,
    cone: Cone,
    release: Nanoseconds,
    ends: Nanoseconds,
) -> bool:
    """Whether ``op`` cannot start before ``limit``."""
    for i in range(span):
        before = op - 1 - i
        cone.near[i] = release[before, kind] if costs.here[before, kind] < NEVER else NEVER
        cone.far[i] = ends[before, kind]
        # Apart it would make v late, which settles that it is beside v.
        if cone.far[i] + cone.far_lag[i] >= limit:
            cone.far[i] = NEVER
    # Earliest first: each is settled by its inputs, about which all is known by then.
    for i in range(span - 1, -1, -1):
        if cone.inside[i]:
            _settle(i, op, kind, limit, costs, cone)
            if cone.near[i] == NEVER and cone.far[i] == NEVER:
                return True
    return _queue(op, kind, span, costs, cone) >= limit


@kernel
def _settle(i: int, op: int, kind: int, limit: int, costs: Costs, cone: Cone) -> None:
    """Raise an ancestor's least times by its inputs', to ``NEVER`` on a side that is ruled out."""
    here, near, far = op - 1 - i, cone.near[i], 0
    for edge in range(costs.offsets[here], costs.offsets[here + 1]):
        j = op - 1 - costs.source[edge]
        # Beyond the span nothing more is known; an unknown input holds nothing up.
        if j >= SPAN:
            continue
        near_end = min(cone.near[j] + costs.here[costs.source[edge], kind], NEVER)
        far_end = cone.far[j]
        size = costs.size[edge]
        if costs.together[edge]:
            near, far = max(near, near_end), max(far, far_end)
        # An input on the other side comes by a transfer, where that is sooner.
        else:
            near = max(near, min(near_end, far_end + costs.arrive[size, kind]))
            far = max(far, min(far_end, near_end + costs.leave[size, kind]))
    far = max(cone.far[i], far + costs.elsewhere[here, kind])
    if near + costs.here[here, kind] + cone.near_lag[i] >= limit:
        near = NEVER
    if far + cone.far_lag[i] >= limit:
        far = NEVER
    cone.near[i], cone.far[i] = min(near, NEVER), min(far, NEVER)


@kernel
def _queue(op: int, kind: int, span: int, costs: Costs, cone: Cone) -> int:
    """Return the least start of ``op`` after all that must be beside it, one after the other."""
    beside = np.flatnonzero(cone.inside[:span] & (cone.far[:span] == NEVER))
    work, start = 0, 0
    # From the latest start down: all that has been counted starts no earlier than this one.
    for i in beside[np.argsort(-cone.near[beside])]:
        work += costs.here[op - 1 - i, kind]
        start = max(start, cone.near[i] + work)
    return start
