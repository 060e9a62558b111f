"""Rewards, baseline and weights, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from six_ops import six_ops

from planners.hdp import HDP
from planners.hdp_tuned import HDPTuned
from planners.policy_gradient.reinforce import Reinforce, Sample
from planners.policy_gradient.rewards import Credit
from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.scores import Scores
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

SCORES = Scores(
    step_time=np.array([4.0, 1.0, 9.0]),
    oom=np.array([False, False, True]),
    peak_memory=np.array([[50, 10], [100, 10], [150, 10]]),
)
MEMORY = np.array([100, 100])


def test_reward_is_minus_the_root_of_the_step_time_and_minus_ten_without_memory() -> None:
    assert HDP().reward(SCORES, MEMORY).tolist() == [-2, -1, -10]


def test_overload_costs_by_what_is_missing() -> None:
    settings = HDPTuned(failing="overload", overload_cost=4.0)
    assert settings.reward(SCORES, MEMORY).tolist() == [-2, -1, -3 - 4 * 0.5]


def test_first_update_has_the_mean_as_its_baseline() -> None:
    baseline = HDP(baseline_start="first").baseline()
    credit = baseline.credit(np.array([-2.0, -1.0, -3.0]), np.ones(3, bool), 0)
    np.testing.assert_allclose(credit.samples, [0, 1 / 3, -1 / 3])
    assert credit.shared == pytest.approx(0)
    assert baseline.value == -2


def test_baseline_moves_by_a_tenth() -> None:
    baseline = HDP(baseline_start="failing").baseline()
    credit = baseline.credit(np.array([-2.0, -4.0]), np.ones(2, bool), 0)
    np.testing.assert_allclose(credit.samples, [8 / 2, 6 / 2])
    assert credit.shared == pytest.approx(7)
    assert baseline.value == pytest.approx(0.9 * -10 + 0.1 * -3)


def test_late_updates_learn_from_valid_placements_only() -> None:
    baseline = HDP(baseline_start="first", valid_only_after=500).baseline()
    valid, gained = np.array([True, False, True]), np.array([-1.0, -10.0, -3.0])
    baseline.credit(np.array([-2.0, -2.0, -2.0]), np.ones(3, bool), 499)
    credit = baseline.credit(gained, valid, 500)
    np.testing.assert_allclose(credit.samples, [1 / 2, 0, -1 / 2])
    assert baseline.value == pytest.approx(-2)


def test_an_update_without_a_valid_placement_changes_nothing_late() -> None:
    baseline = HDP(baseline_start="failing", valid_only_after=0).baseline()
    credit = baseline.credit(np.array([-10.0, -10.0]), np.zeros(2, bool), 0)
    assert not credit.samples.any()
    assert credit.shared == 0
    assert baseline.value == -10


def test_batch_advantages_have_mean_zero_and_deviation_one() -> None:
    baseline = HDPTuned(advantage="batch").baseline()
    credit = baseline.credit(np.array([-1.0, -3.0]), np.ones(2, bool), 0)
    np.testing.assert_allclose(credit.samples, [1 / 2, -1 / 2], rtol=1e-5)


def test_the_weight_of_a_grouping_is_clipped() -> None:
    """The mean, -2, is 8 standard deviations above the average, -10."""
    baseline = HDPTuned(advantage="batch", baseline_start="failing").baseline()
    assert baseline.credit(np.array([-1.0, -3.0]), np.ones(2, bool), 0).shared == 1


class FirstIsBest:
    """A policy that draws all on one GPU, which takes 0.6 s, and all on the CPU ever after: 3 s.

    It is in so many groups as updates before this one, and ten.
    """

    def __init__(self) -> None:
        self.drawn = list[int]()

    def sample(self, rng: np.random.Generator, update: int) -> Sample:
        self.drawn.append(update)
        devices = np.full((1, 6), 1 if update == 0 else 0, np.int32)
        return Sample(devices, np.zeros((1, 1), np.int64), {})

    def learn(
        self, sample: Sample, credit: Credit, best_choices: Ints, update: int
    ) -> dict[str, float]:
        return {"gradient_norm": 0.0, "groups": 10 + update}


def searched(updates: int, stop_sampling: int) -> tuple[FirstIsBest, Search]:
    problem, policy = six_ops(), FirstIsBest()
    search, settings = Search(problem, Simulator(problem), 0), HDP()
    baseline = settings.baseline()
    Reinforce(policy, search, updates, settings.reward, baseline, stop_sampling).run()
    return policy, search


def test_from_the_update_that_is_named_on_the_last_placements_are_scored_again() -> None:
    policy, search = searched(6, stop_sampling=3)
    assert policy.drawn == [0, 1, 2]
    assert search.evaluations == 6


def test_the_groups_that_are_noted_are_those_of_the_best() -> None:
    _, search = searched(60, stop_sampling=0)
    assert search.notes["groups_used"] == 10
    assert search.notes["groups_used_history"] == [[50, 10 + 49]]


def test_the_papers_numbers() -> None:
    paper = HDP()
    assert (paper.groups, paper.hidden, paper.grouper_hidden) == (256, 256, 64)
    assert (paper.learning_rate, paper.clip, paper.samples) == (0.1, 1.0, 4)
    assert (paper.tanh_constant, paper.temperature, paper.updates) == (5.0, 10.0, 1000)
    assert (paper.noise_size, paper.noise_updates, paper.valid_only_after) == (0.1, 500, 500)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"grups": 3},
            r"placer hdp_tuned has no parameter 'grups'; did you mean 'groups'\? it has groups, ",
        ),
        ({"op_scale": "loud"}, "op_scale is 'loud'; known: raw, standard"),
        ({"failing": "loud"}, "failing is 'loud'; known: constant, overload"),
        ({"samples": 0}, "samples is 0; give a number >= 1"),
        ({"learning_rate": -1}, "learning_rate is -1; give a number > 0"),
    ],
)
def test_wrong_settings_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_placer("hdp_tuned", change)
