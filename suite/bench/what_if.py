"""What the same placement would take on other machines: simulated, each exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from suite.core.arrays import Ints
from suite.core.machine import Link, Machine
from suite.core.problem import Problem
from suite.core.uncertainty import LinkSpread, Spread
from suite.search.drawn_machines import drawn
from suite.simulator.judges import make_simulator
from suite.simulator.semantics import Semantics

TWICE = 2.0
FREE = 1e12
"""So many times as fast is no time at all. Not infinitely, so that a link still has what it has
besides, such as a gap: a simulator without those would have to be compiled."""
OFF = 0.05
"""Relative standard deviation of operations' times, by which a placement is tried."""
DRAWS = 8


@dataclass(frozen=True)
class Outcome:
    """One change of the machine, and the step that comes of it."""

    change: str
    step_time: float
    """Seconds."""


def faster_parts(
    problem: Problem, devices: Ints, semantics: Semantics, policy: str | None = None
) -> list[Outcome]:
    """Each device that computes, and each link that sends, at twice its speed; free transfers.

    ``devices`` is int[ops]. Shortest step first. A step may become longer by something faster:
    operations then run in another order (Graham, 1969).
    """
    devices = np.asarray(devices, np.int32)
    found = [
        Outcome(change, make_simulator(other, semantics, policy).run(devices).step_time)
        for change, other in _faster_parts(problem, devices)
    ]
    return sorted(found, key=lambda one: one.step_time)


def times_off(problem: Problem, share: float = OFF, draws: int = DRAWS) -> Iterator[Problem]:
    """The problem with each operation's time off at random, by itself, so often.

    Each is multiplied by exp(share z), z standard normal, one for each kind of device; links are as
    they are. The same draws for the same problem.
    """
    machine, operations = problem.machine, np.full(problem.graph.n_ops, share)
    spread = Spread(
        {device.name: 0.0 for device in machine.devices},
        {(link.source, link.target): LinkSpread(0.0, 0.0, 0.0, 0.0) for link in machine.links},
        {device.kind: operations for device in machine.devices},
    )
    return (drawn(problem, spread, number) for number in range(draws))


def _faster_parts(problem: Problem, devices: Ints) -> Iterator[tuple[str, Problem]]:
    """Words for each change, and the problem with it."""
    machine = problem.machine
    for index in np.unique(devices).tolist():
        seconds = problem.seconds.copy()
        seconds[:, index] /= TWICE
        yield f"{machine.devices[index].name} twice as fast", replace(problem, seconds=seconds)
    used = _links_used(problem, devices)
    for link in used:
        changed = _with_links(machine, {link: _faster(link, TWICE)})
        yield f"{_called(link)} twice as fast", replace(problem, machine=changed)
    if used:
        free = _with_links(machine, {link: _faster(link, FREE) for link in used})
        yield "transfers that take no time", replace(problem, machine=free)


def _links_used(problem: Problem, devices: Ints) -> list[Link]:
    """The machine's links that this placement sends anything over, in the machine's order."""
    tensors, readers = problem.graph.edges
    ends = np.stack([devices[problem.graph.producer[tensors]], devices[readers]])
    pairs = np.unique(ends[:, ends[0] != ends[1]], axis=1).T.tolist()
    over = {problem.machine.link_of[source, target] for source, target in pairs}
    return [link for link in problem.machine.links if link in over]


def _with_links(machine: Machine, new: dict[Link, Link]) -> Machine:
    return replace(machine, links=tuple(new.get(link, link) for link in machine.links))


def _faster(link: Link, times: float) -> Link:
    """The link with all that takes time divided by so much."""
    return replace(
        link,
        bandwidth=link.bandwidth * times,
        latency=link.latency / times,
        gap=None if link.gap is None else link.gap / times,
        send_overhead=link.send_overhead / times,
        receive_overhead=link.receive_overhead / times,
        copy_bandwidth=link.copy_bandwidth * times,
        scheduling_latency=link.scheduling_latency / times,
    )


def _called(link: Link) -> str:
    if link.source is None and link.target is None:
        return "transfers"
    return f"transfers from {link.source or 'any device'} to {link.target or 'any device'}"
