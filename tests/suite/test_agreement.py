"""How near ours and published are: by hand."""

import math

import pytest

from suite.report.agreement import ordered, spread


def test_the_error_is_a_mean_factor_and_the_bias_has_a_direction():
    found = spread([2.0, 0.5, math.nan, 0.0])
    assert (found.count, found.error, found.bias) == (2, pytest.approx(2), pytest.approx(1))
    assert spread([4.0, 1.0]).bias == pytest.approx(2)
    assert spread([math.nan]).count == 0


def test_only_pairs_of_one_row_that_the_paper_orders_count():
    cells = [("a", 1.0, 10.0), ("a", 2.0, 20.0), ("a", 3.0, 20.0), ("b", 9.0, 1.0), ("b", 8.0, 2.0)]
    # a: 1 < 2 and 1 < 3 as published, the third pair is equal there; b: the other way round.
    assert ordered(cells) == (2, 3)
    assert ordered([("a", 1.0, 1.0), ("a", 1.0, 2.0)]) == (0, 1)
