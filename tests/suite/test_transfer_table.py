"""The table of what Placeto's policies do on other graphs, from records made by hand."""

from __future__ import annotations

import pytest
from suite_records import record, write

from suite.report.build import build_table


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for seed, seconds in enumerate((0.1, 0.3, 0.2)):
        write(folder, record("nmt_2", "placeto_zero_shot", seconds, seed, grid="transfer"))
        curve = [[1, 0.1, 0.5], [10 + seed, 0.2, 0.2]]
        tuned = record("nmt_2", "placeto_fine_tuned", 0.2, seed, grid="transfer", history=curve)
        write(folder, tuned)
    seen = {"policy": {"digest": "p", "seen": True, "trained_on": []}}
    write(folder, record("rnnlm", "placeto_zero_shot", 0.5, grid="transfer", **seen))
    write(folder, record("rnnlm", "metis", 0.4, grid="transfer"))
    write(folder, record("nmt_2", "metis", 0.25, grid="transfer"))
    oom = record("inception_v3", "placeto_zero_shot", 0.1, grid="transfer", status="oom")
    write(folder, oom)
    write(folder, record("inception_v3", "metis", 0.3, grid="transfer"))
    return build_table("transfer", folder).markdown()


def row(text, section, start):
    text = text.split(f"## {section}")[1].split("\n## ")[0]
    [line] = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_a_cell_has_median_and_range_and_says_what_was_trained_on_its_own_graph(text):
    cells = row(text, "Step time", "Placeto, zero-shot")
    assert cells[:2] == ["OOM", "missing"]
    assert cells[2] == "0.5 (trained on it)"
    assert cells[3] == "0.2 [0.1-0.3, n=3]"


def test_graphs_are_counted_on_which_both_have_a_time(text):
    assert row(text, "Faster on so many graphs", "METIS") == ["1 of 3", "1 of 1"]


def test_placements_are_counted_until_as_fast_as_others(text):
    """METIS takes 0.25; two of three seeds are there after eleven."""
    cells = row(text, "Placements evaluated by which", "nmt_2")
    assert cells[:3] == ["missing", "missing", "11"]


def test_a_search_that_found_nothing_that_fits_was_never_as_fast(tmp_path):
    """One of three from scratch was, and its 2 s alone are what another is to reach."""
    found = {"grid": "transfer", "history": [[7, 0.1, 2.0]]}
    write(tmp_path, record("nmt_2", "metis", 2.0, grid="transfer"))
    write(tmp_path, record("nmt_2", "annealing_1000", 2.0, **found))
    write(tmp_path, record("nmt_2", "placeto_from_scratch", 2.0, **found))
    for seed in (1, 2):
        oom = {"grid": "transfer", "status": "oom"}
        write(tmp_path, record("nmt_2", "placeto_from_scratch", 1.0, seed, **oom))
    text = build_table("transfer", tmp_path).markdown()
    columns = row(text, "Placements evaluated by which", "graph")
    cells = dict(zip(columns, row(text, "Placements evaluated by which", "nmt_2"), strict=True))
    assert cells["METIS: Placeto from scratch, of 50"] == "not reached"
    assert cells["Placeto from scratch at its end: annealing, of 1,000"] == "7"


def test_the_page_and_that_of_learned_moves_name_each_other(text, tmp_path):
    assert "(learned_moves.md)" in text.split("\n## ")[0]
    other = build_table("learned_moves", tmp_path).markdown()
    assert "(transfer.md)" in other.split("\n## ")[0]
