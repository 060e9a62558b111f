"""The simulator's executable specification: docs/simulator.md in plain Python, slow and clear."""

from __future__ import annotations

import heapq
from collections import defaultdict

import numpy as np

from suite.arrays import Ints
from suite.problem import Problem
from suite.simulator.durations import nanoseconds, run_order
from suite.simulator.result import StepResult

Instance = tuple[int, int]
"""A tensor on a device: the original on its producer's, a copy elsewhere."""


def simulate(problem: Problem, devices: Ints, policy: str = "fifo") -> StepResult:
    """Simulate one training step with operation i on device ``devices[i]``."""
    return _Step(problem, devices, policy).run()


class _Memory:
    """Buffers by reference count; peaks per device."""

    def __init__(self, resident: list[int]) -> None:
        self.used = resident
        self.peak = list(resident)
        self.buffer: dict[Instance, Instance] = {}
        self.sharers: dict[Instance, int] = defaultdict(int)
        self.size: dict[Instance, int] = {}

    def allocate(self, instance: Instance, size: int) -> None:
        device = instance[1]
        self.buffer[instance] = instance
        self.sharers[instance] = 1
        self.size[instance] = size
        self.used[device] += size
        self.peak[device] = max(self.peak[device], self.used[device])

    def share(self, instance: Instance, other: Instance) -> None:
        buffer = self.buffer[other]
        self.buffer[instance] = buffer
        self.sharers[buffer] += 1

    def done(self, instance: Instance) -> None:
        buffer = self.buffer[instance]
        self.sharers[buffer] -= 1
        if not self.sharers[buffer]:
            self.used[buffer[1]] -= self.size[buffer]


