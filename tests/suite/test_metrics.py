"""When one median is called better than another."""

from suite.report.metrics import METRICS


def test_better_by_less_than_the_margin_does_not_beat():
    lower, higher = METRICS["step_time"], METRICS["search_speedup"]
    assert lower.interval_beats((1, 1.0), (1.002, 2))
    assert not lower.interval_beats((1, 1.0), (1.0005, 2))
    assert higher.interval_beats((1.002, 2), (0.5, 1.0))
    assert not higher.interval_beats((1.0005, 2), (0.5, 1.0))
