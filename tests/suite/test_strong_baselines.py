"""The table of strong baselines, from records made by hand."""

from __future__ import annotations

import pytest
from suite_records import record, write

from suite.report.build import build_table


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    write(folder, record("nmt_4", "metis", 0.2, grid="strong", wall_seconds=1.25, evaluations=3))
    write(folder, record("nmt_4", "scotch", 0.1, grid="strong"))
    write(folder, record("nmt_4", "gpu_only", 0.15, grid="strong", status="oom"))
    write(folder, record("nmt_4", "annealing", 0.075, grid="race"))
    write(folder, record("nmt_4", "hdp", 0.3, grid="reference", wall_seconds=40.0))
    for seed, seconds in enumerate((0.1, 0.2, 0.4)):
        write(folder, record("nmt_4", "hdp_tuned", seconds, seed, grid="reference"))
    return build_table("strong_baselines", folder).markdown()


def row(text, start):
    [line] = [line for line in text.splitlines() if line.startswith(start)]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_cell_has_time_ratio_effort_and_the_fastest_is_bold(text):
    section = text.split("## nmt_4")[1].split("##")[0]
    assert row(section, "| metis")[2] == "0.20 (x4.00; 1.2 s, 3)"
    assert row(section, "| scotch")[2] == "**0.10** (x2.00; 0.5 s, 1)"
    assert row(section, "| gpu_only")[2] == "OOM"
    assert row(section, "| m_etf")[2] == "missing"
    assert row(section, "| lower bound")[2] == "0.050"


def test_the_race_has_the_learned_planners_beside(text):
    cells = row(text.split("## Sixty seconds")[1].split("## ")[0], "| nmt_4")
    assert cells[2] == "0.075 (x1.50)"
    assert cells[3] == "missing"
    assert "0.300 (x6.00, 40 s)" in cells
    assert "0.200 (x4.00 [2.00-8.00], 0 s)" in cells


def test_a_grid_that_ran_on_two_processors_says_which_placer_ran_where(tmp_path):
    made = record("nmt_4", "metis", 0.2)["provenance"]
    slow, fast = ({"provenance": made | {"cpu": cpu}} for cpu in ("slow", "fast"))
    write(tmp_path, record("nmt_4", "metis", 0.2, grid="strong", **slow))
    write(tmp_path, record("nmt_4", "scotch", 0.1, grid="strong", **slow))
    write(tmp_path, record("nmt_4", "annealing", 0.1, grid="strong", **fast))
    write(tmp_path, record("nmt_4", "annealing", 0.1, grid="race", **fast))
    text = build_table("strong_baselines", tmp_path).markdown()
    told = "Grid `strong`, whose seconds were taken on different hosts: annealing on fast; metis,"
    assert f"{told} scotch on slow." in text
    assert "Grid `race`" not in text
