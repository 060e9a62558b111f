"""Columns of what backends measured in the tables of simulated grids, from records by hand."""

import io

import pandas as pd
import pytest
from suite_records import failed, record, write

from suite.report.build import build_table

MAIN = "The paper's table"


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def ran(task, placer, times, grid="gpu@session", machine="mine", **more):
    """A record of a grid run in a session on a machine of one's own."""
    simulated = {"step_time": 0.5, "peak_memory": {"gpu:0": 100}, "oom": []}
    step = {"step_times": times, "backend": "session", "simulated": simulated}
    made = record(task, placer, sorted(times)[len(times) // 2], grid=grid, **step, **more)
    return made | {"cell": made["cell"] | {"machine": machine}}


def row(results, table, title, label):
    section = next(s for s in build_table(table, results).sections if s.title == title)
    return dict(zip(section.header, next(r for r in section.rows if r[0] == label), strict=True))


def test_a_backends_column_stands_behind_each_simulated_one(results):
    write(results, record("nmt_2", "scotch", 1.0), record("nmt_2", "human_expert", 0.9))
    write(results, ran("nmt_2", "scotch", [1.6, 1.5, 1.7]), ran("nmt_2", "human_expert", [2.0]))
    lost = failed("nmt_2", "gpu_only", "oom", "gpu:0 is full") | {"backend": "session"}
    lost["cell"] |= {"grid": "gpu@session", "machine": "mine"}
    write(results, lost)
    cells = row(results, "hdp_table1", MAIN, "NMT (2-layer)")
    heads = list(cells)
    assert heads[heads.index("Scotch") + 1] == "Scotch, session on mine"
    assert heads[heads.index("#GPUs") + 1] == "Human Expert [4]"
    assert cells["Scotch"] == "1.00 (3.21, x0.31)"
    assert cells["Scotch, session on mine"] == "**1.60** (3.21, x0.50)"
    assert cells["GPU Only, session on mine"] == "OOM (OOM)"
    assert cells["MinCut, session on mine"] == "missing (5.34)"
    assert cells["Hierarchical Planner, session on mine"] == "not run (0.84)"
    page = build_table("hdp_table1", results)
    assert any("session on mine, grid `gpu@session`" in note for note in page.notes)


def test_the_columns_are_in_the_data_under_a_name_of_their_own(results):
    write(results, record("nmt_2", "scotch", 1.0), ran("nmt_2", "scotch", [1.6]))
    data = pd.read_csv(io.StringIO(build_table("hdp_table1", results).csv()))
    mine = data[(data["task"] == "nmt_2") & (data["column"] == "scotch")].set_index("metric")
    assert mine.loc["step_time", "value"] == 1.0
    assert mine.loc["step_time, session on mine", "value"] == 1.6


def test_without_real_runs_there_are_no_such_columns(results):
    write(results, record("nmt_2", "scotch", 1.0))
    assert len(row(results, "hdp_table1", MAIN, "NMT (2-layer)")) == 9


def test_what_fewer_gpus_ran_is_in_no_column(results):
    write(results, record("nmt_2", "scotch", 1.0))
    one = ran("nmt_2", "scotch", [1.6])
    one["cell"] |= {"gpus": 1}
    write(results, one)
    assert len(row(results, "hdp_table1", MAIN, "NMT (2-layer)")) == 9
    assert "scotch" in build_table("measured", results).data["placer"].tolist()


def test_strong_baselines_have_them_too(results):
    write(results, record("nmt_4", "scotch", 0.1, grid="strong"))
    write(results, ran("nmt_4", "scotch", [0.3], grid="strong@session"))
    cells = row(results, "strong_baselines", "nmt_4", "scotch")
    assert cells["4 GPUs"].startswith("**0.10**")
    assert cells["4 GPUs, session on mine"].startswith("**0.30**")
    assert (
        row(results, "strong_baselines", "nmt_4", "metis")["4 GPUs, session on mine"] == "missing"
    )


def test_real_runs_leave_simulated_cells_and_bounds_alone(results):
    write(results, record("nmt_4", "annealing", 0.075, grid="race"))
    before = row(results, "strong_baselines", "Sixty seconds", "nmt_4")
    write(results, ran("nmt_4", "annealing", [9.0], grid="race@session", lower_bound=7.0))
    write(results, ran("nmt_4", "scotch", [9.0], lower_bound=7.0))
    assert row(results, "strong_baselines", "Sixty seconds", "nmt_4") == before


def test_a_grid_of_the_papers_table_has_its_figures_beside(results):
    write(results, ran("nmt_2", "scotch", [1.6, 1.5, 1.7]), ran("nmt_2", "metis", [1.1, 1.2, 1.0]))
    title = "nmt_2 on mine with 2 GPUs, grid gpu"
    assert row(results, "measured", title, "scotch")["HDP's Table 1, s"] == "3.21"
    assert row(results, "measured", title, "metis")["HDP's Table 1, s"] == "-"
    table = build_table("measured", results)
    assert (table.found, table.expected) == (2, 36)
    assert "Missing: gpu@session/mine/2gpu/inception_v3/cpu_only/seed0" in table.notes[0]


ONE_GPU = """
[[device]]
name = "gpu:0"
kind = "gpu"
memory = 1e9
peak_flops = 1e12
memory_bandwidth = 1e11
launch_overhead = 1e-5
"""


def test_a_machine_with_fewer_gpus_owes_what_it_can_run(results):
    one = ran("nmt_2", "scotch", [1.6, 1.5, 1.7])
    one["cell"] |= {"gpus": 1}
    write(results, one)
    (results / "gpu@session/mine/machine.toml").write_text(f'name = "mine"{ONE_GPU}')
    table = build_table("measured", results)
    assert (table.found, table.expected) == (1, 36)
    assert "Missing: gpu@session/mine/1gpu/inception_v3/cpu_only/seed0" in table.notes[0]
    assert "mine/1gpu/nmt_2/scotch" not in table.notes[0]


def test_of_one_placement_no_other_could_be_faster(results):
    write(results, ran("nmt_2", "scotch", [1.6, 1.5, 1.7], placement_hash="a"))
    write(results, ran("nmt_4", "scotch", [1.6, 1.5, 1.7], placement_hash="a"))
    write(results, ran("nmt_4", "metis", [1.1, 1.2, 1.0], placement_hash="b"))
    for placement in "abc":
        write(results, ran("rnnlm", f"placer_{placement}", [1.6, 1.5], placement_hash=placement))
    assert row(results, "measured", "Agreement", "nmt_2")["same"] == "-"
    assert row(results, "measured", "Agreement", "nmt_4")["same"] != "-"
    notes = build_table("measured", results).notes
    counted = "Of the 1 lines of Agreement with three placements or more"
    found = "the fastest in reality on 1, within its noise on 0, and slower on 0."
    assert [note.endswith(found) for note in notes if note.startswith(counted)] == [True], notes


def test_what_ran_on_another_host_than_its_machine_is_not_compared(results):
    write(results, ran("nmt_2", "gpu_only", [0.1], grid="hsdag_table4@openvino"))
    page = build_table("measured", results)
    assert (page.found, page.sections[0].rows) == (0, ())


def test_without_records_the_page_says_so(results):
    table = build_table("measured", results)
    assert (table.found, table.expected) == (0, 0)
    assert "No grid has been run yet" in table.markdown()
