"""Search curves: what the median and the band say, and what is drawn."""

from math import inf

import pandas as pd
import pytest
from suite_records import GPUS, over_capacity, record, write

from suite.report.load_records import load_published, load_records
from suite.report.plot_style import style
from suite.report.plots import search_curves
from suite.report.plots._curves import EVALUATIONS, SECONDS, curves


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def frame(*searches):
    """(history, evaluations, wall seconds) of each seed."""
    return pd.DataFrame(searches, columns=["history", "evaluations", "wall_seconds"])


THREE = frame(
    ([[1, 0.5, 4.0], [5, 1.0, 2.0]], 10, 3.0),
    ([[3, 0.7, 3.0]], 8, 2.0),
    ([[1, 0.4, 5.0], [3, 0.6, 1.0]], 10, 2.5),
)


def test_median_and_band_follow_the_seeds():
    found = curves(THREE, EVALUATIONS)
    assert found.at.tolist() == [1, 3, 5, 8, 10]
    assert found.low.tolist() == [4, 1, 1, 1, 1]
    assert found.median.tolist() == [5, 3, 2, 2, 2]
    assert found.high.tolist() == [inf, 4, 3, 3, 3]


def test_seconds_are_another_axis_of_the_same_values():
    found = curves(THREE, SECONDS)
    assert found.at.tolist() == [0.4, 0.5, 0.6, 0.7, 1.0, 2.0, 2.5, 3.0]
    assert found.median.tolist() == [inf, 5, 4, 3, 2, 2, 2, 2]


def test_a_median_between_something_and_nothing_is_nothing():
    found = curves(frame(([[2, 1.0, 3.0]], 4, 1.0), ([], 4, 1.0)), EVALUATIONS)
    assert found.at.tolist() == [2, 4]
    assert found.median.tolist() == [inf, inf]
    assert found.low.tolist() == [3, 3]


@pytest.mark.parametrize("searches", [(), (([], 4, 1.0),)])
def test_no_history_gives_no_curve(searches):
    assert not len(curves(frame(*searches), EVALUATIONS).at)


def drawn(results):
    with style():
        return search_curves.plot(load_records(results), load_published())


def test_each_task_has_two_panels_with_its_levels(results):
    write(results, record("nmt_2", "human_expert", 1.25, lower_bound=0.5))
    axes = drawn(results).axes
    assert len(axes) == 2 * len(GPUS)
    left = next(ax for ax in axes if ax.get_title("left") == "NMT (2-layer), 2 GPUs")
    assert [line.get_ydata()[0] for line in left.lines] == [1.25, 0.5, 0.84]
    assert "missing: HDP" in left.get_title("right")


def test_a_planner_is_a_line_and_a_band_over_its_seeds(results):
    for seed, best in enumerate((2.0, 1.0)):
        history = [[4, 0.5, best + 2], [8, 1.5, best]]
        more = {"history": history, "evaluations": 12, "wall_seconds": 2.0}
        write(results, record("nmt_4", "hdp", best, seed, grid="reference", **more))
    write(results, record("nmt_4", "hdp_no_grouping", 1.0, **over_capacity("nmt_4")))
    figure = drawn(results)
    left, right = (ax for ax in figure.axes if ax.get_title("left").startswith("NMT (4"))
    assert left.lines[0].get_xdata().tolist() == [4, 8, 12]
    assert left.lines[0].get_ydata().tolist() == [3.5, 1.5, 1.5]
    assert right.lines[0].get_xdata().tolist() == [0.5, 1.5, 2.0]
    assert len(left.collections) == len(right.collections) == 1
    assert left.get_ylim() == right.get_ylim()
    assert left.get_ylim()[1] > 3.5
    assert "OOM: no grouping" in left.get_title("right")
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "HDP" in shown
    assert "ColocRL" not in shown
