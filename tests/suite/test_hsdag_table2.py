"""HSDAG's Table 2: published beside ours, by two semantics, the bound that is met."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from suite_records import GIB, record

from suite.bench.cell import Cell
from suite.bench.record import write_record
from suite.report.load_records import load_published, load_records
from suite.report.table_grids import load_grids
from suite.report.tables.hsdag_table2 import table


def one(placer: str, seconds: float, grid: str = "hsdag", seed: int = 0, **more: Any) -> Any:
    cell = {"grid": grid, "machine": "flex170_scaled", "gpus": 1, "task": "hsdag_bert"}
    cell |= {"placer": placer, "seed": seed}
    devices = ("cpu:0", "gpu:0")
    memory = {
        "peak_memory": dict.fromkeys(devices, GIB),
        "capacity": dict.fromkeys(devices, 4 * GIB),
    }
    return record("nmt_2", placer, seconds, **{"cell": cell, **memory, **more})


def test_ours_stands_beside_the_published_and_the_bound(tmp_path: Path) -> None:
    bound = {"lower_bound": 0.0025, "bound_kind": "min_cut", "semantics": "hetero"}
    records = [
        one("cpu_only", 0.00638, **bound),
        one("hsdag", 0.00275, **bound),
        one("hsdag", 0.003, seed=1, **bound),
        one("hsdag", 0.0028, seed=2, **bound),
        one("gpu_only", 0.00277, "hsdag_concurrent"),
    ]
    for each in records:
        write_record(each, None, Cell(**each["cell"]).path(tmp_path))
    page = table(load_records(tmp_path), load_published())
    in_turn, beside = (dict(zip(s.header, s.rows[2], strict=True)) for s in page.sections[:2])
    assert in_turn["Tasks"] == "BERT"
    assert in_turn["CPU-only [1]"].replace("*", "") == "6.380 (6.38, x1.00)"
    assert in_turn["HSDAG"].replace("*", "").endswith("best 2.750, n=3 (2.67, x1.05)")
    assert in_turn["Lower bound"] == "2.500 (min_cut)"
    assert in_turn["HSDAG over it"] == "+12.0 %"
    assert beside["GPU-only [1]"] == "2.770 (2.77, x1.00)"
    assert beside["HSDAG over it"] == "missing"
    assert in_turn["OpenVINO-CPU [4]"] == "missing (6.57)"
    assert in_turn["RNN-based [3]"] == "missing (OOM)"
    assert (page.found, page.expected) == (5, len(load_grids("hsdag_table2").jobs))
    assert any("semantics `hetero`" in note for note in page.notes)


def test_the_optimum_is_said_where_it_is_proven(tmp_path: Path) -> None:
    bound = {"lower_bound": 0.00277, "bound_kind": "min_cut", "semantics": "hetero"}
    for each in (one("gpu_only", 0.00277, **bound), one("hsdag", 0.00275, **bound)):
        write_record(each, None, Cell(**each["cell"]).path(tmp_path))
    page = table(load_records(tmp_path), load_published())
    (proven,) = (note for note in page.notes if "proven optimum" in note)
    assert "everything on the GPU is the proven optimum of BERT." in proven


@pytest.mark.parametrize(("number", "unexplained"), [("2", set()), ("3", {"without_structure"})])
def test_the_printed_speedups_follow_from_the_printed_seconds(
    number: str, unexplained: set[str]
) -> None:
    """All are over CPU-only, cut off rather than rounded in places."""
    everything = load_published()
    frame = everything[(everything["paper"] == "HSDAG") & (everything["table"] == number)]
    odd = set()
    for _, rows in frame[frame["status"] == "ok"].groupby("task"):
        value = rows.set_index("column")["value"]
        for column in value.index:
            if f"{column}_speedup" in value:
                expected = 100 * (1 - value[column] / value["cpu_only"])
                if value[f"{column}_speedup"] != pytest.approx(expected, abs=0.14):
                    odd.add(column)
    assert odd == unexplained
