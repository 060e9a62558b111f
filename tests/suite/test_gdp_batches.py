"""GDP's Tables 2 and 3, its Figure 2 and its parts, from records made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from suite_records import record, write

from suite.report.build import build_table
from suite.report.load_records import load_published, load_records
from suite.report.plot_style import png
from suite.report.plots import gdp_figure2
from suite.report.table import Table

GPUS = {"gdp_rnnlm_2": 2, "gnmt_2": 2, "gnmt_8": 8, "transformer_xl_2": 2}
GPUS |= {"gdp_rnnlm_4": 4, "gnmt_4": 4, "transformer_xl_4": 4}


def gdp_record(grid: str, task: str, placer: str, seconds: float, seed: int = 0) -> dict[str, Any]:
    cell = {"grid": grid, "machine": "p100", "gpus": GPUS[task], "task": task}
    cell |= {"placer": placer, "seed": seed}
    made = record("nmt_2", placer, seconds, **{"cell": cell})
    return made | {"graph": {**made["graph"], "fingerprint": f"graph of {task}"}}


def policy(seen: bool, *tasks: str) -> dict[str, Any]:
    lessons = [{"task": task, "gpus": GPUS[task], "evaluations": 300} for task in tasks]
    return {"digest": "0123456789abcdef", "trained_on": lessons, "seen": seen}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    other, own = policy(False, "gnmt_2", "gnmt_8"), policy(True, "gdp_rnnlm_2", "gnmt_2")
    found = [
        gdp_record("gdp", "gdp_rnnlm_2", "gdp", 0.3),
        gdp_record("gdp", "gdp_rnnlm_2", "gdp_tuned", 0.35),
        gdp_record("gdp", "gdp_rnnlm_2", "human_expert", 0.25),
        gdp_record("gdp", "transformer_xl_2", "human_expert", 0.5),
        gdp_record("gdp_batch", "gdp_rnnlm_2", "gdp_batch", 0.2) | {"policy": own},
        gdp_record("gdp_batch2", "gdp_rnnlm_2", "gdp_tuned_batch2", 0.2) | {"policy": own},
        gdp_record("gdp_batch3", "gdp_rnnlm_2", "gdp_tuned_batch3", 0.5) | {"policy": own},
        gdp_record("gdp_holdout", "gdp_rnnlm_2", "gdp_zero_shot", 0.4) | {"policy": other},
        gdp_record("gdp_holdout", "gdp_rnnlm_2", "gdp_fine_tuned", 0.2) | {"policy": other},
        gdp_record("gdp_holdout", "transformer_xl_2", "gdp_zero_shot", 0.4) | {"policy": own},
    ]
    write(folder, *found)
    return folder


def rows_of(page: Table, section: str) -> dict[str, dict[str, str]]:
    grid = next(s for s in page.sections if s.title == section)
    return {row[0]: dict(zip(grid.header, row, strict=True)) for row in grid.rows}


def test_a_batch_gains_over_its_own_time(results: Path) -> None:
    """(0.3 - 0.2) / 0.2."""
    page = build_table("gdp_table2", results)
    row = rows_of(page, "The paper's table")["2-layer RNNLM (2)"]
    assert row["GDP-batch"] == "0.20"
    assert row["GDP-one [1]"] == "0.30"
    assert row["speed-up"] == "50.0% (0%)"
    assert row["speed-up, tuned"] == "missing (-)"
    assert page.found == 3
    [found] = rows_of(page, "The policies").values()
    assert found["trained on"] == "gdp_rnnlm_2 (2), gnmt_2 (2)"
    assert found["this graph"] == "**one of them**"
    assert any("**Judged on a graph that the policy was trained on**" in n for n in page.notes)


def test_a_small_batch_is_held_against_the_best_of_the_others(results: Path) -> None:
    """The expert's 0.25 is the best: (0.25 - 0.2) / 0.2 and (0.25 - 0.5) / 0.5."""
    page = build_table("gdp_table3", results)
    gains = {
        n: rows_of(page, f"Batch {n}")["2-layer RNNLM (2)"]["speed-up over the best other"]
        for n in (2, 3)
    }
    assert gains == {2: "25.0% (0%)", 3: "-50.0% (0%)"}
    [left_out] = [note for note in page.notes if "not built here" in note]
    assert "batch 5, three times 8-layer RNNLM: 4.5%" in left_out
    assert page.found == 6


def test_a_hold_out_that_was_trained_on_says_so(results: Path) -> None:
    page = build_table("gdp_figure2", results)
    bars = rows_of(page, "The figure's bars")
    assert bars["2-layer RNNLM (2)"]["zero-shot [2]"] == "0.40 (0.243, x1.65)"
    assert bars["2-layer RNNLM (2)"]["fine-tuned [2]"] == "0.20 (0.231, x0.87)"
    seen = bars["2-layer Transformer-XL (2)"]["zero-shot [2]"]
    assert seen == "0.40 (0.417, x0.96) (trained on it)"
    against = rows_of(page, "Faster on")
    assert against["human"]["zero-shot"] == "1 of 2 (5 of 6)"
    assert against["GDP-one"]["fine-tuned"] == "1 of 1 (1 of 6)"
    assert against["METIS"]["zero-shot"] == "0 of 0"


