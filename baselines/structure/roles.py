"""Roles: operations that play the same part, such as one product of a cell in every time step.

Colour refinement (Weisfeiler and Leman 1968), stopped after a few rounds: run to the end it would
tell every step of an unrolled network from every other by its distance to the first one.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.structure.depth import depths
from suite.core.arrays import Bools, Ints
from suite.core.graph import OpGraph
from suite.simulator.longest_path import longest_paths

Colours = NDArray[np.uint64]

ROUNDS = 3
"""How many edges away an operation's surroundings count."""
FAR = 8
"""How many edges away a hub may be to tell operations apart."""
REPEATS = 6
"""So many neighbours that look alike make a hub: more than the gates of a cell or the towers of a
block, fewer than the steps of an unrolled network."""
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)


def find_roles(graph: OpGraph, rounds: int = ROUNDS) -> Ints:
    """int64[ops]: operations of one number look alike and have the same hubs nearest to them.

    What is alike are types, bytes and shapes, ``rounds`` edges around; each kind of neighbour
    counts once, so that what stands at the end of an axis differs from the rest in few rounds only.
    The nearest hubs (:func:`hubs`) tell the cells of two layers apart, which look alike.
    """
    arcs, colours = _arcs(graph), _looks(graph)
    found = hubs(graph)
    label = np.zeros(graph.n_ops, np.uint64)
    label[found] = _mixed(_numbered(graph, found, colours))
    near = _mixed(_nearest(label, arcs))
    apart = near + _mixed(_beyond(near, arcs))
    seen = [colours]
    for _ in range(rounds):
        seen.append(_refined(seen[-1], arcs))
    coarse = [_mixed(colours) + label for label in (near, apart) for colours in seen]
    roles = np.unique(coarse.pop(), return_inverse=True)[1].astype(np.int64)
    for looks in reversed(coarse):
        _join(roles, looks)
    return np.asarray(np.unique(roles, return_inverse=True)[1], np.int64)


def _join(roles: NDArray[np.int64], seen: Colours) -> None:
    """Let few operations join the only long role that looks like them when seen less closely.

    The first and the last step of many look different only because nothing is beyond them.
    """
    long = (np.bincount(roles) >= REPEATS)[roles]
    looks, look = np.unique(seen, return_inverse=True)
    lowest = np.full(len(looks), len(roles), np.int64)
    highest = np.full(len(looks), -1, np.int64)
    np.minimum.at(lowest, look[long], roles[long])
    np.maximum.at(highest, look[long], roles[long])
    joins = ~long & (lowest == highest)[look]
    roles[joins] = lowest[look[joins]]


def _refined(colours: Colours, arcs: _Arcs) -> Colours:
    """Mix every operation's colour with those of its neighbours."""
    count = len(colours)
    read = _gathered(arcs.targets, _mixed(colours[arcs.sources] + arcs.looks), count)
    readers = _gathered(arcs.sources, _mixed(colours[arcs.targets] + arcs.looks), count)
    return _mixed(colours) + _mixed(read) + _mixed(_mixed(readers))


def _nearest(label: Colours, arcs: _Arcs) -> Colours:
    """uint64[ops]: the same for operations that have the same hubs nearest; 0 without any.

    ``label`` is 0 but for hubs. Which they are matters, not how far: at the ends of an axis a hub
    may be nearer.
    """
    reached = label > 0
    front = np.concatenate([arcs.sources, arcs.targets])
    beyond = np.concatenate([arcs.targets, arcs.sources])
    for _ in range(FAR):
        new = reached[front] & ~reached[beyond]
        if not new.any():
            break
        arrived = _gathered(beyond[new], label[front[new]], len(label))
        reached[beyond[new]] = True
        label = np.where(arrived > 0, arrived, label)
    return label


