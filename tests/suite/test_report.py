"""Reports: what a reader finds in them, and that they are the same from the same records."""

import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from suite_records import GIB, GPUS, failed, record, write

from suite.cli import main
from suite.errors import InputError
from suite.frame import load_published, load_records
from suite.grid import load_grid
from suite.report import build_table, write_reports
from suite.tables import hdp_table1

ONE_SEED = ("cpu_only", "human_expert", "scotch", "mincut", "metis", "best_of_random")
PUBLISHED = Path("results/published").resolve()


@pytest.fixture
def results(tmp_path):
    shutil.copytree(PUBLISHED, tmp_path / "results" / "published")
    return tmp_path / "results"


def cells(table, section, label):
    """Head (without its footnote) -> printed cell of one row."""
    found = next(s for s in table.sections if s.title == section)
    row = next(r for r in found.rows if r[0] == label)
    return {h.split(" [")[0]: c for h, c in zip(found.header, row, strict=True)}


def over_capacity(task):
    devices = record(task, "gpu_only", 1.0)["capacity"]
    peak = dict.fromkeys(devices, 0) | {"gpu:0": 5 * GIB}
    return {"status": "oom", "oom": ["gpu:0"], "peak_memory": peak}


def full(seconds=2.0):
    """Every record of the table, all equal in time, the NMT tasks OOM on one GPU."""
    made = []
    for task in GPUS:
        for placer in ONE_SEED:
            made.append(record(task, placer, seconds))
        more = over_capacity(task) if task.startswith("nmt") else {}
        made.append(record(task, "gpu_only", seconds, **more))
        made += [record(task, "random", seconds + seed, seed) for seed in range(10)]
    return made


def test_cell_shows_ours_published_and_ratio(results):
    write(results, record("inception_v3", "cpu_only", 0.6283))
    row = cells(build_table("hdp_table1", results), "The paper's table", "Inception-V3")
    assert row["CPU Only"] == "0.63 (0.61, x1.03)"
    assert row["GPU Only"] == "missing (0.15)"
    assert row["#GPUs"] == "2"
    assert row["Hierarchical Planner"] == "not run (0.13)"
    assert row["Runtime Reduction"] == "not run (16.3%)"


def test_words_stand_where_there_is_no_time(results):
    write(
        results,
        record("nmt_2", "gpu_only", 1.4, **over_capacity("nmt_2")),
        record("resnet_152", "cpu_only", 10.5),
        failed("rnnlm", "scotch", "error", "child died of signal 11"),
        failed("rnnlm", "mincut", "timeout", "600 s"),
    )
    table = build_table("hdp_table1", results)
    main = "The paper's table"
    assert cells(table, main, "NMT (2-layer)")["GPU Only"] == "OOM (OOM)"
    assert cells(table, main, "ResNet (152)")["CPU Only"] == "10.50 (-)"
    assert cells(table, main, "RNNLM")["Scotch"] == "error (5.62)"
    assert cells(table, main, "RNNLM")["MinCut"] == "time-out (5.21)"
    notes = "\n".join(table.notes)
    assert "nmt_2 gpu_only 1.40" in notes
    assert "commit 0123456789, python 3.11.7, numpy 2.4.6 (4 records)" in notes
    assert "rnnlm / scotch: error (1): child died of signal 11" in notes
    assert "1 ok, 1 error, 1 OOM, 1 time-out" in notes


def test_random_prints_median_spread_and_failures(results):
    write(results, *(record("rnnlm", "random", float(s + 1), s) for s in range(9)))
    write(results, record("rnnlm", "random", 3.0, 9, **over_capacity("rnnlm")))
    row = cells(build_table("hdp_table1", results), "Not in the paper", "RNNLM")
    assert row["Random"] == "5.00 [1.00-9.00, n=9, 1 OOM]"


def test_missing_records_are_counted_and_named(results):
    made = full()
    write(results, *made[:-1])
    table = build_table("hdp_table1", results)
    assert (table.found, table.expected) == (101, 102)
    assert any("101 of 102" in n and "8gpu/nmt_8/random/seed9" in n for n in table.notes)
    write(results, made[-1])
    table = build_table("hdp_table1", results)
    assert (table.found, table.expected) == (102, 102)
    assert "102 of 102 records are there." in table.notes


def test_the_table_expects_the_cells_of_its_grid():
    cells = [job.cell for job in load_grid(hdp_table1.GRID).jobs]
    published = load_published(PUBLISHED.parent)
    table = hdp_table1.table(load_records(PUBLISHED), published)
    assert table.expected == len(cells) == len(set(cells))
    assert {(c.machine, c.placer) for c in cells} == {("k40", p) for p in hdp_table1.SEEDS}
    for placer, seeds in hdp_table1.SEEDS.items():
        assert {c.seed for c in cells if c.placer == placer} == set(range(seeds))
    assert {c.task: c.gpus for c in cells} == GPUS


