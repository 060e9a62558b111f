"""A walk among placements of one window's operations: the compiled part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.local_search.windows.early_transfers import FAR
from baselines.local_search.windows.window import Window
from suite.core.compilation import inline
from suite.simulator.compiled.channels import submit
from suite.simulator.compiled.heap import pop
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.one_event import handle
from suite.simulator.compiled.resumed import next_number, next_time, restore
from suite.simulator.compiled.state import DEVICE_BITS, Totals, Work

LARGEST = 5
"""A change is of up to 2 to the so many parts at once."""


def walk(
    flat: Layout,
    w: Work,
    totals: Totals,
    kept: Work,
    requests: int,
    window: Window,
    cost: int,
    trials: int,
    random: NDArray[np.uint64],
    now: NDArray[np.int64],
    tried: NDArray[np.int64],
    changed: NDArray[np.int64],
    asked: NDArray[np.int64],
    rows: NDArray[np.int64],
    costs: NDArray[np.int64],
) -> int:
    """Try so many changes one after the other, and keep what is estimated to be no slower.

    ``kept`` is the state of the step when the window begins, ``cost`` the estimate, in nanoseconds,
    of the placement in ``now`` and ``tried``, int64[ops]; ``random``, uint64[1], is not 0. The
    last that were faster than all before go into ``rows``, int64[many, members], and ``costs``,
    int64[many], in turn; returns how many there were. ``changed``, int64[parts], and ``asked``,
    int64[tensors x devices, 2], are scratch memory, the latter 0.
    """
    devices, found, best = len(w.used), 0, cost
    for trial in range(trials):
        count = _change(window, random, now, tried, changed, devices)
        if count == 0:
            continue
        restore(w, kept, requests)
        sent, price = _moved(flat, w, window, tried, asked, requests, trial + 1)
        for number in range(requests, sent):
            submit(flat, w, totals, number, window.begins)
        end = price + _ends(flat, w, totals, window, tried, sent, cost - price)
        if end > cost:
            for i in range(count):
                _put(window, changed[i], tried, now[window.part_ops[window.part_begin[changed[i]]]])
            continue
        cost = end
        for i in range(count):
            _put(window, changed[i], now, tried[window.part_ops[window.part_begin[changed[i]]]])
        if cost < best:
            best = cost
            row = found % len(costs)
            costs[row] = cost
            for member in range(len(window.members)):
                rows[row, member] = now[window.members[member]]
            found += 1
    return found


@inline
def _change(
    window: Window,
    random: NDArray[np.uint64],
    now: NDArray[np.int64],
    tried: NDArray[np.int64],
    changed: NDArray[np.int64],
    devices: int,
) -> int:
    """Put a part, and some around it, on another device; returns how many."""
    start = _draw(random, len(window.part_begin) - 1)
    op = window.part_ops[window.part_begin[start]]
    target = _draw(random, devices)
    around = window.near_begin[start + 1] - window.near_begin[start]
    # As often as not where something beside it is.
    if around > 0 and _draw(random, 2) == 0:
        target = now[window.near[window.near_begin[start] + _draw(random, around)]]
    if target == now[op]:
        target = (target + 1 + _draw(random, devices - 1)) % devices
    most, count, part = 1 << _draw(random, LARGEST + 1), 0, start
    for _ in range(3 * most):
        if count == most:
            break
        if tried[window.part_ops[window.part_begin[part]]] != target and window.may[part, target]:
            _put(window, part, tried, target)
            changed[count] = part
            count += 1
        # On to something beside it, or back to where it began.
        around = window.near_begin[part + 1] - window.near_begin[part]
        if around == 0:
            break
        op = window.near[window.near_begin[part] + _draw(random, around)]
        beside = window.part_of[op]
        if beside >= 0:
            part = int(beside)
        if _draw(random, 4) == 0:
            part = start
    return count


@inline
def _draw(random: NDArray[np.uint64], below: int) -> int:
    """A number from 0, less than ``below`` (xorshift; Marsaglia 2003)."""
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    drawn = np.int64((x >> np.uint64(11)) % np.uint64(below))
    return int(drawn)


@inline
def _put(window: Window, part: int, devices: NDArray[np.int64], target: int) -> None:
    for at in range(window.part_begin[part], window.part_begin[part + 1]):
        devices[window.part_ops[at]] = target


@inline
def _moved(
    flat: Layout,
    w: Work,
    window: Window,
    tried: NDArray[np.int64],
    asked: NDArray[np.int64],
    requests: int,
    trial: int,
) -> tuple[int, int]:
    """Tell the step where the window's operations are now: (number of requests, price).

    Those beyond ``requests`` are new: early tensors that have to be sent now.
    """
    graph, devices = flat.graph, len(w.used)
    before, price = requests, 0
    for member in range(len(window.members)):
        op = window.members[member]
        target = tried[op]
        if target == window.devices[op]:
            continue
        # Its missing inputs and its device are in one word.
        w.state[op] += target - window.devices[op]
        for k in range(graph.in_start[op], graph.in_start[op + 1]):
            edge = graph.in_edge[k]
            if not window.early[edge]:
                continue
            tensor = window.tensor[edge]
            more = window.prices[tensor, target]
            key = tensor * devices + target
            if asked[key, 0] != trial:
                asked[key, 0] = trial
                if more >= 0:
                    price += more
                    continue
                if requests - before == window.room:
                    return requests, FAR
                asked[key, 1] = requests
                w.tensor[requests] = tensor
                w.source[requests] = window.devices[graph.edge_source[edge]]
                w.target[requests] = target
                w.first_edge[requests] = edge
                w.chain[edge] = -1
                w.state[op] += 1 << DEVICE_BITS
                requests += 1
            elif more < 0:
                w.chain[edge] = w.first_edge[asked[key, 1]]
                w.first_edge[asked[key, 1]] = edge
                w.state[op] += 1 << DEVICE_BITS
    return requests, price


@inline
def _ends(
    flat: Layout,
    w: Work,
    totals: Totals,
    window: Window,
    tried: NDArray[np.int64],
    requests: int,
    limit: int,
) -> int:
    """When the step is estimated to end, or something above ``limit``, both nanoseconds."""
    left, end, lanes = len(window.members), 0, len(w.running)
    while left > 0 and end <= limit and w.heap[-1] > 0:
        now, number = next_time(flat, w), next_number(flat, w)
        if number < lanes and w.running[number] >= 0:
            member = window.number[w.running[number]]
            if member >= 0:
                left -= 1
                end = max(end, now + window.tail[member, tried[window.members[member]]])
        end = max(end, now)
        now, index = pop(flat, w)
        requests = handle(flat, w, totals, now, index, requests)
    return end
