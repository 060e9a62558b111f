"""A problem as the flat arrays that the compiled simulator walks over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suite.core.problem import Problem
from suite.simulator.compiled.flat_graph import FlatGraph, flat_graph
from suite.simulator.compiled.links import FlatLinks, flat_links
from suite.simulator.durations import check_longest, one_by_one
from suite.simulator.lanes import at_once
from suite.simulator.semantics import PLACEBENCH, Semantics


class Layout(NamedTuple):
    """All that a simulation reads."""

    graph: FlatGraph
    links: FlatLinks
    fifo: bool
    stack: bool
    """The policy; ``priority`` if neither. Known at run time only, to compile fewer kernels."""
    rank_bits: int
    """Low bits of an event key that hold the device or the request number; 0: they are apart."""


def layout(problem: Problem, policy: str, semantics: Semantics = PLACEBENCH) -> Layout:
    """Flatten a problem; InputError if a step could take longer than event keys can say."""
    graph = flat_graph(problem, policy, semantics)
    return Layout(
        graph=graph,
        links=flat_links(problem.machine, semantics),
        fifo=policy == "fifo",
        stack=policy == "stack",
        rank_bits=_rank_bits(problem, graph, semantics),
    )


def _rank_bits(problem: Problem, graph: FlatGraph, semantics: Semantics) -> int:
    """Bits for every number of a lane or request, if the rest holds the longest step there is:
    all operations one after the other, each where it is slowest, then all transfers.
    """
    duration, n = graph.duration, problem.machine.n_devices
    moved = np.repeat(graph.size, np.diff(graph.use_start))
    # Where they may be several at once, each transfer has a second number: of its hold's end.
    numbers = 2 if at_once(problem.machine, semantics) else 1
    bits = int(len(graph.lane_device) + numbers * len(moved) + 1).bit_length()
    longest = one_by_one(duration)
    longest += 1e9 * semantics.rest * len(duration)
    if n > 1:
        links = problem.machine.link_of.values()
        latency = max(link.latency + link.scheduling_latency for link in links)
        slowest = min(link.bandwidth for link in links)
        transfers = 1e9 * (latency * len(moved) + float(moved.sum()) / slowest) + len(moved)
        longest += (2 if semantics.booked else 1) * transfers
        sends, receives, copies = np.max([link.occupancy for link in links], axis=0)
        longest += 1e9 * ((sends + receives) * len(moved) + 2 * copies * float(moved.sum()))
    check_longest(problem, longest)
    return bits if longest < 2.0 ** (63 - bits) else 0
