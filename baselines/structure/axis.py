"""The order of a role's members along what repeats: time steps, blocks, towers.

Each role is ordered by how deep in the graph its members lie. Roles whose members are joined one to
one then share an axis: backward operations run against it, and a role that lacks a first member
begins one later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

from baselines.structure.depth import depths
from baselines.structure.roles import REPEATS
from suite.core.arrays import Bools, Floats, Ints
from suite.core.graph import OpGraph
from suite.simulator.longest_path import longest_paths

Positions = NDArray[np.int64]
_AGREES = 0.8
"""Share of the edges between two roles that must join members at one distance on the axis."""
_PASSES = 8
"""How many edges away from an axis those are that get their position from their neighbours."""


class Axis(NamedTuple):
    """Where each operation lies."""

    step: Positions
    """int64[ops]: position along its axis, from 0."""
    number: Positions
    """int64[ops]: which axis; operations of two axes have nothing in step."""


class _Links(NamedTuple):
    """Pairs of roles that go in step: member k of ``first`` with ``sign * k + offset``."""

    first: Ints
    second: Ints
    sign: Ints
    offset: Ints
    edges: Ints


def find_axis(graph: OpGraph, roles: Ints) -> Axis:
    """Order the members of every role, int64[ops], and bring those that are linked in step."""
    count = int(roles.max(initial=-1)) + 1
    sizes = np.bincount(roles, minlength=count)
    depth = depths(graph)
    rank = _ranks(roles, depth, longest_paths(graph, np.ones(graph.n_ops, np.int64)))
    tensors, consumers = graph.edges
    ends = graph.producer[tensors].astype(np.int64), consumers.astype(np.int64)
    links = _links(roles, rank, sizes, ends)
    number, sign, offset = _in_step(links, sizes, count)
    step = sign[roles] * rank + offset[roles]
    # What reads nothing lies where its reader does: its own depth says nothing.
    known = (sizes[roles] >= REPEATS) & (depth > 0)
    axis = number[roles]
    step = step * _direction(axis, step, depth, known)
    _from_neighbours(step, axis, known, ends)
    lowest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(lowest, axis, step)
    return Axis(step - lowest[axis], axis)


def _ranks(roles: Ints, depth: Positions, left: Positions) -> Positions:
    """int64[ops]: place among the members of its role, by depth or by what is left after it.

    What tells more members apart decides: all look-ups of an embedding are equally deep.
    """
    fine = [_distinct(roles, key) for key in (depth, -left)]
    deep = (fine[0] >= fine[1])[roles]
    first, second = np.where(deep, depth, -left), np.where(deep, -left, depth)
    order = np.lexsort((second, first, roles))
    rank = np.empty(len(roles), np.int64)
    starts = np.searchsorted(roles[order], roles[order])
    rank[order] = np.arange(len(roles)) - starts
    return rank


def _distinct(roles: Ints, key: Ints) -> Positions:
    """int64[roles]: how many values of ``key`` each role has."""
    pairs = np.unique(np.stack([roles, key]), axis=1)
    return np.bincount(pairs[0], minlength=int(roles.max(initial=-1)) + 1)


def _links(roles: Ints, rank: Positions, sizes: Ints, ends: tuple[Ints, Ints]) -> _Links:
    """Find the pairs of long roles most of whose edges join members at one distance."""
    long = (sizes >= REPEATS)[roles]
    sources, targets = ends
    kept = long[sources] & long[targets] & (roles[sources] != roles[targets])
    sources, targets = sources[kept], targets[kept]
    count = len(sizes)
    keys, pair, edges = np.unique(
        roles[sources] * count + roles[targets], return_inverse=True, return_counts=True
    )
    best = np.zeros((2, len(keys)), np.int64)
    offset = np.zeros((2, len(keys)), np.int64)
    for row, sign in enumerate((1, -1)):
        between = rank[targets] - sign * rank[sources]
        best[row], offset[row] = _modes(pair, between, len(keys))
    row = np.argmax(best, axis=0)
    which = np.arange(len(keys))
    agree = best[row, which]
    kept_pairs = (agree >= _AGREES * edges) & (agree >= REPEATS)
    first, second = np.divmod(keys, count)
    turn, shift = np.where(row == 0, 1, -1), offset[row, which]
    # Seen from the lower number: rank[first] is turn * (rank[second] - shift).
    swapped = first > second
    shift = np.where(swapped, -turn * shift, shift)
    first, second = np.minimum(first, second), np.maximum(first, second)
    # Of a pair linked both ways, the way with the more edges: a step's end is read in the next one.
    order = np.lexsort((np.abs(shift), -agree, second, first))
    order = order[kept_pairs[order]]
    best_of_pair = np.unique(np.stack([first, second])[:, order], axis=1, return_index=True)[1]
    chosen = order[best_of_pair]
    return _Links(*(values[chosen] for values in (first, second, turn, shift, agree)))


def _modes(keys: Ints, values: Ints, count: int) -> tuple[Positions, Positions]:
    """How often the most frequent value of each key occurs, and that value: int64[count] each."""
    pairs, times = np.unique(np.stack([keys, values]), axis=1, return_counts=True)
    order = np.lexsort((-times, pairs[0]))
    most, mode = np.zeros(count, np.int64), np.zeros(count, np.int64)
    firsts = np.unique(pairs[0][order], return_index=True)[1]
    most[pairs[0][order][firsts]] = times[order][firsts]
    mode[pairs[0][order][firsts]] = pairs[1][order][firsts]
    return most, mode


def _in_step(links: _Links, sizes: Ints, count: int) -> tuple[Positions, Positions, Positions]:
    """Axis, sign and offset of every role: int64[roles] each.

    They follow the links along a spanning tree of those with the most edges.
    """
    cost = coo_array((-links.edges.astype(float), (links.first, links.second)), (count, count))
    tree = minimum_spanning_tree(cost.tocsr())
    number = connected_components(tree, directed=False)[1].astype(np.int64)
    sign, offset = np.ones(count, np.int64), np.zeros(count, np.int64)
    pairs = zip(links.first.tolist(), links.second.tolist(), strict=True)
    link_of = {pair: at for at, pair in enumerate(pairs)}
    # The longest role of each axis is where it begins.
    order = np.lexsort((-sizes, number))
    roots = order[np.unique(number[order], return_index=True)[1]]
    for root in roots[np.bincount(number)[number[roots]] > 1].tolist():
        reached, before = breadth_first_order(tree, root, directed=False)
        for role in reached[1:].tolist():
            parent = int(before[role])
            at = link_of[min(role, parent), max(role, parent)]
            turn, shift = int(links.sign[at]), int(links.offset[at])
            if role < parent:
                shift = -turn * shift
            sign[role] = sign[parent] * turn
            offset[role] = offset[parent] - sign[role] * shift
    return number, sign, offset


def _direction(axis: Ints, step: Positions, depth: Positions, known: Bools) -> Positions:
    """int64[ops], 1 or -1: turn each axis the way its shallower half runs, the forward pass."""
    count = int(axis.max(initial=-1)) + 1
    early = known & (depth <= _means(axis, depth, known, count)[axis])
    from_middle = step - _means(axis, step, early, count)[axis]
    deeper = depth - _means(axis, depth, early, count)[axis]
    together = np.bincount(axis[early], (from_middle * deeper)[early], minlength=count)
    return np.where(together < 0, -1, 1)[axis].astype(np.int64)


def _means(keys: Ints, values: Ints, counted: Bools, count: int) -> Floats:
    """float64[count]: the mean of the counted values of each key."""
    number = np.bincount(keys[counted], minlength=count)
    return np.bincount(keys[counted], values[counted], minlength=count) / np.maximum(1, number)


def _from_neighbours(
    step: Positions, axis: Positions, known: Bools, ends: tuple[Ints, Ints]
) -> None:
    """Put what has no place of its own beside its neighbours, in place: their least step."""
    here, there = np.concatenate([ends[0], ends[1]]), np.concatenate([ends[1], ends[0]])
    for _ in range(_PASSES):
        open_ = ~known[here] & known[there]
        if not open_.any():
            return
        order = np.lexsort((step[there[open_]], axis[there[open_]], here[open_]))
        ops, firsts = np.unique(here[open_][order], return_index=True)
        beside = there[open_][order][firsts]
        step[ops], axis[ops] = step[beside], axis[beside]
        known[ops] = True
