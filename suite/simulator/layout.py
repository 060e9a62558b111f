"""A problem as the flat arrays that the compiled simulator walks over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats, Ints, csr
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.core.problem import Problem
from suite.simulator.channels import channels_of
from suite.simulator.control_edges import with_control
from suite.simulator.durations import nanoseconds, run_order
from suite.simulator.semantics import PLACEBENCH, Semantics

MOST_ENGINES = 63
"""Copy engines that fit a bit mask beside the bit of queues with one channel."""


Flag = tuple[()] | tuple[bool]
"""Empty where off: its length is part of its type, so the compiler drops what is off, and rules
that the default semantics does not have cost it nothing."""
ON: Flag = (True,)
OFF: Flag = ()


class Layout(NamedTuple):
    """Read-only; edges are positions in ``graph.consumers``."""

    duration: NDArray[np.int64]
    """int64[ops, devices]: nanoseconds."""
    rank: NDArray[np.int32]
    """int32[ops]: order among ready operations (priority policy)."""
    by_rank: NDArray[np.int32]
    """int32[ops]: the operation of each rank."""
    fifo: bool
    stack: bool
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
    """int64[tensors]: bytes that a transfer moves."""
    held: NDArray[np.int64]
    """int64[tensors]: bytes that a tensor takes in memory."""
    alias_edge: NDArray[np.int32]
    """int32[tensors]: edge by which the producer reads the tensor whose buffer is shared, or -1."""
    shared: NDArray[np.bool_]
    """bool[tensors]: whether its buffer may have several tensors."""
    persistent: NDArray[np.int64]
    """int64[ops]: bytes."""
    latency: NDArray[np.float64]
    bandwidth: NDArray[np.float64]
    """float64[devices, devices]: seconds; bytes per second. A broadcast goes from a device to
    itself, at the slowest of its links."""
    trail: NDArray[np.int64]
    """int64[devices, devices]: nanoseconds that a transfer holds its channel after its arrival."""
    occupancy: NDArray[np.float64]
    """float64[3, devices, devices]: seconds for which a transfer keeps its sender and its receiver
    from computing, and seconds per byte of either (``detailed``)."""
    shortest: int
    """Nanoseconds that a transfer takes at least."""
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
    rest: NDArray[np.int64]
    """int64[ops, devices]: nanoseconds a device pauses after an operation (``resting``)."""
    block: NDArray[np.int64]
    unread: NDArray[np.int64]
    """int64[ops]: bytes of its outputs; those of them freed when it ends (``blocks``)."""
    n_reads: NDArray[np.int32]
    """int32[ops]: edges that read its outputs."""
    edge_source: NDArray[np.int32]
    """int32[edges]: the operation that produces what is read."""
    broadcast: Flag
    booked: Flag
    trailing: Flag
    resting: Flag
    blocks: Flag
    late: Flag
    """:class:`suite.simulator.semantics.Semantics`."""
    detailed: Flag
    """Whether transfers may keep devices from computing, or ``stack``."""
    pausing: Flag
    """``resting`` or ``detailed``."""
    timed: Flag = OFF
    """Whether there are deadlines."""


def layout(problem: Problem, policy: str, semantics: Semantics = PLACEBENCH) -> Layout:
    """Flatten a problem; InputError if a step could take longer than event keys can say."""
    graph, size = with_control(problem.graph, semantics.control)
    duration = nanoseconds(problem.seconds)
    rank = run_order(graph, duration, policy)
    tensors, consumers = graph.edges
    names, *channels = channels_of(problem.machine, semantics)
    queue, first, second = _queues(*channels)
    masks = _masks(first, second, len(names))
    in_start, in_edge = csr(consumers, np.arange(len(consumers)), graph.n_ops)
    out_start, out_tensor = graph.outputs
    latency, bandwidth, trail = _links(problem, semantics)
    rest = np.where(problem.seconds > 0, np.int64(np.rint(1e9 * semantics.rest)), 0)
    block, unread = _blocks(graph, semantics)
    alias_of = graph.alias_of if semantics.aliases else np.full(graph.n_tensors, -1, np.int32)
    read = np.diff(graph.consumer_offsets) > 0
    edge_source = graph.producer[tensors]
    detailed = policy == "stack" or (semantics.of_machine and problem.machine.occupied)
    return Layout(
        duration=duration,
        rank=rank,
        by_rank=np.argsort(rank).astype(np.int32),
        fifo=policy == "fifo",
        stack=policy == "stack",
        n_inputs=np.diff(in_start).astype(np.int32),
        in_start=in_start.astype(np.int32),
        in_edge=in_edge,
        out_start=out_start.astype(np.int32),
        out_tensor=out_tensor,
        use_start=graph.consumer_offsets.astype(np.int32),
        consumer=np.array(consumers, np.int32),
        size=size,
        held=np.where(read, size, 0) if semantics.unread == "ignored" else size,
        alias_edge=_alias_edges(alias_of, graph.producer, tensors, consumers),
        shared=_shared(alias_of),
        persistent=np.array(graph.persistent_bytes, np.int64) * semantics.variables,
        latency=latency,
        bandwidth=bandwidth,
        trail=trail,
        occupancy=_occupancy(problem.machine, semantics),
        shortest=0 if semantics.free else 1,
        queue=queue,
        first=first,
        second=second,
        channel_mask=masks[0],
        other_mask=masks[1],
        line_at=masks[2],
        rank_bits=_rank_bits(problem, duration, size[tensors], semantics),
        rest=rest,
        block=block,
        unread=unread,
        n_reads=np.bincount(edge_source, minlength=graph.n_ops).astype(np.int32),
        edge_source=edge_source.astype(np.int32),
        broadcast=ON if semantics.broadcast else OFF,
        booked=ON if semantics.booked else OFF,
        trailing=ON if semantics.trailing_latency else OFF,
        resting=ON if semantics.rest else OFF,
        blocks=ON if semantics.blocks else OFF,
        late=ON if semantics.late else OFF,
        detailed=ON if detailed else OFF,
        pausing=ON if detailed or semantics.rest else OFF,
    )


def _queues(
    first: Ints, second: Ints
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Number the distinct (first, second) channel pairs: queue of each device pair, channels."""
    queue = np.full(first.shape, -1, np.int32)
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


