"""Restarts: all options in turn, the best answer, within the budget."""

from __future__ import annotations

import numpy as np
import pytest
from six_ops import six_ops

from baselines.restarts import Restarts
from suite.core.arrays import Ints
from suite.core.cores import Share, my_share, take_share
from suite.core.errors import BudgetExhausted, InputError
from suite.core.problem import Problem
from suite.core.scores import Judge, Scores
from suite.search.placer import Search
from suite.search.subprocess_call import NativeCrash
from suite.simulator.compiled.judge import Simulator


def test_the_best_of_all_answers_is_returned() -> None:
    problem, seen = six_ops(), []

    class Noting(Simulator):
        def __call__(self, devices: Ints) -> Scores:
            scores = super().__call__(devices)
            seen.extend(scores.step_time.tolist())
            return scores

    judge = Noting(problem)
    search = Search(problem, judge, 0)
    best = Restarts("random", {}, runs=9).place(problem, search)
    assert search.evaluations == len(seen) == 9
    assert judge.run(best.devices).step_time == search.best_time == min(seen) < seen[-1]
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


def counting(problem: Problem) -> tuple[Judge, list[int]]:
    """A judge, and how many placements it was given each time."""
    judge, asked = Simulator(problem), list[int]()

    def judged(devices: Ints) -> Scores:
        asked.append(len(devices))
        return judge(devices)

    return judged, asked


def test_what_a_restarted_search_evaluates_counts() -> None:
    problem = six_ops()
    judge, asked = counting(problem)
    search = Search(problem, judge, 0)
    Restarts("best_of_random", {"k": [5]}, runs=3).place(problem, search)
    assert search.evaluations == sum(asked) == 3 * (5 + 1)
    judge, asked = counting(problem)
    limited = Search(problem, judge, 0, max_evaluations=23)
    Restarts("best_of_random", {"k": [1000]}, runs=3).place(problem, limited)
    assert limited.evaluations == sum(asked) <= 23
    assert limited.evaluations > 15
    times = [best for _, _, best in limited.history]
    assert times == sorted(times, reverse=True)
    assert limited.best_time == times[-1]
    assert limited.best is not None
    assert Simulator(problem).run(np.asarray(limited.best.devices)).step_time == times[-1]


@pytest.mark.usefixtures("plugin")
def test_a_run_that_crashes_costs_its_own_answer_alone() -> None:
    problem = six_ops()
    search = Search(problem, Simulator(problem), 0)
    best = Restarts("crashes", {}, runs=8).place(problem, search)
    crashed = search.notes["crashed"]
    assert 0 < crashed < 8
    assert search.evaluations == 8 - crashed
    assert Simulator(problem).run(np.asarray(best.devices)).step_time == search.best_time
    with pytest.raises(NativeCrash, match="SIGSEGV"):
        Restarts("crashes", {"share": [1.0]}, runs=2).place(problem, search)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_nothing(threads: int) -> None:
    problem, before = six_ops(), my_share()
    take_share(Share(1, threads))
    try:
        search = Search(problem, Simulator(problem), 4)
        placement = Restarts("random", {}, runs=10).place(problem, search)
    finally:
        take_share(before)
    one = Search(problem, Simulator(problem), 4)
    assert placement.hash == Restarts("random", {}, runs=10).place(problem, one).hash
    assert [h[::2] for h in search.history] == [h[::2] for h in one.history]


def test_refuses_nonsense() -> None:
    problem = six_ops()
    with pytest.raises(InputError, match="runs is 0"):
        Restarts(runs=0)
    with pytest.raises(InputError, match="placer is restarts"):
        Restarts("restarts")
    with pytest.raises(InputError, match="placer random has no parameter 'imbalance'; it has none"):
        Restarts("random")
    with pytest.raises(BudgetExhausted):
        Restarts().place(problem, Search(problem, Simulator(problem), max_evaluations=0))
