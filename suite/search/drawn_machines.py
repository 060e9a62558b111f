"""Machines drawn from the uncertainty of one.

No source: the distribution is ours. Every figure is multiplied by a factor exp(s z), z standard
normal and s its relative spread: the figure is the median of what is drawn, half as much is as
likely as twice as much, and nothing drawn is zero or negative.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suite.core.errors import InputError
from suite.core.machine import Link
from suite.core.problem import Problem
from suite.core.uncertainty import Spread


def drawn(problem: Problem, spread: Spread, number: int, seed: int = 0) -> Problem:
    """Machine ``number`` of those that a seed draws: the problem with its times and its links.

    The same problem, spread, number and seed give the same machine. What is drawn: a factor for
    each device, which all its operations take longer by; a factor for each operation and kind of
    device; one for each figure of each link. Memory stays, and so do the devices' peak figures,
    which no simulation reads. InputError where the spread leaves out a device or a link.
    """
    rng = np.random.default_rng([seed, number])
    machine = problem.machine
    seconds = np.array(problem.seconds)
    own = {kind: rng.standard_normal(len(seconds)) for kind in _kinds(problem)}
    for d, device in enumerate(machine.devices):
        if device.name not in spread.devices:
            raise InputError(f"machine {machine.name} has no spread of {device.name}; add it")
        whole = spread.devices[device.name]
        each = spread.operations.get(device.kind, np.full(len(seconds), np.nan))
        if len(each) != len(seconds):
            raise InputError(f"spread of {len(each)} operations for {len(seconds)}; measure again")
        each = np.where(np.isnan(each), whole, each)
        seconds[:, d] *= np.exp(whole * rng.standard_normal() + each * own[device.kind])
    links = tuple(_drawn_link(link, spread, machine.name, rng) for link in machine.links)
    return replace(problem, machine=replace(machine, links=links), seconds=seconds)


def _kinds(problem: Problem) -> list[str]:
    return list(dict.fromkeys(device.kind for device in problem.machine.devices))


def _drawn_link(link: Link, spread: Spread, machine: str, rng: np.random.Generator) -> Link:
    one = spread.links.get((link.source, link.target))
    if one is None:
        ends = f"{link.source or 'any'} -> {link.target or 'any'}"
        raise InputError(f"machine {machine} has no spread of the link {ends}; add it")
    shares = one.latency, one.bandwidth, one.overhead, one.overhead, one.copy_bandwidth
    factors = np.exp(np.array(shares) * rng.standard_normal(len(shares))).tolist()
    return replace(
        link,
        latency=link.latency * factors[0],
        gap=None if link.gap is None else link.gap * factors[0],
        scheduling_latency=link.scheduling_latency * factors[0],
        bandwidth=link.bandwidth * factors[1],
        send_overhead=link.send_overhead * factors[2],
        receive_overhead=link.receive_overhead * factors[3],
        copy_bandwidth=link.copy_bandwidth * factors[4],
    )