class _Step:
    def __init__(self, problem: Problem, devices: Ints, policy: str) -> None:
        graph, machine = problem.graph, problem.machine
        self.problem, self.graph, self.machine = problem, graph, machine
        self.at = [int(d) for d in devices]
        self.duration = nanoseconds(problem.seconds)
        self.rank = run_order(graph, self.duration, policy).tolist()
        self.fifo = policy == "fifo"
        self.inputs: list[list[int]] = [[] for _ in range(graph.n_ops)]
        self.outputs: list[list[int]] = [[] for _ in range(graph.n_ops)]
        self.readers: list[list[int]] = [[] for _ in range(graph.n_tensors)]
        for tensor, consumer in zip(*graph.edges, strict=True):
            self.inputs[consumer].append(int(tensor))
            self.readers[tensor].append(int(consumer))
        for tensor, op in enumerate(graph.producer):
            self.outputs[op].append(tensor)
        self.missing = [len(tensors) for tensors in self.inputs]
        self.uses: dict[Instance, int] = {}
        resident = [0] * machine.n_devices
        for op, size in enumerate(graph.persistent_bytes):
            resident[self.at[op]] += int(size)
        self.memory = _Memory(resident)
        self.ready: list[list[tuple[int, int]]] = [[] for _ in range(machine.n_devices)]
        self.joined = 0
        self.running = [-1] * machine.n_devices
        self.waiting: list[int] = []
        self.requests: list[tuple[int, int, int]] = []
        self.names, self.first, self.second = machine.channels
        self.occupied = [False] * len(self.names)
        self.events: list[tuple[int, int, int]] = []
        self.now = 0
        self.busy = [0] * machine.n_devices
        self.moved = [0] * len(self.names)

    def run(self) -> StepResult:
        self.join([op for op in range(self.graph.n_ops) if not self.missing[op]])
        self.start_all()
        while self.events:
            self.now, kind, index = heapq.heappop(self.events)
            if kind == 0:
                self.end_operation(index)
            else:
                self.end_transfer(index)
            self.start_all()
        peak = np.array(self.memory.peak, np.int64)
        return StepResult(
            nanoseconds=self.now,
            busy=np.array(self.busy, np.int64),
            peak_memory=peak,
            moved=np.array(self.moved, np.int64),
            oom=peak > self.machine.memory,
        )

    def end_operation(self, device: int) -> None:
        op = self.running[device]
        self.running[device] = -1
        for tensor in self.inputs[op]:
            self.used(tensor, device)
        for tensor in self.outputs[op]:
            if not self.uses[tensor, device]:
                self.memory.done((tensor, device))
        for tensor in self.outputs[op]:
            for target in self.targets(tensor):
                self.request(tensor, device, target)
        self.deliver(self.outputs[op], device)

    def end_transfer(self, number: int) -> None:
        tensor, source, target = self.requests[number]
        self.hold(source, target, False)
        self.used(tensor, source)
        self.deliver([tensor], target)

    def used(self, tensor: int, device: int) -> None:
        """One consumer or transfer is finished with the tensor on this device."""
        self.uses[tensor, device] -= 1
        if not self.uses[tensor, device]:
            self.memory.done((tensor, device))

    def deliver(self, tensors: list[int], device: int) -> None:
        """The tensors are on this device now: operations whose last input this was are ready."""
        ready = set()
        for tensor in tensors:
            for op in self.readers[tensor]:
                if self.at[op] == device:
                    self.missing[op] -= 1
                    if not self.missing[op]:
                        ready.add(op)
        self.join(sorted(ready))

    def join(self, ops: list[int]) -> None:
        for op in ops:
            key = self.joined if self.fifo else self.rank[op]
            heapq.heappush(self.ready[self.at[op]], (key, op))
            self.joined += 1

    def targets(self, tensor: int) -> list[int]:
        home = self.at[self.graph.producer[tensor]]
        return sorted({self.at[op] for op in self.readers[tensor]} - {home})

    def readers_on(self, tensor: int, device: int) -> int:
        return sum(self.at[op] == device for op in self.readers[tensor])

    def request(self, tensor: int, source: int, target: int) -> None:
        self.memory.allocate((tensor, target), int(self.graph.tensor_bytes[tensor]))
        self.uses[tensor, target] = self.readers_on(tensor, target)
        self.waiting.append(len(self.requests))
        self.requests.append((tensor, source, target))

    def start_all(self) -> None:
        for device, queue in enumerate(self.ready):
            if queue and self.running[device] < 0:
                self.start_operation(heapq.heappop(queue)[1], device)
        for number in list(self.waiting):
            _, source, target = self.requests[number]
            if self.free(source, target):
                self.start_transfer(number)
                self.waiting.remove(number)

    def start_operation(self, op: int, device: int) -> None:
        self.running[device] = op
        duration = int(self.duration[op, device])
        self.busy[device] += duration
        heapq.heappush(self.events, (self.now + duration, 0, device))
        for tensor in self.outputs[op]:
            shared = int(self.graph.alias_of[tensor])
            if shared >= 0:
                self.memory.share((tensor, device), (shared, device))
            else:
                self.memory.allocate((tensor, device), int(self.graph.tensor_bytes[tensor]))
            local = self.readers_on(tensor, device)
            self.uses[tensor, device] = local + len(self.targets(tensor))

    def start_transfer(self, number: int) -> None:
        tensor, source, target = self.requests[number]
        size = int(self.graph.tensor_bytes[tensor])
        seconds = np.array(self.machine.transfer_seconds(source, target, size))
        self.hold(source, target, True)
        heapq.heappush(self.events, (self.now + int(nanoseconds(seconds)), 1, number))
        for channel in self.channels(source, target):
            self.moved[channel] += size

    def channels(self, source: int, target: int) -> list[int]:
        both = int(self.first[source, target]), int(self.second[source, target])
        return [channel for channel in both if channel >= 0]

    def free(self, source: int, target: int) -> bool:
        return not any(self.occupied[c] for c in self.channels(source, target))

    def hold(self, source: int, target: int, value: bool) -> None:
        for channel in self.channels(source, target):
            self.occupied[channel] = value