def _beyond(label: Colours, arcs: _Arcs) -> Colours:
    """uint64[ops]: the same for operations to which the same other labels are nearest.

    Where all layers of a step meet in one hub, that is nearest to many operations of each; what
    lies on their other side tells the layers apart.
    """
    same = label[arcs.sources] == label[arcs.targets]
    here = np.concatenate([arcs.sources[~same], arcs.targets[~same]])
    there = np.concatenate([arcs.targets[~same], arcs.sources[~same]])
    border = _gathered(here, _mixed(label[there]), len(label))
    return _nearest(border, _Arcs(arcs.sources[same], arcs.targets[same], arcs.looks[same]))


def _numbered(graph: OpGraph, found: Bools, looks: Colours) -> Colours:
    """Numbers of the hubs from 1, by looks and place: the same however operations are listed."""
    left = longest_paths(graph, np.ones(graph.n_ops, np.int64))
    keys = [key[found] for key in (left, depths(graph), looks)]
    number = np.empty(int(found.sum()), np.uint64)
    number[np.lexsort(keys)] = np.arange(1, len(number) + 1, dtype=np.uint64)
    return number


def hubs(graph: OpGraph) -> Bools:
    """bool[ops]: what at least REPEATS operations of one look read, and what reads as many.

    For example a weight that all time steps share, or the sum of its gradients. What is itself
    there more often than that is none: it repeats, as what all layers read in each time step does.
    """
    kinds = np.unique(_looks(graph), return_inverse=True)[1].astype(np.int64)
    sources, targets, _ = _arcs(graph)
    count = int(kinds.max(initial=0)) + 1
    shared = np.zeros(graph.n_ops, np.int64)
    for here, there in ((sources, targets), (targets, sources)):
        pairs, times = np.unique(here * count + kinds[there], return_counts=True)
        np.maximum.at(shared, pairs // count, times)
    found = shared >= REPEATS
    alike = np.bincount(kinds[found], minlength=count)[kinds]
    return np.asarray(found & (shared >= alike), np.bool_)


class _Arcs(NamedTuple):
    """Every edge, from producer to consumer."""

    sources: Ints
    targets: Ints
    looks: Colours
    """uint64[edges]: of the tensor."""


def _arcs(graph: OpGraph) -> _Arcs:
    tensors, consumers = graph.edges
    sources = graph.producer[tensors].astype(np.int64)
    return _Arcs(sources, consumers.astype(np.int64), _tensors(graph)[tensors])


def _looks(graph: OpGraph) -> Colours:
    """uint64[ops]: what can be said of an operation without its neighbours."""
    names, kind = np.unique(np.array(graph.op_types, dtype=str), return_inverse=True)
    digests = [hashlib.sha256(name.encode()).digest()[:8] for name in names.tolist()]
    typed = np.array([int.from_bytes(part, "little") for part in digests], np.uint64)
    looks = typed[kind] if graph.n_ops else np.zeros(0, np.uint64)
    looks = _mixed(looks + graph.persistent_bytes.astype(np.uint64))
    looks += _gathered(graph.producer, _tensors(graph), graph.n_ops)
    return looks + graph.gpu_kernel.astype(np.uint64)


def _tensors(graph: OpGraph) -> Colours:
    """uint64[tensors]: bytes and shape."""
    looks = _mixed(graph.tensor_bytes.astype(np.uint64))
    for dimension in graph.shapes.T:
        looks = _mixed(looks + dimension.astype(np.int64).astype(np.uint64))
    return looks


def _gathered(keys: Ints, values: Colours, count: int) -> Colours:
    """uint64[count]: the sum of the distinct values of each key."""
    order = np.lexsort((values, keys))
    keys, values = keys[order], values[order]
    new = np.ones(len(keys), np.bool_)
    new[1:] = (keys[1:] != keys[:-1]) | (values[1:] != values[:-1])
    total = np.zeros(count, np.uint64)
    np.add.at(total, keys[new], values[new])
    return total


def _mixed(values: Colours) -> Colours:
    """Scramble 64 bits (splitmix64, Steele et al. 2014), so that sums of colours hardly collide."""
    mixed = values + _MULTIPLIERS[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MULTIPLIERS[1]
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MULTIPLIERS[2]
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)
