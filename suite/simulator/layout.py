"""A problem as the flat arrays that the compiled simulator walks over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.arrays import Ints, csr
from suite.errors import InputError
from suite.problem import Problem
from suite.simulator.durations import nanoseconds, run_order

MOST_ENGINES = 63
"""Copy engines that fit a bit mask beside the bit of queues with one channel."""


class Layout(NamedTuple):
    """Read-only; edges are positions in ``graph.consumers``."""

    duration: NDArray[np.int64]
    """int64[ops, devices]: nanoseconds."""
    rank: NDArray[np.int32]
    """int32[ops]: order among ready operations (priority policy)."""
    by_rank: NDArray[np.int32]
    """int32[ops]: the operation of each rank."""
    fifo: bool
    n_inputs: NDArray[np.int32]
    """int32[ops]: distinct tensors read."""
    in_start: NDArray[np.int32]
    in_edge: NDArray[np.int32]
    """CSR: operation -> edges it reads."""
    out_start: NDArray[np.int32]
    out_tensor: NDArray[np.int32]
    """CSR: operation -> tensors it produces."""
    use_start: NDArray[np.int32]
    consumer: NDArray[np.int32]
    """CSR: tensor -> operations that read it."""
    size: NDArray[np.int64]
    """int64[tensors]: bytes."""
    alias_edge: NDArray[np.int32]
    """int32[tensors]: edge by which the producer reads the tensor whose buffer is shared, or -1."""
    shared: NDArray[np.bool_]
    """bool[tensors]: whether its buffer may have several tensors."""
    persistent: NDArray[np.int64]
    """int64[ops]: bytes."""
    latency: NDArray[np.float64]
    bandwidth: NDArray[np.float64]
    """float64[devices, devices]: seconds; bytes per second."""
    queue: NDArray[np.int32]
    """int32[devices, devices]: the queue of a transfer; one queue per distinct set of channels."""
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    """int32[queues]: channels held; second is -1 where there is one."""
    channel_mask: NDArray[np.uint64]
    """uint64[channels]: the bit of a channel that shares queues with others; 0 for the rest."""
    other_mask: NDArray[np.uint64]
    """uint64[queues, 2]: the queue's bit among those of its first, and of its second channel."""
    line_at: NDArray[np.int32]
    """int32[channels, 64]: the queue of each bit."""
    rank_bits: int
    """Low bits of an event key that hold the device or the request number."""


def layout(problem: Problem, policy: str) -> Layout:
    """Flatten a problem; InputError if a step could take longer than event keys can say."""
    graph, machine = problem.graph, problem.machine
    duration = nanoseconds(problem.seconds)
    rank = run_order(graph, duration, policy)
    tensors, consumers = graph.edges
    queue, first, second = _queues(problem)
    masks = _masks(first, second, len(machine.channels[0]))
    in_start, in_edge = csr(consumers, np.arange(len(consumers)), graph.n_ops)
    out_start, out_tensor = graph.outputs
    return Layout(
        duration=duration,
        rank=rank,
        by_rank=np.argsort(rank).astype(np.int32),
        fifo=policy == "fifo",
        n_inputs=np.diff(in_start).astype(np.int32),
        in_start=in_start.astype(np.int32),
        in_edge=in_edge,
        out_start=out_start.astype(np.int32),
        out_tensor=out_tensor,
        use_start=graph.consumer_offsets.astype(np.int32),
        consumer=np.array(consumers, np.int32),
        size=np.array(graph.tensor_bytes, np.int64),
        alias_edge=_alias_edges(graph.alias_of, graph.producer, tensors, consumers),
        shared=_shared(graph.alias_of),
        persistent=np.array(graph.persistent_bytes, np.int64),
        latency=_link_values(problem, "latency"),
        bandwidth=_link_values(problem, "bandwidth"),
        queue=queue,
        first=first,
        second=second,
        channel_mask=masks[0],
        other_mask=masks[1],
        line_at=masks[2],
        rank_bits=_rank_bits(problem, duration),
    )


def _queues(problem: Problem) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Number the distinct (first, second) channel pairs: queue of each device pair, channels."""
    _, first, second = problem.machine.channels
    n = problem.machine.n_devices
    queue = np.full((n, n), -1, np.int32)
    seen: dict[tuple[int, int], int] = {}
    for s, t in zip(*np.nonzero(first >= 0), strict=True):
        queue[s, t] = seen.setdefault((int(first[s, t]), int(second[s, t])), len(seen))
    pairs = np.array(list(seen), np.int32).reshape(-1, 2)
    return queue, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def _masks(
    first: Ints, second: Ints, channels: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int32]]:
    """Number the channels of two-channel queues; a queue's bit on one is its other channel's."""
    paired = second >= 0
    numbers = {c: i for i, c in enumerate(sorted({*first[paired], *second[paired]}))}
    alone = len(numbers)
    if alone > MOST_ENGINES:
        raise InputError(f"{alone} copy engines; the simulator knows up to {MOST_ENGINES}")
    channel_mask = np.zeros(channels, np.uint64)
    for channel, bit in numbers.items():
        channel_mask[channel] = 1 << bit
    other_mask = np.zeros((len(first), 2), np.uint64)
    line_at = np.full((channels, 64), -1, np.int32)
    for line, ends in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        for side, channel in enumerate(ends):
            if channel >= 0:
                bit = numbers.get(ends[1 - side], alone)
                other_mask[line, side] = 1 << bit
                line_at[channel, bit] = line
    return channel_mask, other_mask, line_at


def _link_values(problem: Problem, name: str) -> NDArray[np.float64]:
    n = problem.machine.n_devices
    values = np.ones((n, n))
    if n > 1:
        for pair, link in problem.machine.link_of.items():
            values[pair] = getattr(link, name)
    return values


def _shared(alias_of: Ints) -> NDArray[np.bool_]:
    shared = np.asarray(alias_of >= 0)
    shared[alias_of[alias_of >= 0]] = True
    return shared


def _alias_edges(
    alias_of: Ints, producer: Ints, tensors: Ints, consumers: Ints
) -> NDArray[np.int32]:
    """The edge (shared tensor, producer of the sharing one), found by binary search."""
    edges = np.full(len(alias_of), -1, np.int32)
    sharing = np.flatnonzero(alias_of >= 0)
    n = int(producer.max(initial=0)) + 1
    keys = tensors.astype(np.int64) * n + consumers
    wanted = alias_of[sharing].astype(np.int64) * n + producer[sharing]
    edges[sharing] = np.searchsorted(keys, wanted)
    return edges


def _rank_bits(problem: Problem, duration: NDArray[np.int64]) -> int:
    graph, n = problem.graph, problem.machine.n_devices
    bits = int(n + len(graph.consumers) + 1).bit_length()
    longest = float(duration.max(axis=1).sum(dtype=np.float64))
    if n > 1:
        links = problem.machine.link_of.values()
        latency = max(link.latency for link in links)
        slowest = min(link.bandwidth for link in links)
        moved = float(graph.tensor_bytes[graph.edges[0]].sum())
        longest += 1e9 * (latency * len(graph.consumers) + moved / slowest) + len(graph.consumers)
    if longest >= 2.0 ** (63 - bits):
        raise InputError(
            f"a step of {graph.name} on {problem.machine.name} could take {longest / 1e9:.3g} s;"
            f" the simulator counts up to {2.0 ** (63 - bits) / 1e9:.3g} s: check units"
        )
    return bits
