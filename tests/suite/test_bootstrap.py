"""Bootstrap intervals against the exact distribution of resampled medians."""

import itertools
import math
import random
import statistics

import pytest

from suite.report.bootstrap import median_interval

TEN = [1.3, 2.9, 1.1, 1.8, 2.2, 1.2, 4.0, 1.4, 1.9, 2.0]


def exact(values):
    """Every resample there is, none drawn: the medians at 2.5 % and 97.5 %."""
    medians = sorted(map(statistics.median, itertools.product(values, repeat=len(values))))
    return medians[math.ceil(0.025 * len(medians)) - 1], medians[
        math.ceil(0.975 * len(medians)) - 1
    ]


@pytest.mark.parametrize("values", [(1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.1, 1.3, 1.6, 9.0)])
def test_the_interval_is_that_of_all_resamples(values):
    assert median_interval(values) == exact(values)


def test_three_seeds_span_their_range():
    """A resample of three has its median at the smallest value in 7 of 27 cases, above 2.5 %."""
    assert median_interval((1.0, 1.5, 2.0)) == (1.0, 2.0)


def test_ten_seeds_lose_their_extremes():
    low, high = median_interval(TEN)
    assert min(TEN) < low <= statistics.median(TEN) <= high < max(TEN)


def test_order_does_not_matter_and_calls_agree():
    shuffled = random.Random(0).sample(TEN, len(TEN))
    assert median_interval(shuffled) == median_interval(TEN) == median_interval(TEN)


@pytest.mark.parametrize("values", [(), (1.0,)])
def test_one_value_has_no_interval(values):
    assert all(map(math.isnan, median_interval(values)))