def test_the_figure_has_a_bar_for_each_time_ours_and_theirs(results: Path) -> None:
    figure = gdp_figure2.plot(load_records(results), load_published())
    bars = {
        axes.get_title(): sorted(bar.get_height() for bar in axes.patches) for axes in figure.axes
    }
    assert bars["2-layer RNNLM, 2 GPUs"] == sorted(
        [0.25, 0.3, 0.4, 0.2, 0.35, 0.275, 0.243, 0.233, 0.243, 0.231]
    )
    assert len(bars) == 6
    assert png(figure).startswith(b"\x89PNG")


def parts_page(tmp_path: Path, *found: dict[str, Any]) -> Table:
    write(tmp_path, *found)
    return build_table("gdp_parts", tmp_path)


def claim(page: Table, part: str, planner: str) -> dict[str, str]:
    grid = next(s for s in page.sections if s.title == "The published claims")
    rows = [dict(zip(grid.header, row, strict=True)) for row in grid.rows]
    return next(row for row in rows if (row["part"], row["planner"]) == (part, planner))


def test_a_part_gains_what_it_takes_without_it(tmp_path: Path) -> None:
    """(0.6 - 0.5) / 0.5 and (0.9 - 1.0) / 1.0; the mean of 1.2 and 0.9 is 1.039.

    Where nothing fits without a part there is no gain.
    """
    page = parts_page(
        tmp_path,
        gdp_record("gdp", "gdp_rnnlm_2", "gdp", 0.5),
        gdp_record("gdp_ablation", "gdp_rnnlm_2", "gdp_no_attention", 0.6),
        gdp_record("gdp", "gnmt_2", "gdp", 1.0),
        gdp_record("gdp_ablation", "gnmt_2", "gdp_no_attention", 0.9),
        gdp_record("gdp", "gnmt_8", "gdp", 1.0),
        gdp_record("gdp_ablation", "gnmt_8", "gdp_no_attention", 0.9) | {"status": "oom"},
    )
    rows = rows_of(page, "GDP, on one graph")
    assert rows["2-layer RNNLM (2)"]["without attention"] == "0.60 (20.0 %)"
    assert rows["2-layer GNMT (2)"]["without attention"] == "0.90 (-10.0 %)"
    assert rows["8-layer GNMT (8)"]["without attention"] == "OOM"
    found = claim(page, "attention", "GDP")
    assert (found["published"], found["GEOMEAN [2]"]) == ("18 %", "3.9 %")
    assert found["faster with it on"] == "1 of 2"
    assert found["verdict [1]"] == "undecided"
    assert page.found == 6


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ([0.20, 0.25, 0.30, 0.22, 0.35, 0.40], "holds"),
        ([0.01, 0.02, 0.03, 0.02, 0.05, 0.04], "does not hold"),
        ([-0.1, 0.02, 0.30, 0.02, 0.05, 0.04], "undecided"),
    ],
)
def test_a_claim_is_decided_by_the_interval_over_graphs(
    tmp_path: Path, gains: list[float], verdict: str
) -> None:
    """Against 18 % on average; six graphs are as few as have an interval."""
    graphs = ["gdp_rnnlm_2", "gdp_rnnlm_4", "gnmt_2", "gnmt_4", "transformer_xl_2"]
    made = []
    for task, gain in zip([*graphs, "transformer_xl_4"], gains, strict=True):
        made.append(gdp_record("gdp", task, "gdp", 1.0))
        made.append(gdp_record("gdp_ablation", task, "gdp_no_attention", 1.0 + gain))
    page = parts_page(tmp_path, *made)
    assert claim(page, "attention", "GDP")["verdict [1]"] == verdict
    assert claim(page, "superposition", "GDP")["verdict [1]"] == "missing"


def test_the_whole_planner_alone_shows_no_part(tmp_path: Path) -> None:
    assert parts_page(tmp_path, gdp_record("gdp", "gnmt_2", "gdp", 1.0)).found == 0


@pytest.mark.parametrize("page", ["gdp_table2", "gdp_table3", "gdp_figure2"])
def test_what_policies_are_held_against_is_no_table_of_policies(tmp_path: Path, page: str) -> None:
    write(tmp_path, gdp_record("gdp", "gnmt_2", "gdp", 1.0))
    write(tmp_path, gdp_record("gdp", "gnmt_2", "gdp_tuned", 1.0))
    assert build_table(page, tmp_path).found == 0
