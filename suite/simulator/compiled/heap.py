"""The pending events, a binary heap of keys: time, then devices before requests, by number.

FIFO queues leave at most one pending event per device and per channel, so the heap is tiny and
stays in the processor's nearest cache. Its last entry is the number of keys. Time and number share
one word, so that they compare at once; where a step could be too long for that (``LONG``), numbers
are in an array beside the times.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.compilation import inline
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.rules import LONG
from suite.simulator.compiled.state import Work


@inline
def push(flat: Layout, w: Work, time: int, number: int) -> None:
    """Add an event: of a device, or of a request, whose numbers begin behind those of devices."""
    if LONG:
        _push_pair(w.heap, w.heap_number, time, number)
    else:
        _push(w.heap, time << flat.rank_bits | number)


@inline
def pop(flat: Layout, w: Work) -> tuple[int, int]:
    """Take the first event out of a heap that is not empty: (time, number)."""
    if LONG:
        return _pop_pair(w.heap, w.heap_number)
    key = _pop(w.heap)
    return key >> flat.rank_bits, key & ((1 << flat.rank_bits) - 1)


@inline
def _push(heap: NDArray[np.int64], key: int) -> None:
    """Add a key."""
    i = heap[-1]
    heap[-1] += 1
    # Parents are moved down until the key's place is free, which writes half as often as swapping.
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent] <= key:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = key


@inline
def _pop(heap: NDArray[np.int64]) -> int:
    """Take the smallest key out of a heap that is not empty."""
    top: int = heap[0]
    heap[-1] -= 1
    n = heap[-1]
    key = heap[n]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = key
    return top


@inline
def _push_pair(
    times: NDArray[np.int64], numbers: NDArray[np.int32], time: int, number: int
) -> None:
    """As :func:`_push`, of two words."""
    i = times[-1]
    times[-1] += 1
    while i > 0:
        parent = (i - 1) >> 1
        if times[parent] < time or (times[parent] == time and numbers[parent] <= number):
            break
        times[i] = times[parent]
        numbers[i] = numbers[parent]
        i = parent
    times[i] = time
    numbers[i] = number


@inline
def _pop_pair(times: NDArray[np.int64], numbers: NDArray[np.int32]) -> tuple[int, int]:
    """As :func:`_pop`, of two words."""
    top = times[0], numbers[0]
    times[-1] -= 1
    n = times[-1]
    time, number = times[n], numbers[n]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and (
            times[child + 1] < times[child]
            or (times[child + 1] == times[child] and numbers[child + 1] < numbers[child])
        ):
            child += 1
        if times[child] > time or (times[child] == time and numbers[child] >= number):
            break
        times[i] = times[child]
        numbers[i] = numbers[child]
        i = child
    times[i] = time
    numbers[i] = number
    return top
