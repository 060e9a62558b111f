"""How early each operation can start and how much must follow it, device by device."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.problem import Problem
from suite.simulator.durations import nanoseconds

Nanoseconds = NDArray[np.int64]
NEVER = int(np.iinfo(np.int64).max) // 4
"""Head and tail of an operation on a device that it may not use."""


def heads_and_tails(problem: Problem, durations: Nanoseconds) -> tuple[Nanoseconds, Nanoseconds]:
    """Bound the time before and after each operation, whatever the rest of the placement is.

    ``durations`` is int64[ops, devices] in nanoseconds, 0 where the operation's colocation class
    may not go. Returns (heads, tails), int64[ops, devices]: an operation on that device starts at
    least ``head`` after the step does, and the step lasts at least ``tail`` after its end. Each
    input comes from wherever its producer is best off, transfer included; the members of a
    class share a device; operations and transfers never wait for one another.
    """
    graph = problem.graph
    sizes, size_of = np.unique(graph.tensor_bytes, return_inverse=True)
    move = _transfers(problem, sizes)
    shared = (size_of.reshape(-1), graph.producer, graph.colocation, durations, move)
    heads = _heads(*graph.inputs, *shared)
    tails = _tails(*graph.outputs, graph.consumer_offsets, graph.consumers, *shared)
    return heads, tails


def _transfers(problem: Problem, sizes: Ints) -> Nanoseconds:
    """int64[sizes, devices, devices]: time on a free channel, 0 from a device to itself."""
    machine = problem.machine
    move = np.zeros((len(sizes), machine.n_devices, machine.n_devices), np.int64)
    for (s, t), link in machine.link_of.items() if machine.n_devices > 1 else ():
        move[:, s, t] = nanoseconds(link.latency + sizes / link.bandwidth)
    return move


@numba.njit(cache=True)
def _heads(  # type: ignore[no-untyped-def]
    offsets, inputs, size_of, producer, colocation, durations, move
):
    n, devices = durations.shape
    heads = np.zeros((n, devices), np.int64)
    for op in range(n):
        for here in range(devices):
            if durations[op, here] == 0:
                heads[op, here] = NEVER
                continue
            for tensor in inputs[offsets[op] : offsets[op + 1]]:
                source = producer[tensor]
                together = colocation[source] == colocation[op]
                arrival = NEVER
                for there in range(devices):
                    if durations[source, there] == 0 or (together and there != here):
                        continue
                    travel = move[size_of[tensor], there, here]
                    end = heads[source, there] + durations[source, there]
                    arrival = min(arrival, end + travel)
                heads[op, here] = max(heads[op, here], arrival)
    return heads


@numba.njit(cache=True)
def _tails(  # type: ignore[no-untyped-def]
    offsets, outputs, reader_offsets, readers, size_of, producer, colocation, durations, move
):
    n, devices = durations.shape
    tails = np.zeros((n, devices), np.int64)
    for op in range(n - 1, -1, -1):
        for here in range(devices):
            if durations[op, here] == 0:
                tails[op, here] = NEVER
                continue
            for tensor in outputs[offsets[op] : offsets[op + 1]]:
                for reader in readers[reader_offsets[tensor] : reader_offsets[tensor + 1]]:
                    together = colocation[reader] == colocation[op]
                    rest = NEVER
                    for there in range(devices):
                        if durations[reader, there] == 0 or (together and there != here):
                            continue
                        travel = move[size_of[tensor], here, there]
                        rest = min(rest, travel + durations[reader, there] + tails[reader, there])
                    tails[op, here] = max(tails[op, here], rest)
    return tails
