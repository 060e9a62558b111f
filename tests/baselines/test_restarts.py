"""Restarts: all options in turn, the best answer, within the budget."""

from __future__ import annotations

import pytest
from six_ops import six_ops

from baselines.restarts import Restarts
from suite.core.errors import BudgetExhausted, InputError
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator


def test_the_best_of_all_answers_is_returned() -> None:
    problem = six_ops()
    judge = Simulator(problem)
    search = Search(problem, judge, 1)
    best = Restarts("random", {}, runs=9).place(problem, search)
    assert search.evaluations == 9
    assert judge.run(best.devices).step_time == search.best_time
    drawn = [
        make_placer("random", {}).place(problem, Search(problem, judge, seed)) for seed in range(9)
    ]
    assert search.best_time <= max(judge.run(p.devices).step_time for p in drawn)
    assert len(search.history) > 1


def test_options_are_combined_and_run_in_turn() -> None:
    options = {"strategy": ["default", "quality"], "imbalance": [0.1, 0.2, 0.3]}
    variants = Restarts("scotch", options).variants()
    assert [(v.strategy, v.imbalance) for v in variants[:4]] == [
        *(("default", i) for i in (0.1, 0.2, 0.3)),
        ("quality", 0.1),
    ]


def test_a_real_partitioner_is_restarted_within_the_budget() -> None:
    problem = six_ops()
    search = Search(problem, Simulator(problem), 0, max_evaluations=3)
    Restarts("metis").place(problem, search)
    assert search.evaluations == 3
    assert search.best_time == pytest.approx(0.3)


def test_refuses_nonsense() -> None:
    problem = six_ops()
    with pytest.raises(InputError, match="runs is 0"):
        Restarts(runs=0)
    with pytest.raises(InputError, match="placer is restarts"):
        Restarts("restarts")
    with pytest.raises(InputError, match="placer random has parameters none"):
        Restarts("random")
    with pytest.raises(BudgetExhausted):
        Restarts().place(problem, Search(problem, Simulator(problem), max_evaluations=0))
