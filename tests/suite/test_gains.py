"""The papers' formulas for gains, by hand and on a row that each of them prints."""

import math

import pytest

from suite.report.tables._gains import over_base, over_new


def test_hdp_divides_by_the_base():
    assert over_base(2.0, 1.5) == 25.0
    assert over_base(4.0, 5.0) == -25.0
    assert over_base(2.13, 0.84) == pytest.approx(60.6, abs=0.05)  # Table 1, NMT (2-layer)
    assert over_base(2.25, 0.84) == pytest.approx(62.7, abs=0.05)  # Table 2, NMT (2-layer)


def test_colocrl_divides_by_the_new():
    assert over_new(3.0, 2.0) == 50.0
    assert over_new(2.0, 4.0) == -50.0


@pytest.mark.parametrize("formula", [over_base, over_new])
def test_a_missing_time_gives_no_gain(formula):
    assert math.isnan(formula(math.nan, 1.0))
    assert math.isnan(formula(1.0, math.nan))
