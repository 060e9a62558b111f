"""Intervals whose coverage is what they say, counted out; orders that agree, by hand and scipy."""

import itertools
import math
import random
import statistics
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, mannwhitneyu

from suite.core.child_python import child_environment, python_command
from suite.core.statistics import (
    LEVEL,
    Pairs,
    kendall_apart,
    median_interval,
    median_level,
    order_agreement,
    ratio_estimate,
    ratio_interval,
    spearman,
)

TEN = [1.3, 2.9, 1.1, 1.8, 2.2, 1.2, 4.0, 1.4, 1.9, 2.0]
TIMES = st.lists(st.floats(0.1, 10), min_size=2, max_size=12)


@pytest.mark.parametrize(
    ("count", "first", "level"),
    [
        *((2, 1, 0.5), (3, 1, 0.75), (5, 1, 0.9375), (6, 1, 0.96875), (8, 1, 0.9921875)),
        *((9, 2, 0.9609375), (10, 2, 0.978515625), (20, 6, 0.958610534667969)),
    ],
)
def test_ranks_and_levels_are_those_of_the_books_table(count, first, level):
    found = median_interval(range(1, count + 1))
    assert (found.low, found.high) == (first, count + 1 - first)
    assert found.level == pytest.approx(level, abs=1e-12)
    assert median_level(count) == found.level
    assert found.is_range == (count < 6)


@pytest.mark.parametrize("count", range(2, 10))
def test_the_level_is_the_share_of_all_sides_a_sample_can_fall_on(count):
    """A value lies left or right of the true median, 0, with even chances: every way is counted."""
    held = 0
    for signs in itertools.product((-1, 1), repeat=count):
        found = median_interval([sign * (i + 1) for i, sign in enumerate(signs)])
        held += found.low < 0 < found.high
    assert held / 2**count == pytest.approx(median_level(count), abs=1e-12)


def test_no_interval_could_leave_out_more():
    for count in range(6, 60):
        found = median_interval(range(count))
        shorter = sum(math.comb(count, i) for i in range(int(found.low) + 2)) / 2**count
        assert found.level >= LEVEL > 1 - 2 * shorter


@given(TIMES, st.randoms())
def test_an_interval_is_of_the_values_and_holds_their_median(values, rng):
    found = median_interval(values)
    assert {found.low, found.high} <= set(values)
    assert found.low <= statistics.median(values) <= found.high
    assert median_interval(rng.sample(values, len(values))) == found
    if found.is_range:
        assert (found.low, found.high) == (min(values), max(values))


def test_ten_seeds_lose_their_extremes():
    assert median_interval(TEN) == median_interval(random.Random(0).sample(TEN, 10))
    assert median_interval(TEN)[:2] == (1.2, 2.9)


@pytest.mark.parametrize("values", [(), (1.0,)])
def test_one_value_has_no_interval(values):
    assert all(map(math.isnan, median_interval(values)))
    assert math.isnan(median_level(len(values)))
    assert not median_interval(values).is_range


def test_the_interval_of_a_ratio_by_hand():
    """Of 4 x 4 ratios none may be left out: without two of 70 orders 97.1 % remain, then 94.3."""
    found = ratio_interval([2.0, 4.0, 6.0, 8.0], [1.0, 1.0, 1.0, 2.0])
    assert (found.low, found.high) == (1.0, 8.0)
    assert found.level == pytest.approx(1 - 2 / 70)
    assert not found.is_range
    assert ratio_estimate([2.0, 4.0, 6.0, 8.0], [1.0, 1.0, 1.0, 2.0]) == 4.0


def test_three_seeds_a_side_give_the_range_of_their_ratios():
    found = ratio_interval([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    assert (found.low, found.high, found.is_range) == (0.25, 3.0, True)
    assert found.level == pytest.approx(0.9)


@pytest.mark.parametrize(("first", "second"), [(2, 3), (3, 3), (4, 3), (4, 4), (5, 5), (3, 7)])
def test_the_level_of_a_ratio_is_the_share_of_all_orders_that_hold_it(first, second):
    """Where both sides are alike the ratio is 1, and every order of the values is as likely."""
    times, held, orders = np.geomspace(1, 100, first + second), 0, 0
    for chosen in itertools.combinations(range(first + second), first):
        rest = [i for i in range(first + second) if i not in chosen]
        found = ratio_interval(times[list(chosen)], times[rest])
        held, orders = held + (found.low < 1 < found.high), orders + 1
    assert held / orders == pytest.approx(found.level, abs=1e-12)


@given(
    st.lists(st.floats(0.1, 10), min_size=4, max_size=7),
    st.lists(st.floats(0.1, 10), min_size=4, max_size=7),
)
def test_a_ratio_of_one_is_left_out_where_a_mann_whitney_test_rejects_it(ours, theirs):
    if len({*ours, *theirs}) < len(ours) + len(theirs):
        return
    found = ratio_interval(ours, theirs)
    p = mannwhitneyu(ours, theirs, method="exact").pvalue
    assert (not found.low <= 1 <= found.high) == (p < 1 - LEVEL)


@given(TIMES, TIMES, st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_a_slower_side_moves_estimate_and_interval_by_its_factor(ours, theirs, factor):
    plain, moved = ratio_interval(ours, theirs), ratio_interval([factor * t for t in ours], theirs)
    assert moved == (factor * plain.low, factor * plain.high, plain.level)
    assert plain.low <= ratio_estimate(ours, theirs) <= plain.high


def test_graphs_without_work_are_as_fast_as_each_other():
    assert ratio_interval([0.0, 0.0], [0.0, 0.0])[:2] == (1.0, 1.0)
    assert ratio_estimate([1.0, 1.0], [0.0, 0.0]) == math.inf


def test_a_ratio_has_no_interval_with_one_value_on_a_side():
    assert all(map(math.isnan, ratio_interval([1.0], [1.0, 2.0])))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=15))
def test_orders_agree_as_scipy_and_counting_say(pairs):
    ours, theirs = ([pair[i] for pair in pairs] for i in (0, 1))
    found = order_agreement(ours, theirs)
    products = [(a - c) * (b - d) for (a, b), (c, d) in itertools.combinations(pairs, 2)]
    both = [product for product in products if product]
    assert (found.pairs, found.reversed) == (len(both), sum(sign < 0 for sign in both))
    assert found.tau == pytest.approx(kendalltau(ours, theirs).statistic, nan_ok=True)


def test_what_runs_cells_does_not_load_scipy():
    """Its parts take longer to load than all else that a bench needs before its first cell."""
    parts = {"scipy.stats", "scipy.optimize", "scipy.sparse"}
    program = f"import suite.bench.run_cell, sys; sys.exit(bool({parts} & sys.modules.keys()))"
    command = python_command("-c", program)
    assert subprocess.run(command, env=child_environment(), check=False).returncode == 0


def test_intervals_that_touch_overlap():
    pairs = Pairs(*map(np.array, ([1.0, 2.0], [1.0, 2.0], [0.5, 1.5], [1.5, 2.5])))
    assert kendall_apart(pairs)[1] == 0


def test_two_values_have_no_rank_correlation():
    assert math.isnan(spearman(np.array([1.0, 2.0]), np.array([1.0, 2.0])))
