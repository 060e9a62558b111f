"""The compiled step of the semantics ``hetero``; reference.py says the same in plain Python."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints, csr
from suite.core.compilation import inline, lean_kernel
from suite.core.problem import Problem
from suite.simulator.channels import channels_of
from suite.simulator.durations import check_longest, nanoseconds, one_by_one
from suite.simulator.semantics import HETERO


class Flat(NamedTuple):
    """Read-only: a problem as flat arrays; operations are in topological order."""

    duration: NDArray[np.int64]
    """int64[ops, devices]: nanoseconds."""
    persistent: NDArray[np.int64]
    """int64[ops]: bytes."""
    in_start: NDArray[np.int64]
    in_tensor: NDArray[np.int64]
    """Compressed rows: the tensors that each operation reads."""
    out_start: NDArray[np.int64]
    out_tensor: NDArray[np.int64]
    """Compressed rows: the tensors that each operation produces."""
    use_start: NDArray[np.int64]
    consumer: NDArray[np.int64]
    """Compressed rows: the operations that read each tensor."""
    size: NDArray[np.int64]
    """int64[tensors]: bytes."""
    alias: NDArray[np.int64]
    """int64[tensors]: the tensor whose buffer is shared, or -1."""
    latency: NDArray[np.float64]
    bandwidth: NDArray[np.float64]
    """float64[devices, devices]: of the link, in seconds and bytes per second."""
    channel: NDArray[np.int64]
    """int64[devices, devices]: where the bytes of a pair are counted."""


class Work(NamedTuple):
    """Scratch and results of one step."""

    uses: NDArray[np.int64]
    """int64[tensors * devices]: readers and transfers that a tensor on a device waits for."""
    owner: NDArray[np.int64]
    """int64[tensors * devices]: the tensor on this device whose buffer it has."""
    sharers: NDArray[np.int64]
    """int64[tensors * devices]: tensors in its buffer."""
    used: NDArray[np.int64]
    peak: NDArray[np.int64]
    busy: NDArray[np.int64]
    """int64[devices]."""
    moved: NDArray[np.int64]
    """int64[channels]."""


def flatten(problem: Problem) -> Flat:
    """The arrays of a problem; InputError if a step could take longer than can be counted."""
    graph, machine = problem.graph, problem.machine
    tensors, consumers = graph.edges
    in_start, in_tensor = csr(consumers, tensors, graph.n_ops)
    out_start, out_tensor = graph.outputs
    shape = (machine.n_devices, machine.n_devices)
    latency, bandwidth = np.zeros(shape), np.ones(shape)
    for pair, link in machine.link_of.items() if machine.n_devices > 1 else ():
        latency[pair], bandwidth[pair] = link.latency, link.bandwidth

    duration = nanoseconds(problem.seconds)
    longest = one_by_one(duration)
    if machine.n_devices > 1:
        links, moved = machine.link_of.values(), graph.tensor_bytes[tensors].astype(np.float64)
        longest += len(moved) * (1 + 1e9 * max(link.latency for link in links))
        longest += 1e9 * float(moved.sum()) / min(link.bandwidth for link in links)
    check_longest(problem, longest)

    def whole(values: Ints) -> NDArray[np.int64]:
        # A copy: read-only arrays are a type of their own to the compiler.
        return np.array(values, np.int64)

    return Flat(
        duration=duration,
        persistent=whole(graph.persistent_bytes),
        in_start=whole(in_start),
        in_tensor=whole(in_tensor),
        out_start=whole(out_start),
        out_tensor=whole(out_tensor),
        use_start=whole(graph.consumer_offsets),
        consumer=whole(graph.consumers),
        size=whole(graph.tensor_bytes),
        alias=whole(graph.alias_of),
        latency=latency,
        bandwidth=bandwidth,
        channel=whole(channels_of(machine, HETERO)[1]),
    )


def workspace(problem: Problem) -> Work:
    """Scratch for a problem."""
    devices = problem.machine.n_devices
    channels = len(channels_of(problem.machine, HETERO)[0])
    lengths = [problem.graph.n_tensors * devices] * 3 + [devices] * 3 + [channels]
    return Work(*(np.zeros(length, np.int64) for length in lengths))


@inline
def _take(w: Work, instance: int, device: int, size: int) -> None:
    """Give a tensor on a device a buffer of its own."""
    w.owner[instance] = instance
    w.sharers[instance] = 1
    w.used[device] += size
    w.peak[device] = max(w.peak[device], w.used[device])


@inline
def _done(flat: Flat, w: Work, instance: int, device: int) -> None:
    """Free the buffer if nobody else shares it."""
    owner = w.owner[instance]
    w.sharers[owner] -= 1
    if w.sharers[owner] == 0:
        w.used[device] -= flat.size[owner // len(w.used)]


def step(flat: Flat, w: Work, devices: NDArray[np.int32]) -> int:
    """Nanoseconds of a step, with the operations on ``devices``, int32[ops]; the rest is in w."""
    count = len(w.used)
    w.uses[:] = 0
    w.used[:] = 0
    w.busy[:] = 0
    w.moved[:] = 0
    for op in range(len(devices)):
        w.used[devices[op]] += flat.persistent[op]
    for device in range(count):
        w.peak[device] = w.used[device]
    now = 0
    for op in range(len(devices)):
        here = devices[op]
        outputs = range(flat.out_start[op], flat.out_start[op + 1])
        for position in outputs:
            tensor = flat.out_tensor[position]
            mine = tensor * count + here
            shared = flat.alias[tensor]
            if shared >= 0:
                w.owner[mine] = w.owner[shared * count + here]
                w.sharers[w.owner[mine]] += 1
            else:
                _take(w, mine, here, flat.size[tensor])
            for use in range(flat.use_start[tensor], flat.use_start[tensor + 1]):
                there = devices[flat.consumer[use]]
                if there != here and w.uses[tensor * count + there] == 0:
                    w.uses[mine] += 1
                w.uses[tensor * count + there] += 1
        now += flat.duration[op, here]
        w.busy[here] += flat.duration[op, here]
        for position in range(flat.in_start[op], flat.in_start[op + 1]):
            mine = flat.in_tensor[position] * count + here
            w.uses[mine] -= 1
            if w.uses[mine] == 0:
                _done(flat, w, mine, here)
        for position in outputs:
            mine = flat.out_tensor[position] * count + here
            if w.uses[mine] == 0:
                _done(flat, w, mine, here)
        for position in outputs:
            tensor = flat.out_tensor[position]
            size = flat.size[tensor]
            for there in range(count):
                if there == here or w.uses[tensor * count + there] == 0:
                    continue
                _take(w, tensor * count + there, there, size)
                seconds = flat.latency[here, there] + size / flat.bandwidth[here, there]
                now += max(1, np.int64(np.rint(1e9 * seconds)))
                w.moved[flat.channel[here, there]] += size
                w.uses[tensor * count + here] -= 1
                if w.uses[tensor * count + here] == 0:
                    _done(flat, w, tensor * count + here, here)
    return now


simulate = lean_kernel(step)
