"""Light operations settle where fewest transfers are: against a reference that adds all up."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made import case
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from baselines.local_search import settling
from baselines.local_search.settling import Settling
from baselines.partitioning.class_graph import mean_transfer
from suite.core.arrays import Ints
from suite.core.problem import Problem


def spent(problem: Problem, row: Ints) -> float:
    """Seconds of all classes where they are, and of each tensor for each device it is sent to."""
    graph, costs = problem.graph, mean_transfer(problem, np.arange(problem.machine.n_devices))
    total = float(problem.class_seconds[np.arange(graph.n_classes), row].sum())
    tensors, consumers = graph.edges
    for tensor in range(len(graph.producer)):
        here = row[graph.colocation[graph.producer[tensor]]]
        readers = row[graph.colocation[consumers[tensors == tensor]]]
        total += float(costs[tensor]) * len(set(readers.tolist()) - {here})
    return total


@settings(max_examples=60)
@given(problem=problems(), seed=st.integers(0, 2**16), near=st.booleans())
def test_no_light_class_would_be_better_elsewhere(problem: Problem, seed: int, near: bool) -> None:
    if not problem.graph.n_classes:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settling, "LIGHT", 0.6)
        found = Settling(problem)
    rng = np.random.default_rng(seed)
    row = np.array([rng.choice(np.flatnonzero(allowed)) for allowed in problem.allowed], np.int64)
    moved = np.flatnonzero(rng.random(len(row)) < 0.3) if near else None
    settled = found.settled(row, moved)
    while (again := found.settled(settled, moved)).tolist() != settled.tolist():
        assert spent(problem, again) < spent(problem, settled)
        settled = again
    assert spent(problem, settled) <= spent(problem, row) * (1 + 1e-9)
    assert problem.allowed[np.arange(len(row)), settled].all()
    changed = np.flatnonzero(settled != row)
    light = set(found.light.tolist())
    assert set(changed.tolist()) <= light
    work = problem.class_seconds.min(axis=1)
    assert work[found.light].sum() <= 0.6 * work.sum() * (1 + 1e-9)
    if moved is None:
        for one in light:
            for device in np.flatnonzero(problem.allowed[one]):
                other = settled.copy()
                other[one] = device
                assert spent(problem, other) >= spent(problem, settled) * (1 - 1e-9)


def test_a_reshape_between_two_products_follows_them() -> None:
    ops = [("first", 0, 50), ("reshape", 1, 1), ("second", 0, 50)]
    problem, _ = case(ops, [("first", 8, ["reshape"]), ("reshape", 8, ["second"])])
    found = Settling(problem)
    assert found.light.tolist() == [1]
    assert found.settled(np.array([1, 0, 1])).tolist() == [1, 1, 1]
    # What neither moved nor is beside what did stays.
    assert found.settled(np.array([1, 0, 1]), np.array([], np.int64)).tolist() == [1, 0, 1]
    assert found.settled(np.array([1, 0, 1]), np.array([0])).tolist() == [1, 1, 1]
