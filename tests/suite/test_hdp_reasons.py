"""Why HDP learns: learning curves are read from the logs beside the records."""

import pytest
from suite_records import failed, record, write

from suite.report.build import build_table

HEADER = "step,evaluations,seconds,best,reward,entropy,gradient_norm\n"


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def write_log(results, seed, *lines):
    """A search of ResNet with literal settings, with what it logged."""
    made = record("resnet_152", "literal", 1.5 + seed, seed, grid="hdp_reasons_tf13")
    made["cell"] |= {"machine": "k40_tf13", "task": "resnet_152_tf13"}
    write(results, made)
    [path] = results.rglob(f"literal/seed{seed}.json")
    path.with_suffix(".csv").write_text(HEADER + "\n".join(lines) + "\n")


def printed(results):
    """The section's row of these settings."""
    [section] = [
        s for s in build_table("hdp_reasons", results).sections if s.title.startswith("Which")
    ]
    return next(row for row in section.rows if row[0] == "Grouper and Placer, C = 5, epsilon 1e-8")


def test_a_curve_is_the_median_over_seeds_of_what_was_logged(results):
    write_log(results, 0, "10,40,1.0,2.0,-2.0,0.7,0.5", "50,200,5.0,1.5,-4.0,0.6,0.0")
    write_log(results, 1, "10,40,1.0,2.0,-4.0,0.9,1.5", "50,200,5.0,1.5,-4.0,0.6,0.0")
    _, best, at_10, at_50, at_250 = printed(results)
    assert best == "2.00 [1.50-2.50, n=2]"
    assert at_10 == "9.00 / 0.80 / 1.0e+00"  # the median reward, -3, squared
    assert at_50 == "16.00 / 0.60 / 0.0e+00"
    assert at_250 == "-"


def test_settings_without_a_record_have_no_curve(results):
    write_log(results, 0, "10,40,1.0,2.0,-2.0,0.7,0.5")
    section = build_table("hdp_reasons", results).sections[0]
    assert [row[1:] for row in section.rows if "C = 1" in row[0]] == [("not run", "", "", "")] * 2


def test_a_seed_that_failed_says_nothing_of_how_searches_go(results):
    more = {"evaluations": 500, "history": [[105, 1.0, 1.5]]}
    planner = {"invalid": 140, "groups_used": 256, "diverged": 3}
    for seed in (0, 1):
        one = record("nmt_2", "paper", 1.5, seed, grid="hdp_reasons", **more, planner=planner)
        write(results, one)
    late = failed("nmt_2", "paper", "timeout", "7,200 s")
    late["cell"] |= {"grid": "hdp_reasons", "seed": 2}
    write(results, late)
    page = build_table("hdp_reasons", results)
    section = next(s for s in page.sections if s.title.startswith("One choice"))
    [row] = [row for row in section.rows if row[0].startswith("`paper`")]
    assert row[1:] == ("1.50", "1.50", "1.50", "105", "28 %", "256", "2 of 2")


def test_a_record_whose_log_is_gone_has_no_curve(results):
    write_log(results, 0, "10,40,1.0,2.0,-2.0,0.7,0.5")
    next(results.rglob("seed0.csv")).unlink()
    assert printed(results)[1:] == ("1.50", "no log", "no log", "no log")


def test_a_smaller_budget_has_what_was_found_by_then_in_searches_that_ended(results):
    """Medians of 4 and 2 s, then 3 and 2; the third seed ended at 800 placements by a failure."""
    more = {"grid": "paper", "evaluations": 4000}
    for seed, late in enumerate((3.0, 2.0)):
        history = [[1000, 1.0, 4.0 - 2 * seed], [1001, 2.0, late]]
        write(results, record("nmt_2", "hdp", late, seed, history=history, **more))
    cut = {"status": "error", "step_time": None, "step_times": []}
    write(results, record("nmt_2", "hdp", 9.0, 2, history=[[800, 1.0, 9.0]], **more) | cut)
    section = build_table("hdp_reasons", results).sections[-1]
    assert section.rows == (("nmt_2", "hdp", "2", "3.00", "2.50", "2.50"),)
