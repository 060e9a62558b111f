"""HSDAG's Tables 3 to 6: published beside ours, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from suite_records import GIB, record

from suite.bench.cell import Cell
from suite.bench.record import write_record
from suite.report.load_records import load_published, load_records
from suite.report.table import Section
from suite.report.table_grids import load_grids
from suite.report.tables import hsdag_table3, hsdag_table4, hsdag_table5, hsdag_table6
from suite.report.tables._hsdag import spread

DEVICES = ("cpu:0", "gpu:0")
Records = Sequence[dict[str, Any]]


def one(grid: str, placer: str, seconds: float, seed: int = 0, **more: Any) -> dict[str, Any]:
    cell = {"grid": grid, "machine": "flex170_scaled", "gpus": 1, "task": "hsdag_bert"}
    cell |= {"placer": placer, "seed": seed}
    memory = {"peak_memory": dict.fromkeys(DEVICES, GIB), "capacity": dict.fromkeys(DEVICES, GIB)}
    return record("nmt_2", placer, seconds, **{"cell": cell, **memory, **more})


def frame(folder: Path, records: Records) -> pd.DataFrame:
    for each in records:
        write_record(each, None, Cell(**each["cell"]).path(folder))
    return load_records(folder)


def cells(section: Section, *first: str) -> dict[str, str]:
    """The row that begins like this, by head."""
    (row,) = (row for row in section.rows if row[: len(first)] == first)
    return dict(zip(section.header, (cell.replace("*", "") for cell in row), strict=True))


def test_what_the_released_code_would_refuse_is_told(tmp_path: Path) -> None:
    """It counts everything on one device as 1e10 s, whatever that takes here."""
    busy = [{"cpu:0": 0.0, "gpu:0": 0.0027}, {"cpu:0": 0.001, "gpu:0": 0.0026}]
    made = [one("hsdag", "hsdag_released", 2.7e-3, i, busy=busy[i]) for i in range(2)]
    page = hsdag_table5.table(frame(tmp_path, made), load_published())
    (told,) = (note for note in page.notes if "1e10 s" in note)
    assert "everything on one device in 1 of 2 searches" in told
    page = hsdag_table5.table(frame(tmp_path / "other", made[1:]), load_published())
    assert not any("1e10 s" in note for note in page.notes)


def test_variants_stand_below_the_original_and_those_apart_are_named(tmp_path: Path) -> None:
    times = {"hsdag": 2 * (2.7, 2.8, 2.9), "without_node_id": 2 * (2.8, 2.85, 3.0)}
    times |= {"without_structure": 2 * (3.0, 3.1, 3.2)}
    made = [one("hsdag", "cpu_only", 0.00638)]
    for placer, milliseconds in times.items():
        grid = "hsdag" if placer == "hsdag" else "hsdag_ablation"
        made += [one(grid, placer, 1e-3 * t, seed) for seed, t in enumerate(milliseconds)]
    page = hsdag_table3.table(frame(tmp_path, made), load_published())
    row = cells(page.sections[0], "w/o node ID")
    assert row["BERT, ms"] == "2.850 [2.800-3.000], best 2.800, n=6 (2.79, x1.02)"
    assert row["BERT, %"] == "55.3 (56.4)"
    assert cells(page.sections[0], "w/o output shape")["BERT, ms"] == "missing (2.78)"
    (apart,) = (note for note in page.notes if "apart from that of hsdag:" in note)
    assert apart.endswith("BERT w/o graph structural features (slower).")
    assert page.found == len(made)


def test_a_variant_that_is_apart_on_the_other_side_is_faster_and_one_that_touches_is_not_apart(
    tmp_path: Path,
) -> None:
    times = {"hsdag": 3 * (2.7, 2.9), "without_node_id": 3 * (2.5, 2.6)}
    times |= {"without_structure": 3 * (2.9, 3.1), "without_output_shape": 3 * (2.5, 2.7)}
    made = []
    for placer, milliseconds in times.items():
        grid = "hsdag" if placer == "hsdag" else "hsdag_ablation"
        made += [one(grid, placer, 1e-3 * t, seed) for seed, t in enumerate(milliseconds)]
    page = hsdag_table3.table(frame(tmp_path, made), load_published())
    (apart,) = (note for note in page.notes if "apart from that of hsdag:" in note)
    assert apart.endswith("apart from that of hsdag: BERT w/o node ID (faster).")


def test_a_few_seeds_are_not_called_apart(tmp_path: Path) -> None:
    """Their ranges are by chance, in one case of three where there are two of each."""
    made = [one("hsdag", "hsdag", 2.7e-3, seed) for seed in range(6)]
    made += [one("hsdag_ablation", "without_node_id", 3e-3, seed) for seed in range(5)]
    page = hsdag_table3.table(frame(tmp_path, made), load_published())
    (apart,) = (note for note in page.notes if "apart from that of hsdag:" in note)
    assert apart.endswith("apart from that of hsdag: none.")


def test_without_an_ablation_there_is_no_table_of_them(tmp_path: Path) -> None:
    page = hsdag_table3.table(frame(tmp_path, [one("hsdag", "hsdag", 0.003)]), load_published())
    assert page.found == 0


def test_every_ablation_of_the_table_is_in_a_grid() -> None:
    planned = {job.cell.placer for job in load_grids("hsdag_table3").jobs}
    assert {*hsdag_table3.FEATURES, *hsdag_table3.TUNED} <= planned


def test_outputs_stand_beside_the_published(tmp_path: Path) -> None:
    def errors(cpu: float, gpu: float) -> dict[str, Any]:
        each = {"cpu:0": cpu, "gpu:0": gpu}
        return {name: {"mse": off, "cosine": 0.5, "l2": 2 * off} for name, off in each.items()}

    run = {"virtual": True, "backend": "openvino"}
    made = [
        one(hsdag_table4.RUN, "gpu_only", 0.5, outputs_against=errors(3e-6, 0), parts=1, **run),
        one(hsdag_table4.RUN, "hsdag", 0.25, outputs_against=errors(1e-6, 2e-6), parts=7, **run),
        one(hsdag_table4.RUN, "hsdag", 0.75, 1, outputs_against=errors(5e-6, 4e-6), parts=9, **run),
    ]
    page = hsdag_table4.table(frame(tmp_path, made), load_published())
    outputs, parts = page.sections
    assert cells(outputs, "BERT", "CPU and GPU")["MSE"] == "3e-06 (3.049e-05)"
    of_hsdag = cells(outputs, "BERT", "GPU and HSDAG")
    assert of_hsdag["MSE"] == "3e-06 [2e-06-4e-06, n=2] (3.174e-05)"
    assert of_hsdag["CS"] == "0.500000 [0.500000-0.500000, n=2] (0.999)"
    assert cells(parts, "BERT", "hsdag")["parts"] == "8 [7-9, n=2]"
    assert cells(parts, "BERT", "hsdag")["ms an inference, measured"] == "500.0 [250.0-750.0, n=2]"
    assert any("**virtual**" in note for note in page.notes)


def test_a_spread_is_about_the_median() -> None:
    """The mean would be 4."""
    assert spread([1.0, 2.0, 9.0], ".0f") == "2 [1-9, n=3]"


def test_searches_are_timed_until_they_found_the_optimum(tmp_path: Path) -> None:
    bound = {"lower_bound": 0.002, "bound_kind": "min_cut", "semantics": "hetero"}
    # The last two are on either side of a thousandth above the optimum.
    histories = (
        *([[1, 0.1, 0.004], [7, 0.5, 0.002]], [[3, 0.2, 0.003]]),
        *([[5, 0.2, 0.002001]], [[5, 0.2, 0.002003]]),
    )
    made = [
        one("hsdag", "hsdag", h[-1][2], seed, history=h, cpu_seconds=10.0 + seed, **bound)
        for seed, h in enumerate(histories)
    ]
    made.append(one("hsdag", "min_cut_exact", 0.002, **bound))
    page = hsdag_table5.table(frame(tmp_path, made), load_published())
    seconds, effort = page.sections
    assert cells(seconds, "HSDAG")["BERT"] == "12 [10-13, n=4] (2765)"
    assert cells(seconds, "RNN-based")["BERT"] == "missing (OOM)"
    row = cells(effort, "BERT", "HSDAG")
    assert row["seeds that found the optimum"] == "2 of 4"
    assert row["after placements"] == "6 [5-7, n=2]"
    assert row["its best found at"] == "5 [3-7, n=4]"
    row = cells(effort, "BERT", "Minimum cut")
    assert (row["its best found at"], row["seeds that found the optimum"]) == ("-", "1 of 1")


def test_settings_are_those_of_the_records(tmp_path: Path) -> None:
    used = {"hidden": 128, "features": ["type", "shape"], "episodes": 100}
    other = {"hidden": 128, "episodes": 50, "features": ["type"]}
    made = [
        one("hsdag", "hsdag", 0.003, parameters=used),
        one("hsdag_concurrent", "hsdag", 0.003, parameters=used),
        one("hsdag", "hsdag_tuned", 0.003, parameters=other),
    ]
    page = hsdag_table6.table(frame(tmp_path, made), load_published())
    row = cells(page.sections[0], "max_episodes")
    assert (row["paper"], row["HSDAG"], row["HSDAG tuned"]) == ("100", "100", "50")
    assert row["HSDAG released"] == "missing"
    assert cells(page.sections[1], "`features`")["HSDAG"] == "type, shape"


@pytest.mark.parametrize("number", range(2, 7))
def test_a_table_can_be_made_of_nothing(tmp_path: Path, number: int) -> None:
    from suite.report.build import build_table

    page = build_table(f"hsdag_table{number}", tmp_path)
    assert page.found == 0
    assert "missing" in page.markdown()
