"""ColocRL's Table 2: its formula, its groups, its rows of one task on several GPU counts."""

import pytest
from suite_records import GIB, record

from suite.bench.cell import Cell
from suite.bench.grid import load_grid
from suite.bench.record import write_record
from suite.core.errors import InputError
from suite.report.load_records import load_published, load_records
from suite.report.table_grids import load_grids
from suite.report.tables.colocrl_table2 import table

TIMES = {"cpu_only": 9.0, "gpu_only": 3.0, "scotch": 5.0, "mincut": 4.0, "human_expert": 2.0}


def colocrl_record(placer, gpus, seconds, seed=0, **more):
    devices = ["cpu:0", *(f"gpu:{i}" for i in range(gpus))]
    cell = {"grid": "colocrl", "machine": "k80", "gpus": gpus, "task": "colocrl_nmt"}
    memory = {
        "peak_memory": dict.fromkeys(devices, GIB),
        "capacity": dict.fromkeys(devices, 4 * GIB),
    }
    cell |= {"placer": placer, "seed": seed}
    return record("nmt_2", placer, seconds, **{"cell": cell, **memory, **more})


def built(folder, *records):
    for one in records:
        write_record(one, None, Cell(**one["cell"]).path(folder))
    return table(load_records(folder), load_published())


def rows_of(page, section):
    grid = next(s for s in page.sections if s.title == section)
    return [dict(zip(grid.header, row, strict=True)) for row in grid.rows]


@pytest.fixture
def page(tmp_path):
    baselines = [colocrl_record(p, g, s) for p, s in TIMES.items() for g in (2, 4)]
    learned = colocrl_record("colocrl", 2, 1.6, planner={"groups": 140})
    return built(tmp_path, *baselines, learned)


def test_speedup_is_over_the_learned_time(page):
    """(2.0 - 1.6) / 1.6, where HDP's formula would give 20 %."""
    two, four = [r for r in rows_of(page, "The paper's table") if r["Tasks"].startswith("NMT")]
    assert two["Speedup [5]"] == "25.0% (23.5%)"
    assert two["RL-based [5]"] == "**1.60** (4.04, x0.40)"
    assert four["Speedup [5]"] == "missing (20.6%)"
    data = page.data[(page.data["metric"] == "speedup") & (page.data["gpus"] == 2)]
    assert data.set_index("task").loc["colocrl_nmt", "value"] == pytest.approx(25.0)


def test_single_device_times_stand_in_the_rows_of_both_counts(page):
    two, four = [r for r in rows_of(page, "The paper's table") if r["Tasks"].startswith("NMT")]
    assert two["Single-CPU [1]"] == four["Single-CPU [1]"] == "9.00 (10.72, x0.84)"
    assert (two["#GPUs"], four["#GPUs"]) == ("2", "4")


def test_groups_stand_beside_the_papers_once_a_task(page):
    groups = rows_of(page, "Co-location groups")
    assert [row["paper"] for row in groups] == ["188", "280", "83"]
    assert [row["ours [6]"] for row in groups] == ["missing", "140", "missing"]
    assert groups[1]["ours / paper"] == "x0.50"
    assert len(rows_of(page, "Graphs")) == 3


def test_notes_tell_the_gpu_counts_apart(page):
    assert "NMT (batch 64), 4 GPUs MinCut x0.34" in page.markdown()
    assert len([r for r in rows_of(page, "Peak memory") if "NMT" in r["Tasks"]]) == 2
    assert page.markdown().count("NMT (batch 64), chosen here") == 1


def test_oom_times_tell_the_gpu_counts_apart(tmp_path):
    lost = {"status": "oom", "oom": ["gpu:0"]}
    page = built(
        tmp_path,
        colocrl_record("scotch", 2, 5.0, **lost),
        colocrl_record("scotch", 4, 7.0, **lost),
    )
    assert "colocrl_nmt on 2 GPUs scotch 5.00, colocrl_nmt on 4 GPUs scotch 7.00" in page.markdown()


def test_the_table_expects_the_cells_of_its_grid(page):
    jobs = load_grid("colocrl").jobs
    assert page.expected == len(jobs)
    assert page.found == 2 * len(TIMES) + 1


def test_a_tables_name_stands_for_its_grids():
    assert load_grids("colocrl_table2").jobs == load_grid("colocrl").jobs
    both = [job.cell.grid for job in load_grids("hdp_table1").jobs]
    assert list(dict.fromkeys(both)) == ["quick", "reference"]
    assert load_grids("colocrl", seed=3).jobs[0].base_seed == 3


def test_a_name_that_is_neither_grid_nor_table_is_refused():
    with pytest.raises(InputError, match="no grid or table 'colocrl_table'; did you mean"):
        load_grids("colocrl_table")
