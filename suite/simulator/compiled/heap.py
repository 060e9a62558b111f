"""The pending events, a binary heap of keys: time, then devices before requests, by number.

FIFO queues leave at most one pending event per device and per channel, so the heap is tiny and
stays in the processor's nearest cache. Its last entry is the number of keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.compilation import inline


@inline
def push(heap: NDArray[np.int64], key: int) -> None:
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
def pop(heap: NDArray[np.int64]) -> int:
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
