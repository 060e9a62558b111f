"""A guard around Scotch's static mapping (Pellegrini; pyscotch), run in a child process.

Scotch trusts its caller: a bad arc is a crash, too large a sum of loads a wrong answer, and two
threads or an odd seed a surprise. What can be checked is checked here, before the call.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.arcs import check_arcs
from baselines.partitioning.problem import ask
from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.search.subprocess_call import call

STRATEGIES = {"default": 0, "quality": 0x1, "recursive": 0x100}
"""Scotch's own names (SCOTCH_STRATQUALITY, SCOTCH_STRATRECURSIVE)."""


def check_parameters(strategy: str, imbalance: float) -> None:
    """Raise InputError unless the strategy is known and the imbalance a share in (0, 1)."""
    if strategy not in STRATEGIES:
        raise InputError(f"strategy is {strategy!r}; one of {', '.join(STRATEGIES)}")
    if not 0 < imbalance < 1:
        raise InputError(f"imbalance is {imbalance!r}; give a share between 0 and 1")


def place_with_scotch(
    problem: Problem, search: Search, devices: Ints, strategy: str, imbalance: float
) -> Placement:
    """Map the classes onto ``devices`` (int[parts]); raises NativeCrash, Unsupported."""
    question = ask(problem, devices, fixed=True)
    if question.trivial:
        return question.placement(np.zeros(int(question.asked.sum()), np.int64))
    answer = call(
        "scotch",
        "baselines.partitioning.scotch:static_map",
        {
            "offsets": question.offsets,
            "neighbours": question.neighbours,
            "loads": question.loads,
            "edge_loads": question.edge_loads,
            "fixed": question.fixed,
            "speeds": question.speeds,
            "costs": question.costs,
            "flags": STRATEGIES[strategy],
            "imbalance": imbalance,
            # Scotch gives seeds 2k and 2k + 1 the same stream.
            "seed": 2 * search.rng.integers(2**30),
        },
    )
    return question.placement(answer["parts"])


def static_map(
    offsets: Ints,
    neighbours: Ints,
    loads: Ints,
    edge_loads: Ints,
    fixed: Ints,
    speeds: Ints,
    costs: Ints,
    flags: Any,
    imbalance: Any,
    seed: Any,
) -> dict[str, NDArray[Any]]:
    """Map an undirected graph (compressed rows) onto weighted domains, balancing load / speed.

    ``fixed`` is int[vertices], a domain or -1; ``speeds`` int[domains]; ``costs`` int[domains,
    domains], symmetric. Returns ``parts``: int64[vertices]. The same arguments give the same
    parts. Raises ValueError for a graph that would crash Scotch or be mapped wrongly. Call it in
    a process of its own: Scotch's random numbers and its thread count belong to the process.
    """
    check_arcs(offsets, neighbours, loads, edge_loads)
    os.environ["SCOTCH_PTHREAD_NUMBER"] = "1"
    import pyscotch
    from pyscotch import libscotch as lib

    pyscotch.random_seed(int(seed))
    pyscotch.random_reset()
    parts = np.array(fixed, lib.get_scotch_dtype())
    with (
        _graph(offsets, neighbours, loads, edge_loads) as graph,
        _architecture(speeds, costs) as architecture,
        pyscotch.Strategy() as strategy,
    ):
        asked = byref(strategy._strat_data)
        _require(
            lib.SCOTCH_stratGraphMapBuild(
                asked, lib.SCOTCH_Num(int(flags)), lib.SCOTCH_Num(len(speeds)), float(imbalance)
            ),
            "the strategy",
        )
        mapping = lib.SCOTCH_graphMapFixed if (parts >= 0).any() else lib.SCOTCH_graphMap
        ends = byref(graph._graph), byref(architecture._arch), asked
        _require(mapping(*ends, lib.to_scotch_array(parts)[1]), "the mapping")
    if parts.min() < 0 or parts.max() >= len(speeds):
        raise RuntimeError("Scotch answered with a domain that does not exist")
    return {"parts": parts.astype(np.int64)}


@contextmanager
def _graph(offsets: Ints, neighbours: Ints, loads: Ints, edge_loads: Ints) -> Iterator[Any]:
    import pyscotch

    dtype = pyscotch.get_scotch_dtype()
    arrays = [np.ascontiguousarray(a, dtype) for a in (offsets, neighbours, loads, edge_loads)]
    with pyscotch.Graph() as graph:
        graph.build(arrays[0], arrays[1], velotab=arrays[2], edlotab=arrays[3])
        if not graph.check():
            raise ValueError("Scotch finds the graph inconsistent")
        yield graph


@contextmanager
def _architecture(speeds: Ints, costs: Ints) -> Iterator[Any]:
    """A weighted complete graph where links are alike, else a target graph with link costs."""
    import pyscotch
    from pyscotch import libscotch as lib

    n = len(speeds)
    with pyscotch.Architecture() as architecture:
        if (costs == costs[0, 0]).all():
            architecture.complete_weighted(n, np.ascontiguousarray(speeds))
            yield architecture
            return
        others = ~np.eye(n, dtype=np.bool_)
        neighbours = np.broadcast_to(np.arange(n), (n, n))[others]
        offsets = np.arange(n + 1) * (n - 1)
        with _graph(offsets, neighbours, speeds, costs[others]) as target:
            # Not archBuild or archBuild0: they take the costs for affinities when they bisect the
            # target, and so keep apart what is close.
            whole = lib.SCOTCH_Num(0), None
            built = lib.SCOTCH_archBuild2(byref(architecture._arch), byref(target._graph), *whole)
            _require(built, "the target architecture")
            yield architecture


def _require(status: int, what: str) -> None:
    if status != 0:
        raise RuntimeError(f"Scotch refused {what} (status {status})")
