"""Estimated moves: what is judged is what an estimate, memory included, finds most promising."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from six_ops import every_placement, six_ops
from strategies import placed

from baselines.estimated_moves import EstimatedMoves, EstimatedWalks
from baselines.list_scheduling.estimate import Estimate
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator

SMALL = EstimatedMoves(cuts=1, layouts=10, drawn=8)


@settings(max_examples=30)
@given(placed(min_gpus=1), st.integers(1, 5))
def test_many_estimates_are_those_of_one_after_the_other(drawn, count: int) -> None:
    problem, _ = drawn
    rng = np.random.default_rng(count)
    estimate, classes = Estimate(problem), problem.graph.n_classes
    rows = np.argmax(rng.random((count, classes, 1)) < problem.allowed[None], axis=2)
    one_by_one = [estimate(row) for row in rows]
    assert estimate.seconds(rows).tolist() == [seconds for seconds, _ in one_by_one]
    for row, (_, peak) in zip(rows, one_by_one, strict=True):
        assert estimate.peak(row).tolist() == peak.tolist()


@pytest.mark.parametrize("gpu", ["1 GB", "5 kB"])
@pytest.mark.parametrize("batch", [1, 3])
def test_the_most_promising_are_those_that_cost_least_with_the_memory_they_lack(
    gpu: str, batch: int
) -> None:
    problem = six_ops(gpu=gpu)
    chosen_by = EstimatedMoves(cuts=1, layouts=10, batch=batch)
    search = Search(problem, Simulator(problem), 0, max_evaluations=10_000)
    walks = EstimatedWalks(chosen_by, problem, search)
    rows = np.random.default_rng(batch).permutation(every_placement(problem).astype(np.int64))
    costs = []
    for row in rows:
        seconds, peak = Estimate(problem)(row)
        missing = max(0.0, float((peak / problem.machine.memory).max() - 1))
        costs.append(seconds * (1 + chosen_by.overload * missing))
    found = walks.promising(rows)
    cost_of = {row.tobytes(): cost for row, cost in zip(rows, costs, strict=True)}
    assert [cost_of[row.tobytes()] for row in found] == sorted(costs)[: walks.batch]
    assert search.notes["estimates"] == len(rows)


def found(problem: Problem, seed: int, evaluations: int) -> Search:
    search = Search(problem, Simulator(problem), seed, max_evaluations=evaluations)
    SMALL.place(problem, search)
    return search


@pytest.mark.parametrize("seed", range(5))
def test_six_operations_are_placed_best(seed: int) -> None:
    search = found(six_ops(), seed, 20)
    assert search.best_time == pytest.approx(0.3)
    assert search.evaluations <= 20
    again = found(six_ops(), seed, 20)
    assert (again.best_time, again.evaluations) == (search.best_time, search.evaluations)


@pytest.mark.parametrize("evaluations", [1, 2, 30])
def test_a_budget_is_kept_and_what_does_not_fit_is_left_alone(evaluations: int) -> None:
    # A single GPU holds 3,000 of the 6,000 bytes of variables, and is the faster for one chain.
    problem = six_ops(gpu="5 kB")
    search = found(problem, 0, evaluations)
    assert 1 <= search.evaluations <= evaluations
    assert search.best is not None
    assert not Simulator(problem).run(search.best.devices).oom.any()


def test_seconds_are_a_budget_too() -> None:
    problem = six_ops()
    search = Search(problem, Simulator(problem), 0, max_seconds=60, max_evaluations=20)
    SMALL.place(problem, search)
    assert search.best_time == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"drawn": 0}, "drawn is 0; give >= 1"),
        ({"judged": 0.0}, r"judged is 0\.0; give a share"),
        ({"starts": ["best_estimate"]}, "best_estimate itself"),
        ({"starts": [], "cuts": 0, "layouts": 0}, "nothing to choose from"),
        ({"guided": 2.0}, r"guided is 2\.0; give a share"),
    ],
)
def test_refuses_nonsense(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        EstimatedMoves(**parameters)
