"""HDP's Table 2: random groupings, the claims about no groups, and groups in use, by hand."""

import io

import pandas as pd
import pytest
from suite_records import failed, over_capacity, record, write

from suite.report.build import build_table
from suite.report.load_records import load_published

RANDOM, SIMPLE = "hdp_random_grouping", "hdp_no_grouping"
MAIN, CLAIMS = "The paper's table", "Ablation: no grouping"
GROUPS = "Groups the Grouper ends up using"


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def row(results, section, label):
    """Head (without its footnote) -> printed cell."""
    found = next(s for s in build_table("hdp_table2", results).sections if s.title == section)
    line = next(r for r in found.rows if r[0] == label)
    return {h.split(" [")[0]: c for h, c in zip(found.header, line, strict=True)}


def learned(task, placer, seconds, seed=0, **more):
    return record(task, placer, seconds, seed, grid="reference", **more)


def seeds(task, placer, *times):
    return [learned(task, placer, time, seed) for seed, time in enumerate(times)]


def verdict(results, label):
    cells = row(results, CLAIMS, label)
    return cells["Verdict"], cells["Figures that decide"]


def test_best_median_worst_and_improvement(results):
    write(results, *seeds("nmt_2", RANDOM, 4.0, 2.0, 3.0, 7.0))
    write(results, *seeds("nmt_2", "hdp", 1.5, 1.0, 2.0))
    cells = row(results, MAIN, "NMT (2-layer)")
    assert cells["Best"] == "2.00 (2.25, x0.89)"
    assert cells["Median"] == "3.50 (3.72, x0.94)"
    assert cells["Worst"] == "7.00 (4.45, x1.57)"
    assert cells["valid"] == "4 of 4"
    assert cells["Hierarchical Planner"] == "1.50 [range 1.00-2.00], best 1.00, n=3"
    assert cells["Improvement over best"] == "25.0% (62.7%)"


def test_groupings_that_never_fit_are_counted_apart(results):
    write(results, *seeds("nmt_4", RANDOM, 4.0, 2.0))
    write(results, learned("nmt_4", RANDOM, 1.0, 2, **over_capacity("nmt_4")))
    write(results, *seeds("nmt_4", "hdp", 3.0))
    cells = row(results, MAIN, "NMT (4-layer)")
    assert (cells["Best"], cells["valid"]) == ("2.00 (3.20, x0.62)", "2 of 3")
    assert cells["Improvement over best"] == "-50.0% (47.2%)"


def test_without_records_the_page_says_so(results):
    cells = row(results, MAIN, "RNNLM")
    assert (cells["Best"], cells["valid"]) == ("missing (1.57)", "missing")
    assert cells["Improvement over best"] == "missing (0%)"
    assert verdict(results, "RNNLM") == ("undecided", "missing")
    assert verdict(results, "Inception-V3")[0] == "undecided"
    assert row(results, GROUPS, "RNNLM")["Hierarchical Planner"] == "missing"
    write(results, *seeds("rnnlm", "hdp", 1.0))
    assert row(results, MAIN, "RNNLM")["Improvement over best"] == "no base (0%)"


def test_unequal_budgets_are_said(results):
    write(results, learned("nmt_2", RANDOM, 2.0, evaluations=400))
    write(results, learned("nmt_2", "hdp", 1.0, evaluations=400))
    assert "Unequal" not in build_table("hdp_table2", results).notes[2]
    write(results, learned("nmt_2", "hdp", 1.0, evaluations=1000))
    note = build_table("hdp_table2", results).notes[2]
    assert note.endswith("and of the planner: NMT (2-layer) 400 and 1,000.")


@pytest.mark.parametrize(("simple", "words"), [(1.19, "holds"), (1.21, "does not hold")])
def test_inception_within_a_fifth(results, simple, words):
    write(results, *seeds("inception_v3", "hdp", 1.0, 0.9, 7.0))
    write(results, *seeds("inception_v3", SIMPLE, simple))
    figures = f"{simple:.3f} s without groups, 1.000 s with: x{simple:.2f}"
    assert verdict(results, "Inception-V3") == (words, figures)


def test_inception_without_any_valid_placement_is_not_near(results):
    write(results, *seeds("inception_v3", "hdp", 1.0))
    write(results, learned("inception_v3", SIMPLE, 1.0, **over_capacity("inception_v3")))
    expected = ("does not hold", "OOM without groups, 1.000 s with")
    assert verdict(results, "Inception-V3") == expected


@pytest.mark.parametrize(("simple", "words"), [(2.1, "holds"), (1.9, "does not hold")])
def test_nmt_2_more_than_twice_as_slow(results, simple, words):
    write(results, *seeds("nmt_2", "hdp", 1.0), *seeds("nmt_2", SIMPLE, simple))
    assert verdict(results, "NMT (2-layer)")[0] == words