def test_other_grids_machines_and_gpu_counts_stay_out(results):
    strange = record("rnnlm", "scotch", 1.0)
    for change in ({"grid": "paper"}, {"machine": "p100"}, {"gpus": 8}):
        write(results, strange | {"cell": strange["cell"] | change})
    row = cells(build_table("hdp_table1", results), "The paper's table", "RNNLM")
    assert row["Scotch"] == "missing (5.62)"


def test_bold_only_without_overlap(results):
    write(results, record("rnnlm", "gpu_only", 1.5), record("rnnlm", "human_expert", 1.5))
    write(results, record("rnnlm", "cpu_only", 6.0))
    row = cells(build_table("hdp_table1", results), "The paper's table", "RNNLM")
    assert not any("**" in cell for cell in row.values())
    noisy = {"step_times": [1.3, 1.4, 1.6]}
    write(results, record("rnnlm", "human_expert", 1.4, **noisy))
    row = cells(build_table("hdp_table1", results), "The paper's table", "RNNLM")
    assert not any("**" in cell for cell in row.values())
    write(results, record("rnnlm", "human_expert", 1.4))
    row = cells(build_table("hdp_table1", results), "The paper's table", "RNNLM")
    assert row["Human Expert"] == "**1.40** (1.57, x0.89)"
    assert sum("**" in cell for cell in row.values()) == 1


def test_learned_planner_fills_its_columns(results):
    write(results, record("nmt_2", "human_expert", 2.0), record("nmt_2", "hdp", 0.5))
    row = cells(build_table("hdp_table1", results), "The paper's table", "NMT (2-layer)")
    assert row["Hierarchical Planner"] == "**0.50** (0.84, x0.60)"
    assert row["Runtime Reduction"] == "75.0% (60.6%)"


def test_bound_graph_and_memory_sections(results):
    peak = {"cpu:0": GIB, "gpu:0": 2 * GIB, "gpu:1": 5 * GIB}
    write(
        results,
        record("nmt_2", "human_expert", 2.0, lower_bound=0.8, bound_kind="critical path"),
        record("nmt_2", "scotch", 3.0, status="oom", oom=["gpu:1"], peak_memory=peak),
    )
    table = build_table("hdp_table1", results)
    more = cells(table, "Not in the paper", "NMT (2-layer)")
    assert (more["Lower bound"], more["what binds"]) == ("0.800", "critical path")
    assert more["Human Expert / bound"] == "x2.50"
    graph = cells(table, "Graphs", "NMT (2-layer)")
    assert (graph["operations captured"], graph["after pruning"]) == ("1,000", "900")
    assert (graph["paper"], graph["captured / paper"]) == ("28,044", "x0.04")
    assert (graph["variables, GB"], graph["TFLOP a step"]) == ("4.00", "2.500")
    memory = cells(table, "Peak memory", "NMT (2-layer)")
    assert memory["Scotch"] == "5.4 (125%) gpu:1 OOM"
    assert memory["Human Expert"] == "1.1 (25%) gpu:1"
    assert memory["CPU Only"] == "missing"
    assert any("vocabulary of 32,000" in note for note in table.notes)


def test_oom_pattern_is_compared(results):
    write(results, *full())
    notes = "\n".join(build_table("hdp_table1", results).notes)
    assert "The OOM pattern equals the paper's" in notes
    write(results, record("nmt_2", "gpu_only", 1.0))
    write(results, record("rnnlm", "human_expert", 1.0, **over_capacity("rnnlm")))
    notes = "\n".join(build_table("hdp_table1", results).notes)
    assert "**only ours**: RNNLM Human Expert" in notes
    assert "**only the paper's**: NMT (2-layer) GPU Only" in notes


def test_orderings_and_ratios_are_counted(results):
    write(results, record("inception_v3", "human_expert", 0.30))
    write(results, record("inception_v3", "scotch", 0.93), record("inception_v3", "mincut", 0.99))
    notes = "\n".join(build_table("hdp_table1", results).notes)
    assert "2 of 3 pairs of cells in one row are ordered as published" in notes
    assert "3 cells with both times, ours / published x1.00 to x2.00" in notes
    assert "furthest off: Inception-V3 Human Expert x2.00" in notes


def test_close_calls_and_cells_beyond_random_are_named(results):
    devices = record("rnnlm", "gpu_only", 1.5)["capacity"]
    almost = dict.fromkeys(devices, 0) | {"gpu:0": int(0.98 * 4 * GIB)}
    write(results, record("rnnlm", "gpu_only", 1.5, peak_memory=almost))
    write(results, *(record("rnnlm", "random", 2.0 + seed / 2, seed) for seed in range(2)))
    notes = "\n".join(build_notes(results))
    assert "more or less memory would turn: RNNLM GPU Only 98.0%." in notes
    assert "hardly explains: RNNLM Scotch x2.2, RNNLM MinCut x2.1." in notes


