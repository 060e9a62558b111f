"""How early each operation can start and how much must follow it, device by device."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.bounds.alike import NEVER, Alike, bytes_moved
from suite.core.arrays import Ints
from suite.core.compilation import kernel
from suite.core.problem import Problem

Nanoseconds = NDArray[np.int64]


def release_and_delivery(
    problem: Problem, durations: Nanoseconds, alike: Alike | None = None
) -> tuple[Nanoseconds, Nanoseconds]:
    """Bound the time before and after each operation, whatever the rest of the placement is.

    ``durations`` is int64[ops, kinds] in nanoseconds, 0 where the operation's colocation class
    may not go; kinds of devices that are ``alike``, by default every device. Returns (release,
    delivery), int64[ops, kinds]: an operation on a device of that kind starts at least its release
    time after the step does, and the step lasts at least its delivery time after its end. Each
    input comes from wherever its producer is best off, transfer included; the members of a class
    share a device; operations and transfers never wait for one another.
    """
    graph = problem.graph
    durations = np.ascontiguousarray(durations)  # numba would compile anew for another order
    sizes, size_of = np.unique(bytes_moved(problem), return_inverse=True)
    move = (alike or Alike.apart(problem.machine)).transfers(sizes)
    sized, made, classes = size_of.reshape(-1), graph.producer, graph.colocation
    release = _release_times(*graph.inputs, sized, made, classes, durations, move)
    readers, places = graph.consumers, graph.consumer_offsets
    delivery = _delivery_times(*graph.outputs, places, readers, sized, classes, durations, move)
    return release, delivery


@kernel
def _release_times(
    offsets: Ints,
    inputs: Ints,
    size_of: Ints,
    producer: Ints,
    colocation: Ints,
    durations: Nanoseconds,
    move: Nanoseconds,
) -> Nanoseconds:
    n, devices = durations.shape
    release = np.zeros((n, devices), np.int64)
    # In topological order, so that what an operation reads is known before it.
    for op in range(n):
        for here in range(devices):
            if durations[op, here] == 0:
                release[op, here] = NEVER
                continue
            for tensor in inputs[offsets[op] : offsets[op + 1]]:
                source = producer[tensor]
                together = colocation[source] == colocation[op]
                arrival = NEVER
                for there in range(devices):
                    # Of its own class nothing can be elsewhere, so nothing comes from elsewhere.
                    if durations[source, there] == 0 or (together and there != here):
                        continue
                    travel = move[size_of[tensor], there, here]
                    end = release[source, there] + durations[source, there]
                    arrival = min(arrival, end + travel)
                release[op, here] = max(release[op, here], arrival)
    return release


@kernel
def _delivery_times(
    offsets: Ints,
    outputs: Ints,
    reader_offsets: Ints,
    readers: Ints,
    size_of: Ints,
    colocation: Ints,
    durations: Nanoseconds,
    move: Nanoseconds,
) -> Nanoseconds:
    n, devices = durations.shape
    delivery = np.zeros((n, devices), np.int64)
    for op in range(n - 1, -1, -1):
        for here in range(devices):
            if durations[op, here] == 0:
                delivery[op, here] = NEVER
                continue
            for tensor in outputs[offsets[op] : offsets[op + 1]]:
                for reader in readers[reader_offsets[tensor] : reader_offsets[tensor + 1]]:
                    together = colocation[reader] == colocation[op]
                    rest = NEVER
                    for there in range(devices):
                        if durations[reader, there] == 0 or (together and there != here):
                            continue
                        travel = move[size_of[tensor], here, there]
                        after = durations[reader, there] + delivery[reader, there]
                        rest = min(rest, travel + after)
                    delivery[op, here] = max(delivery[op, here], rest)
    return delivery