@pytest.mark.parametrize("hdp_is_there", [False, True])
def test_nmt_2_is_undecided_without_a_time_to_compare(results, hdp_is_there):
    write(results, learned("nmt_2", SIMPLE, 1.0, **over_capacity("nmt_2")))
    write(results, *seeds("nmt_2", "hdp", 1.0)[: int(hdp_is_there)])
    assert verdict(results, "NMT (2-layer)")[0] == "undecided"


@pytest.mark.parametrize(("task", "label"), [("rnnlm", "RNNLM"), ("resnet_152", "ResNet")])
def test_a_single_gpu_is_judged_by_the_computing_it_does(results, task, label):
    write(results, record(task, "gpu_only", 1.5))
    alone = {"cpu:0": 0.0, "gpu:0": 0.009, "gpu:1": 0.991}
    write(results, learned(task, SIMPLE, 1.6, busy=alone))
    words, figures = verdict(results, label)
    assert words == "holds"
    assert "busiest GPU does 99.1%" in figures
    assert "1.600 s beside 1.500 s of GPU Only" in figures
    write(results, learned(task, SIMPLE, 1.6, busy=alone | {"gpu:0": 0.25, "gpu:1": 24.75}))
    assert verdict(results, label)[0] == "holds"
    write(results, learned(task, SIMPLE, 1.2, busy={"cpu:0": 0.1, "gpu:0": 0.4, "gpu:1": 0.5}))
    words, figures = verdict(results, label)
    assert words == "does not hold"
    assert "does 50.0%" in figures


def test_nmt_4_finds_nothing_only_if_no_seed_does(results):
    facts = {"planner": {"invalid": 40}, "evaluations": 40}
    over = over_capacity("nmt_4")
    write(results, *(learned("nmt_4", SIMPLE, 1.0, s, **over, **facts) for s in range(2)))
    expected = ("holds", "0 of 2 seeds found one; 80 of 80 evaluated placements OOM")
    assert verdict(results, "NMT (4-layer)") == expected
    write(results, learned("nmt_4", SIMPLE, 3.25, 1, planner={"invalid": 1000}, evaluations=1004))
    words, figures = verdict(results, "NMT (4-layer)")
    assert words == "does not hold"
    assert figures == (
        "1 of 2 seeds found one, the fastest of 3.250 s; 1,040 of 1,044 evaluated placements OOM"
    )


def test_groups_in_use_are_shown_of_those_offered(results):
    for seed, used in enumerate((9, 4, 6)):
        facts = {"groups": 256, "groups_used": used}
        write(results, learned("nmt_8", "hdp", 1.0, seed, planner=facts))
    cells = row(results, GROUPS, "NMT (8-layer)")
    assert cells["Hierarchical Planner"] == "6 [4-9] of 256"
    course = {"groups": 48, "groups_used": 12, "groups_used_history": [[50, 47], [250, 10]]}
    write(results, learned("nmt_8", "hdp_tuned", 1.0, planner=course))
    assert (
        row(results, GROUPS, "NMT (8-layer)")["HDP, tuned"]
        == "12 of 48 (47 after 50, 10 after 250)"
    )


def test_a_crash_is_a_word_and_a_note(results):
    crash = failed("rnnlm", RANDOM, "error", "out of luck")
    write(results, crash | {"cell": crash["cell"] | {"grid": "reference"}})
    cells = row(results, MAIN, "RNNLM")
    assert (cells["Best"], cells["valid"]) == ("error (1.57)", "0 of 1")
    notes = build_table("hdp_table2", results).notes
    assert f"rnnlm / {RANDOM}: error (1): out of luck" in notes


def test_the_csv_has_the_papers_columns(results):
    write(results, *seeds("nmt_2", RANDOM, 4.5, 2.25), *seeds("nmt_2", "hdp", 0.9))
    data = pd.read_csv(io.StringIO(build_table("hdp_table2", results).csv()))
    mine = data[data["task"] == "nmt_2"].set_index("metric")
    assert mine.loc["best_step_time", ["value", "ratio"]].tolist() == [2.25, 1.0]
    assert mine.loc["worst_step_time", ["value", "published"]].tolist() == [4.5, 4.45]
    improvement = mine.loc["improvement"]
    assert improvement["value"] == pytest.approx(60.0)
    assert improvement["published"] == 62.7


def test_every_published_value_is_rendered(results):
    printed = load_published()
    printed = printed[(printed["paper"] == "HDP") & (printed["table"] == "2")]
    assert len(printed) == 24
    for label, frame in printed.groupby("printed_task"):
        text = " ".join(row(results, MAIN, label).values())
        for digits in frame["printed"]:
            assert f"({digits}" in text