def _links(problem: Problem, semantics: Semantics) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Latency and bandwidth of every pair; nanoseconds that a channel is held afterwards."""
    latency, bandwidth = _link_values(problem, "latency"), _link_values(problem, "bandwidth")
    if semantics.broadcast and len(latency) > 1:
        away = ~np.eye(len(latency), dtype=np.bool_)
        np.fill_diagonal(latency, latency.max(axis=1, where=away, initial=0))
        np.fill_diagonal(bandwidth, bandwidth.min(axis=1, where=away, initial=np.inf))
    if semantics.free:
        latency, bandwidth = np.zeros_like(latency), np.full_like(bandwidth, np.inf)
    if semantics.trailing_latency:
        return np.zeros_like(latency), bandwidth, np.rint(1e9 * latency).astype(np.int64)
    return latency, bandwidth, np.zeros(latency.shape, np.int64)


def _link_values(problem: Problem, name: str) -> Floats:
    n = problem.machine.n_devices
    values = np.full((n, n), 0.0 if name == "latency" else np.inf)
    if n > 1:
        for pair, link in problem.machine.link_of.items():
            values[pair] = getattr(link, name)
    return values


def _occupancy(machine: Machine, semantics: Semantics) -> Floats:
    result = np.zeros((3, machine.n_devices, machine.n_devices))
    if machine.n_devices > 1 and semantics.of_machine:
        for (s, t), link in machine.link_of.items():
            result[:, s, t] = link.occupancy
    return result


def _blocks(graph: OpGraph, semantics: Semantics) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bytes of every operation's outputs; those of them that are freed when it ends."""
    block = np.zeros(graph.n_ops, np.int64)
    if semantics.memory == "first-output":
        starts, tensors = graph.outputs
        some = np.diff(starts) > 0
        block[some] = graph.tensor_bytes[tensors[starts[:-1][some]]]
    else:
        np.add.at(block, graph.producer, graph.tensor_bytes)
    read = np.zeros(graph.n_ops, np.bool_)
    read[graph.producer[graph.edges[0]]] = True
    return block, np.where(read | (semantics.unread == "kept"), 0, block)


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
    n = int(max(producer.max(initial=0), consumers.max(initial=0))) + 1
    keys = tensors.astype(np.int64) * n + consumers
    wanted = alias_of[sharing].astype(np.int64) * n + producer[sharing]
    edges[sharing] = np.searchsorted(keys, wanted)
    return edges


def _rank_bits(
    problem: Problem, duration: NDArray[np.int64], moved: Ints, semantics: Semantics
) -> int:
    """``moved`` is int64[edges]: the bytes each edge may send."""
    graph, n = problem.graph, problem.machine.n_devices
    bits = int(n + len(moved) + 1).bit_length()
    longest = float(duration.max(axis=1).sum(dtype=np.float64)) + 1e9 * semantics.rest * len(
        duration
    )
    if n > 1:
        links = problem.machine.link_of.values()
        latency = max(link.latency for link in links)
        slowest = min(link.bandwidth for link in links)
        transfers = 1e9 * (latency * len(moved) + float(moved.sum()) / slowest) + len(moved)
        longest += (2 if semantics.booked else 1) * transfers
        sends, receives, copies = np.max([link.occupancy for link in links], axis=0)
        longest += 1e9 * ((sends + receives) * len(moved) + 2 * copies * float(moved.sum()))
    if longest >= 2.0 ** (63 - bits):
        raise InputError(
            f"a step of {graph.name} on {problem.machine.name} could take {longest / 1e9:.3g} s;"
            f" the simulator counts up to {2.0 ** (63 - bits) / 1e9:.3g} s: check units"
        )
    return bits
