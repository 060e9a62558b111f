"""GDP's Table 1: its formula, its means, its OOM pattern, from records made by hand."""

import pytest
from suite_records import GIB, record

from suite.bench.cell import Cell
from suite.bench.record import write_record
from suite.report.build import build_table
from suite.report.table_grids import load_grids

GPUS = {"gdp_rnnlm_2": 2, "amoebanet_d": 4}


def gdp_record(task, placer, seconds, seed=0, **more):
    devices = ["cpu:0", *(f"gpu:{i}" for i in range(GPUS[task]))]
    cell = {"grid": "gdp", "machine": "p100", "gpus": GPUS[task], "task": task}
    cell |= {"placer": placer, "seed": seed}
    memory = {
        "peak_memory": dict.fromkeys(devices, GIB),
        "capacity": dict.fromkeys(devices, 4 * GIB),
    }
    return record("nmt_2", placer, seconds, **{"cell": cell, **memory, **more})


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    found = [
        gdp_record("gdp_rnnlm_2", "gdp", 0.2, cpu_seconds=10.0),
        gdp_record("gdp_rnnlm_2", "human_expert", 0.3),
        gdp_record("gdp_rnnlm_2", "metis", 0.4, status="oom", oom=["gpu:0"]),
        *(gdp_record("gdp_rnnlm_2", "hdp", 0.4, s, cpu_seconds=25.0 * (3 - s)) for s in range(3)),
        gdp_record("amoebanet_d", "gdp", 0.5),
        gdp_record("amoebanet_d", "human_expert", 0.6),
        gdp_record("amoebanet_d", "metis", 0.45),
    ]
    for one in found:
        write_record(one, None, Cell(**one["cell"]).path(folder))
    return build_table("gdp_table1", folder)


def rows_of(page, section):
    grid = next(s for s in page.sections if s.title == section)
    return {row[0]: dict(zip(grid.header, row, strict=True)) for row in grid.rows}


def test_speedups_are_over_gdps_time(page):
    """(0.3 - 0.2) / 0.2; HDP's formula would give a third."""
    row = rows_of(page, "The paper's table")["2-layer RNNLM (2)"]
    assert row["speed-up over HP [5]"] == "50.0% (9.8%)"
    assert row["over HDP [5]"] == "100.0% (4%)"
    assert row["GDP-one [4]"] == "**0.20** (0.234, x0.85)"
    assert row["HDP [4]"].startswith("0.40 [range 0.40-0.40], best 0.40, n=3 (0.243, x1.65)")


def test_the_mean_is_geometric_over_the_rows_that_have_both(page):
    """sqrt(1.5 x 1.2) = 1.342; of HDP there is one row."""
    rows = rows_of(page, "The paper's table")
    assert rows["GEOMEAN"]["speed-up over HP [5]"] == "34.2% of 2 (16%)"
    assert rows["GEOMEAN"]["over HDP [5]"] == "100.0% of 1 (9.2%)"
    assert rows["AmoebaNet (4)"]["over HDP [5]"] == "no base (6.1%)"
    assert rows["8-layer GNMT (8)"]["HP [3]"] == "missing (0.610)"


def test_the_oom_pattern_is_compared(page):
    row = rows_of(page, "The paper's table")["2-layer RNNLM (2)"]
    assert row["METIS [2]"] == "OOM (0.355)"
    assert "**only ours**: 2-layer RNNLM METIS)" in page.notes[1]
    assert "at most 25% of a GPU's memory" in page.notes[1]


def test_searches_are_compared_by_the_least_of_their_cpu_seconds(page):
    rows = rows_of(page, "CPU seconds of whole searches")
    assert rows["2-layer RNNLM (2)"]["HDP / GDP-one"] == "x2.50 (x2.95)"
    assert rows["AmoebaNet (4)"]["HDP / GDP-one"] == "missing (x58.8)"
    assert rows["GEOMEAN"]["HDP / GDP-one"] == "x2.50 of 1 (x15)"
    data = page.data[page.data["metric"] == "search_speedup"].set_index("task")
    assert data.loc["gdp_rnnlm_2", "value"] == pytest.approx(2.5)


def test_the_mean_of_search_speedups_is_geometric(tmp_path):
    for task, seconds in (("gdp_rnnlm_2", 20.0), ("amoebanet_d", 80.0)):
        for placer, cpu_seconds in (("gdp", 10.0), ("hdp", seconds)):
            one = gdp_record(task, placer, 0.2, cpu_seconds=cpu_seconds)
            write_record(one, None, Cell(**one["cell"]).path(tmp_path))
    rows = rows_of(build_table("gdp_table1", tmp_path), "CPU seconds of whole searches")
    # sqrt(2 x 8), not their mean of 5.
    assert rows["GEOMEAN"]["HDP / GDP-one"] == "x4.00 of 2 (x15)"


def test_the_expert_is_told_as_a_multiple_of_the_bound(page):
    """0.3 s over 0.05 s."""
    assert rows_of(page, "Not in the paper")["2-layer RNNLM"]["HP / bound"] == "x6.00"


def test_every_printed_row_is_in_the_grid(page):
    jobs = [j for j in load_grids("gdp_table1").jobs if j.cell.task != "gdp_rnnlm_8"]  # Table 3's
    assert len(rows_of(page, "The paper's table")) == 13
    assert page.expected == len(jobs) == 12 * (1 + 1 + 5 + 3 + 3 + 3 + 3)