def test_records_of_different_graphs_are_reported(results):
    other = record("rnnlm", "scotch", 1.0)
    write(results, record("rnnlm", "mincut", 1.0))
    write(results, other | {"graph": other["graph"] | {"fingerprint": "another"}})
    assert any("rnnlm: records of different graphs" in n for n in build_notes(results))


def build_notes(results):
    return build_table("hdp_table1", results).notes


def test_every_published_value_of_the_table_is_rendered(results):
    write(results, *full())
    table = build_table("hdp_table1", results)
    published = load_published(results)
    printed = published[(published["paper"] == "HDP") & (published["table"] == "1")]
    for label, frame in printed.groupby("printed_task"):
        row = " ".join(cells(table, "The paper's table", label).values())
        for digits, status in zip(frame["printed"], frame["status"], strict=True):
            assert {"ok": f"({digits}", "oom": "(OOM", "not_given": "(-"}[status] in row


def test_csv_has_all_digits_and_keeps_oom_times_apart(results):
    write(results, record("nmt_2", "scotch", 1 / 3))
    write(results, record("nmt_2", "gpu_only", 1.25, **over_capacity("nmt_2")))
    write_reports(results, results.parent / "reports")
    data = pd.read_csv(results.parent / "reports" / "hdp_table1.csv")
    mine = data[data["task"] == "nmt_2"]
    entries = {(r.column, r.metric): r for r in mine.itertuples() if r.metric != "peak_memory"}
    assert entries["scotch", "step_time"].value == 1 / 3
    assert entries["scotch", "step_time"].ratio == pytest.approx(1 / 3 / 3.21)
    assert pd.isna(entries["gpu_only", "step_time"].value)
    assert entries["gpu_only", "step_time"].status == "oom"
    assert entries["gpu_only", "step_time_ignoring_memory"].value == 1.25


def test_same_records_give_the_same_bytes(results, tmp_path):
    made = full()
    write(results, *made)
    first = write_reports(results, tmp_path / "a")
    again = tmp_path / "again"
    shutil.copytree(results / "published", again / "published")
    write(again, *reversed(made))
    second = write_reports(again, tmp_path / "b")
    assert [f.name for f in first.written] == [f.name for f in second.written]
    assert {f.suffix for f in first.written} == {".md", ".csv", ".png"}
    for one, other in zip(first.written, second.written, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


@pytest.mark.parametrize("some", [0, 3])
def test_reports_of_few_records_still_come_out(results, some):
    write(results, *full()[:some])
    report = write_reports(results, results.parent / "reports")
    index = (results.parent / "reports" / "README.md").read_text()
    assert f"{some} of 102" in index
    assert report.missing == (f"hdp_table1: {102 - some} of 102 records are missing",)
    assert "| Inception-V3 " in report.text
    for path in report.written:
        assert path.name == "README.md" or path.name in index


def test_a_new_table_is_found_by_its_file(results, tmp_path):
    import suite.tables

    (tmp_path / "made_up.py").write_text(
        "import pandas as pd\n"
        "from suite.table import Section, Table\n"
        "def table(records, published):\n"
        "    count = Section('Count', ('n',), ((str(len(records)),),))\n"
        "    return Table('Made up', 'Lead.', (count,), (), pd.DataFrame({'n': [1]}), 1, 1)\n"
    )
    suite.tables.__path__.append(str(tmp_path))
    write(results, record("rnnlm", "scotch", 1.0))
    try:
        report = write_reports(results, tmp_path / "reports")
    finally:
        suite.tables.__path__.remove(str(tmp_path))
        sys.modules.pop("suite.tables.made_up", None)
    assert "made_up" in report.tables
    assert "| 1 |" in (tmp_path / "reports" / "made_up.md").read_text()
    assert "[Made up](made_up.md)" in (tmp_path / "reports" / "README.md").read_text()


def test_a_broken_record_is_named(results):
    write(results, record("rnnlm", "scotch", 1.0))
    path = results / "quick/k40/2gpu/rnnlm/scotch/seed0.json"
    path.write_text(path.read_text()[:100])
    with pytest.raises(InputError, match=r"seed0\.json is not whole"):
        load_records(results)


def test_the_command_prints_the_table_and_what_it_wrote(results, capsys):
    write(results, record("inception_v3", "cpu_only", 0.6283))
    output = results.parent / "out"
    assert main(["report", "--results", str(results), "--output", str(output)]) == 0
    printed = capsys.readouterr().out
    assert "| Inception-V3  | 0.63 (0.61, x1.03) |" in printed
    assert f"wrote {output / 'hdp_table1.md'}" in printed
    assert "hdp_table1: 101 of 102 records are missing" in printed


def test_an_unknown_table_is_refused(results):
    with pytest.raises(InputError, match="hdp_table1"):
        build_table("hdp_table_1", results)
