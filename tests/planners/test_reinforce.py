"""Rewards, baseline and weights, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from planners.hdp import HDP
from planners.hdp_tuned import HDPTuned
from suite.core.errors import InputError
from suite.core.scores import Scores
from suite.search.registry import make_placer

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


def test_the_papers_numbers() -> None:
    paper = HDP()
    assert (paper.groups, paper.hidden, paper.grouper_hidden) == (256, 256, 64)
    assert (paper.learning_rate, paper.clip, paper.samples) == (0.1, 1.0, 4)
    assert (paper.tanh_constant, paper.temperature, paper.updates) == (5.0, 10.0, 1000)
    assert (paper.noise_size, paper.noise_updates, paper.valid_only_after) == (0.1, 500, 500)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grups": 3}, "placer hdp_tuned has parameters groups, .*; given: grups"),
        ({"op_scale": "loud"}, "op_scale is 'loud'; known: raw, standard"),
        ({"failing": "loud"}, "failing is 'loud'; known: constant, overload"),
        ({"samples": 0}, "samples is 0; give a number >= 1"),
        ({"learning_rate": -1}, "learning_rate is -1; give a number > 0"),
    ],
)
def test_wrong_settings_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_placer("hdp_tuned", change)
