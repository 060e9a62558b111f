"""Sizes as people read them."""

import pytest

from suite.core.units import format_bytes, format_flop


@pytest.mark.parametrize(
    ("size", "written"),
    [
        (0, "0 B"),
        (12, "12 B"),
        (512, "0.5 kB"),
        (99_999, "100.0 kB"),
        (2_440_000, "2.4 MB"),
        (100_000_000, "0.1 GB"),
        (1_234_500_000_000, "1,234.5 GB"),
    ],
)
def test_sizes_have_the_unit_in_which_they_can_be_read(size, written):
    assert format_bytes(size) == written


def test_work_likewise():
    assert [format_flop(work) for work in (64, 4e4, 2.5e12)] == [
        "64 FLOP",
        "40.0 kFLOP",
        "2,500.0 GFLOP",
    ]
