"""The simulator's executable specification: docs/simulator.md in plain Python, slow and clear."""

from __future__ import annotations

import heapq

import numpy as np

from suite.core.arrays import Ints
from suite.core.problem import Problem
from suite.simulator.channels import channels_of
from suite.simulator.durations import nanoseconds, run_order
from suite.simulator.lanes import at_once, lanes_of
from suite.simulator.placed import Placed
from suite.simulator.reference_memory import Outputs, Tensors
from suite.simulator.result import StepResult, check_policy, own_policy
from suite.simulator.semantics import PLACEBENCH, Semantics

OPERATION, TRANSFER, REST, TRAIL, HELD = range(5)
"""What can end."""
SENDER, RECEIVER = range(2)


def simulate(
    problem: Problem, devices: Ints, policy: str | None = None, semantics: Semantics = PLACEBENCH
) -> StepResult:
    """Simulate one training step with operation i on device ``devices[i]``."""
    policy = policy or own_policy(problem.machine, semantics)
    check_policy(policy, semantics)
    return _Step(problem, devices, policy, semantics).run()


class _Step:
    def __init__(self, problem: Problem, devices: Ints, policy: str, rules: Semantics) -> None:
        self.problem, self.rules = problem, rules
        self.graph, self.machine = problem.graph, problem.machine
        self.placed = Placed(problem, devices, rules)
        self.at = self.placed.at
        self.memory = (Outputs if rules.blocks else Tensors)(self.placed)
        self.duration = nanoseconds(problem.seconds)
        self.rank = run_order(self.graph, self.duration, policy).tolist()
        self.policy = policy
        self.missing = [len(tensors) for tensors in self.placed.inputs]
        n = self.machine.n_devices
        self.ready: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        self.joined = 0
        self.lane_device = [
            d for d, n in enumerate(lanes_of(self.machine, rules)) for _ in range(n)
        ]
        self.running: list[int | None] = [None] * len(self.lane_device)
        self.computing, self.computing_since = [0] * n, [0] * n
        self.at_once = at_once(self.machine, rules)
        self.waiting: list[int] = []
        self.requests: list[tuple[int, int, list[int]]] = []
        self.names, self.first, self.second = channels_of(self.machine, rules)
        self.held = [False] * len(self.names)
        self.occupied = rules.of_machine and self.machine.occupied
        self.owed = [0] * n
        self.device_free, self.channel_free = [0] * n, [0] * n
        self.events: list[tuple[int, int, int, int]] = []
        self.now = 0
        self.busy = [0] * n
        self.moved = [0] * len(self.names)

    def run(self) -> StepResult:
        self.join([op for op in range(self.graph.n_ops) if not self.missing[op]], remote_ready=True)
        self.start_all()
        while self.events:
            self.now, _, index, what = heapq.heappop(self.events)
            if what == OPERATION:
                self.end_operation(index)
            elif what == TRANSFER:
                self.end_transfer(index)
            elif what == REST:
                self.rest(index, 0)
            else:  # of what trails an arrival, or of a channel where several things happen at once
                self.hold(index, False)
            self.start_all()
        peak = np.array(self.memory.peak, np.int64)
        return StepResult(
            nanoseconds=self.now,
            busy=np.array(self.busy, np.int64),
            peak_memory=peak,
            moved=np.array(self.moved, np.int64),
            oom=self.rules.full(peak, self.machine.memory),
        )

    def after(self, wait: int, what: int, index: int) -> None:
        """Plan an event; at one time, those of lanes go before those of transfers, by index."""
        order = 2 if what == HELD else int(what in (TRANSFER, TRAIL))
        heapq.heappush(self.events, (self.now + wait, order, index, what))

    def end_operation(self, lane: int) -> None:
        op, device = self.running[lane], self.lane_device[lane]
        assert op is not None
        self.computing[device] -= 1
        if not self.computing[device]:
            self.busy[device] += self.now - self.computing_since[device]
        self.memory.ended(op)
        before = len(self.requests)
        if not self.rules.booked:
            self.request_all(op)
        rest = round(1e9 * self.rules.rest) if self.problem.seconds[op, device] else 0
        if self.occupied:
            rest += sum(self.occupancy(n, SENDER) for n in range(before, len(self.requests)))
        self.rest(lane, rest)
        self.deliver(self.placed.outputs[op], [device], remote_ready=False)

    def rest(self, lane: int, rest: int) -> None:
        """Pause for this long and for what arrivals demand, or be idle."""
        device = self.lane_device[lane]
        rest += self.owed[device]
        self.owed[device] = 0
        if rest:
            self.after(rest, REST, lane)
        else:
            self.running[lane] = None

    def idle_lanes(self, device: int) -> list[int]:
        lanes = range(len(self.running))
        return [i for i in lanes if self.lane_device[i] == device and self.running[i] is None]

    def occupancy(self, number: int, side: int) -> int:
        """Nanoseconds for which a transfer keeps one of its ends from computing."""
        tensor, source, targets = self.requests[number]
        ends = self.machine.link_of[source, targets[0]].occupancy
        return round(1e9 * (ends[side] + self.placed.size[tensor] * ends[2]))

    def request_all(self, op: int) -> None:
        for tensor in self.placed.outputs[op]:
            targets = self.placed.targets(tensor)
            for group in [targets] if self.rules.broadcast else [[t] for t in targets]:
                if group:
                    self.memory.requested(tensor, group[0])
                    self.waiting.append(len(self.requests))
                    self.requests.append((tensor, self.at[op], group))

    def end_transfer(self, number: int) -> None:
        tensor, source, targets = self.requests[number]
        if self.rules.trailing_latency:
            latency = max(self.machine.link_of[pair].latency for pair in self.pairs(number))
            self.after(round(1e9 * latency), TRAIL, number)
        elif not self.rules.booked and not self.at_once and not self.without_copy(number):
            self.hold(number, False)
        self.memory.arrived(tensor, source)
        self.deliver([tensor], targets, remote_ready=True)
        if self.occupied and not self.idle_lanes(targets[0]):
            self.owed[targets[0]] += self.occupancy(number, RECEIVER)

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """Links used: a broadcast goes at the slowest of its sender's."""
        _, source, targets = self.requests[number]
        n = range(self.machine.n_devices)
        return [(source, t) for t in (n if self.rules.broadcast else targets) if t != source]

    def deliver(self, tensors: list[int], devices: list[int], *, remote_ready: bool) -> None:
        """The tensors are on these devices now: operations whose last input this was are ready."""
        ready = set()
        for tensor in tensors:
            for op in self.placed.readers[tensor]:
                if self.at[op] in devices:
                    self.missing[op] -= 1
                    if not self.missing[op]:
                        ready.add(op)
        self.join(sorted(ready), remote_ready=remote_ready)

    def join(self, ops: list[int], *, remote_ready: bool) -> None:
        """``remote_ready``: made ready by a transfer, or from the beginning."""
        for op in ops:
            self.joined += 1
            key = self.rank[op] if self.policy == "priority" else self.joined
            if self.policy == "stack" and not remote_ready:
                key = -key
            heapq.heappush(self.ready[self.at[op]], (key, op))
            if self.rules.booked:
                self.book(op)

    def book(self, op: int) -> None:
        """Send all outputs from when it will end: queues are first come, first served."""
        source = self.at[op]
        end = max(self.now, self.device_free[source]) + int(self.duration[op, source])
        self.device_free[source] = end
        for tensor in self.placed.outputs[op]:
            for target in self.placed.targets(tensor):
                number = len(self.requests)
                self.requests.append((tensor, source, [target]))
                cost = self.transfer_time(number)
                sent = max(end, self.channel_free[source])
                self.channel_free[source] = sent + cost
                received = max(sent, self.channel_free[target])
                self.channel_free[target] = received + cost
                self.after(received + cost - self.now, TRANSFER, number)
                self.count(number)

    def start_all(self) -> None:
        for device, queue in enumerate(self.ready):
            for lane in self.idle_lanes(device)[: len(queue)]:
                self.start_operation(heapq.heappop(queue)[1], lane)
        for number in list(self.waiting):
            if self.without_copy(number):
                self.after(1, TRANSFER, number)
                self.waiting.remove(number)
            elif not any(self.held[c] for c in self.channels(number)):
                self.start_transfer(number)
                self.waiting.remove(number)

    def start_operation(self, op: int, lane: int) -> None:
        device = self.lane_device[lane]
        self.running[lane] = op
        if not self.computing[device]:
            self.computing_since[device] = self.now
        self.computing[device] += 1
        self.after(int(self.duration[op, device]), OPERATION, lane)
        self.memory.started(op)

    def start_transfer(self, number: int) -> None:
        self.hold(number, True)
        waits = self.scheduling(number)
        self.after(self.transfer_time(number) + waits, TRANSFER, number)
        if self.at_once:
            link = self.machine.link_of[self.pairs(number)[0]]
            waits = 0 if link.held < link.latency else waits
            self.after(self.transfer_time(number, held=True) + waits, HELD, number)
        self.count(number)

    def transfer_time(self, number: int, *, held: bool = False) -> int:
        """Nanoseconds until it arrives, or for which it is ``held`` by its channel."""
        if self.rules.free:
            return 0
        links = [self.machine.link_of[pair] for pair in self.pairs(number)]
        latency = max(link.held if held else link.latency for link in links)
        latency = 0.0 if self.rules.trailing_latency else latency
        size = self.placed.size[self.requests[number][0]]
        seconds = latency + size / min(link.bandwidth for link in links)
        return int(nanoseconds(np.array(seconds)))

    def scheduling(self, number: int) -> int:
        """Nanoseconds for which it waits for a core of its sender, where that computes on."""
        _, source, targets = self.requests[number]
        if not self.occupied or not (self.computing[source] or self.ready[source]):
            return 0
        return round(1e9 * self.machine.link_of[source, targets[0]].scheduling_latency)

    def without_copy(self, number: int) -> bool:
        """Whether a tensor is in host memory, and its new readers are of the same process."""
        tensor, _, _ = self.requests[number]
        return self.rules.of_machine and bool(self.problem.handed_on[tensor])

    def channels(self, number: int) -> list[int]:
        _, source, targets = self.requests[number]
        both = int(self.first[source, targets[0]]), int(self.second[source, targets[0]])
        return [channel for channel in both if channel >= 0]

    def count(self, number: int) -> None:
        for channel in self.channels(number):
            self.moved[channel] += self.placed.size[self.requests[number][0]]

    def hold(self, number: int, value: bool) -> None:
        for channel in self.channels(number):
            self.held[channel] = value
