"""Reports: what a reader finds in them, and that they are the same from the same records."""

import contextlib
import io
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from suite_records import GIB, GPUS, failed, over_capacity, record, write

from suite.bench.grid import load_grid
from suite.cli import main
from suite.core.errors import InputError
from suite.report.build import Report, build_table, write_reports
from suite.report.load_records import load_published, load_records
from suite.report.table import Section, Table
from suite.report.tables import hdp_table1
from suite.report.tables.hdp_table1 import GRIDS


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def cells(table, section, label):
    """Head (without its footnote) -> printed cell of one row."""
    found = next(s for s in table.sections if s.title == section)
    row = next(r for r in found.rows if r[0] == label)
    return {h.split(" [")[0]: c for h, c in zip(found.header, row, strict=True)}


def planned(placers):
    """The cells of a table: for each task and placer those of the first grid that plans it."""
    first, cells = {}, [job.cell for grid in GRIDS for job in load_grid(grid).jobs]
    for cell in cells:
        first.setdefault((cell.task, cell.placer), cell.grid)
    return [c for c in cells if c.placer in placers and first[c.task, c.placer] == c.grid]


def full(placers=hdp_table1.PLACERS, seconds=2.0):
    """Every record of the table, all equal in time but random, the NMT tasks OOM on one GPU."""
    made = []
    for cell in planned(placers):
        oom = cell.placer == "gpu_only" and cell.task.startswith("nmt")
        more = over_capacity(cell.task) if oom else {}
        time = seconds + cell.seed * (cell.placer == "random")
        made.append(record(cell.task, cell.placer, time, cell.seed, grid=cell.grid, **more))
    return made


COUNT = len(planned(hdp_table1.PLACERS))


def test_cell_shows_ours_published_and_ratio(results):
    write(results, record("inception_v3", "cpu_only", 0.6283))
    row = cells(build_table("hdp_table1", results), "The paper's table", "Inception-V3")
    assert row["CPU Only"] == "0.63 (0.61, x1.03)"
    assert row["GPU Only"] == "missing (0.15)"
    assert row["#GPUs"] == "2"
    assert row["Hierarchical Planner"] == "missing (0.13)"
    assert row["Runtime Reduction"] == "missing (16.3%)"


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
    assert "python 3.11.7, numpy 2.4.6, at commit 0123456789 (4 records)" in notes
    assert "rnnlm / scotch: error (1): child died of signal 11" in notes
    assert "1 ok, 1 error, 1 OOM, 1 time-out" in notes


def test_random_prints_median_spread_and_failures(results):
    write(results, *(record("rnnlm", "random", float(s + 1), s) for s in range(9)))
    write(results, record("rnnlm", "random", 3.0, 9, **over_capacity("rnnlm")))
    row = cells(build_table("hdp_table1", results), "Not in the paper", "RNNLM")
    assert row["Random"] == "5.00 [1.00-9.00, n=9, 1 OOM]"


def test_missing_records_are_counted_and_named(results):
    made = full()
    lost = made.pop(next(i for i, one in enumerate(made) if one["cell"]["placer"] == "scotch"))
    write(results, *made)
    table = build_table("hdp_table1", results)
    assert (table.found, table.expected) == (COUNT - 1, COUNT)
    name = f"quick/k40/2gpu/{lost['cell']['task']}/scotch/seed0"
    assert any(f"{COUNT - 1} of {COUNT}" in n and name in n for n in table.notes)
    write(results, lost)
    table = build_table("hdp_table1", results)
    assert (table.found, table.expected) == (COUNT, COUNT)
    assert f"{COUNT} of {COUNT} records are there." in table.notes


def test_the_table_expects_the_cells_of_its_grids(results):
    table = build_table("hdp_table1", results)
    assert (table.found, table.expected) == (0, COUNT)
    cells = planned(hdp_table1.PLACERS)
    assert {c.task: c.gpus for c in cells} == GPUS
    assert {c.grid for c in cells if c.placer == "hdp"} == {"reference"}
    assert {c.grid for c in cells if c.placer == "scotch"} == {"quick"}
    for placer, seeds in {"hdp": 3, "random": 10, "scotch": 1}.items():
        assert {c.seed for c in cells if c.placer == placer} == set(range(seeds))


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
    write(results, record("nmt_2", "human_expert", 2.0))
    write(results, record("nmt_2", "hdp", 0.5, grid="reference"))
    row = cells(build_table("hdp_table1", results), "The paper's table", "NMT (2-layer)")
    assert row["Hierarchical Planner"] == "**0.50** (0.84, x0.60)"
    assert row["Runtime Reduction"] == "75.0% (60.6%)"


def test_learned_cell_shows_median_interval_best_and_failures(results):
    write(results, record("nmt_2", "human_expert", 2.0), record("nmt_2", "scotch", 2.5))
    seeds = [record("nmt_2", "hdp", s, i, grid="reference") for i, s in enumerate((1.7, 1.2, 1.0))]
    write(results, *seeds)
    row = cells(build_table("hdp_table1", results), "The paper's table", "NMT (2-layer)")
    assert row["Hierarchical Planner"] == "**1.20 [range 1.00-1.70], best 1.00, n=3** (0.84, x1.43)"
    assert row["Runtime Reduction"] == "40.0% (60.6%)"
    write(results, record("nmt_2", "hdp", 1.7, 0, grid="reference", **over_capacity("nmt_2")))
    write(results, record("nmt_2", "hdp", 1.2, 1, grid="reference", **over_capacity("nmt_2")))
    row = cells(build_table("hdp_table1", results), "The paper's table", "NMT (2-layer)")
    assert row["Hierarchical Planner"] == "**1.00, best 1.00, n=1, 2 OOM** (0.84, x1.19)"


def test_from_six_seeds_on_a_learned_cell_has_an_interval_with_its_level(results):
    for seed in range(10):
        write(results, record("nmt_2", "hdp", 1.0 + seed / 10, seed, grid="reference"))
    for seed in range(3):
        write(results, record("rnnlm", "hdp", 1.0 + seed, seed, grid="reference"))
    table = build_table("hdp_table1", results)
    row = cells(table, "The paper's table", "NMT (2-layer)")
    assert row["Hierarchical Planner"].startswith("1.45 [1.10-1.80], best 1.00, n=10")
    note = next(note for note in table.notes if note.startswith("Learned cells"))
    assert "range of fewer than six seeds contains the true median in 75.0% (n=3)" in note
    assert "whatever its distribution, in 97.9% (n=10) of cases." in note
    data = table.data[(table.data["column"] == "hdp") & (table.data["metric"] == "step_time")]
    levels = data.set_index("task")["interval_level"]
    assert levels["rnnlm"] == 0.75
    assert levels["nmt_2"] == pytest.approx(0.978515625)


def test_reduction_is_negative_when_the_best_other_column_is_faster(results):
    write(results, record("nmt_8", "scotch", 2.0), record("nmt_8", "human_expert", 4.0))
    write(results, record("nmt_8", "hdp", 2.5, grid="reference"))
    row = cells(build_table("hdp_table1", results), "The paper's table", "NMT (8-layer)")
    assert row["Runtime Reduction"] == "-25.0% (-4.9%)"
    write(results, record("nmt_8", "hdp", 2.0000001, grid="reference"))
    row = cells(build_table("hdp_table1", results), "The paper's table", "NMT (8-layer)")
    assert row["Runtime Reduction"] == "0.0% (-4.9%)"
    write(results, record("nmt_8", "hdp", 2.5, grid="reference", **over_capacity("nmt_8")))
    row = cells(build_table("hdp_table1", results), "The paper's table", "NMT (8-layer)")
    assert row["Runtime Reduction"] == "OOM (-4.9%)"


def test_a_cell_comes_from_the_first_grid_that_has_it(results):
    write(results, record("nmt_2", "hdp", 1.0, evaluations=80))
    table = build_table("hdp_table1", results)
    assert cells(table, "The paper's table", "NMT (2-layer)")["Hierarchical Planner"] == (
        "1.00 (0.84, x1.19)"
    )
    assert effort(table) == "grid `quick`, 1 seed, 80 evaluated placements each (NMT (2-layer))"
    for seed, count in enumerate((4000, 3996)):
        write(results, record("nmt_2", "hdp", 3.0, seed, grid="reference", evaluations=count))
    table = build_table("hdp_table1", results)
    assert cells(table, "The paper's table", "NMT (2-layer)")["Hierarchical Planner"] == (
        "3.00 [range 3.00-3.00], best 3.00, n=2 (0.84, x3.57)"
    )
    assert effort(table).startswith("grid `reference`, 2 seeds, 3,996 to 4,000 evaluated")


def effort(table):
    """What the notes say about the Hierarchical Planner's search."""
    note = next(n for n in table.notes if n.startswith("Learned cells"))
    return note.partition("Hierarchical Planner: ")[2].partition("; HDP, tuned")[0]


def test_additional_learned_planners_have_their_columns(results):
    for seed in range(2):
        write(results, record("rnnlm", "hdp_tuned", 1.5 + seed, seed, grid="reference"))
    write(results, record("rnnlm", "colocrl", 1.75))
    row = cells(build_table("hdp_table1", results), "Learned, not in the paper", "RNNLM")
    assert row["HDP, tuned"] == "2.00 [range 1.50-2.50], best 1.50, n=2"
    assert row["ColocRL"] == "1.75"


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


def test_versions_are_named_once_with_all_commits_that_records_were_made_at(results):
    made = record("rnnlm", "metis", 0.2)["provenance"]
    places = {
        "cpu_only": {},
        "gpu_only": {},
        "mincut": {"dirty": True},
        "scotch": {"commit": "f" * 40},
    }
    for placer, more in places.items():
        write(results, record("rnnlm", placer, 0.2, provenance=made | more))
    text = build_table("hdp_table1", results).markdown()
    once = "python 3.11.7, numpy 2.4.6, at "
    assert text.count(once) == 1
    assert (
        f"{once}commit 0123456789 (2 records), commit 0123456789 with uncommitted changes"
        " (1 record), commit ffffffffff (1 record)."
    ) in text


def test_every_published_value_of_the_table_is_rendered(results):
    write(results, *full())
    table = build_table("hdp_table1", results)
    published = load_published()
    printed = published[(published["paper"] == "HDP") & (published["table"] == "1")]
    for label, frame in printed.groupby("printed_task"):
        row = " ".join(cells(table, "The paper's table", label).values())
        for digits, status in zip(frame["printed"], frame["status"], strict=True):
            assert {"ok": f"({digits}", "oom": "(OOM", "not_given": "(-"}[status] in row


def test_csv_has_all_digits_and_keeps_oom_times_apart(results):
    write(results, record("nmt_2", "scotch", 1 / 3))
    write(results, record("nmt_2", "gpu_only", 1.25, **over_capacity("nmt_2")))
    data = pd.read_csv(io.StringIO(build_table("hdp_table1", results).csv()))
    mine = data[data["task"] == "nmt_2"]
    entries = {(r.column, r.metric): r for r in mine.itertuples() if r.metric != "peak_memory"}
    assert entries["scotch", "step_time"].value == 1 / 3
    assert entries["scotch", "step_time"].ratio == pytest.approx(1 / 3 / 3.21)
    assert pd.isna(entries["gpu_only", "step_time"].value)
    assert entries["gpu_only", "step_time"].status == "oom"
    assert entries["gpu_only", "step_time_ignoring_memory"].value == 1.25


def test_same_records_give_the_same_bytes(results, tmp_path):
    simulated = {"step_time": 1.1}
    made = [*full()[::4], record("rnnlm", "random", 1.0, grid="fidelity", simulated=simulated)]
    write(results, *made)
    first = write_reports(results, tmp_path / "a")
    again = tmp_path / "again"
    write(again, *reversed(made))
    second = write_reports(again, tmp_path / "b")
    assert [f.name for f in first.written] == [f.name for f in second.written]
    assert {f.suffix for f in first.written} == {".md", ".csv", ".png", ".json"}
    for one, other in zip(first.written, second.written, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


@dataclass(frozen=True)
class Reported:
    """What ``placebench report`` made of a few records."""

    lines: list[str]
    output: Path
    results: Path

    @property
    def index(self):
        return (self.output / "README.md").read_text()


FEW = 3
"""Records of the report that several tests read."""


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A report of few records, into a folder with two files, compared with the same records."""
    folder = tmp_path_factory.mktemp("few")
    results, other, output = folder / "results", folder / "mine", folder / "reports"
    cells = (
        ("inception_v3", "cpu_only", 0.6283),
        ("rnnlm", "scotch", 2.0),
        ("nmt_2", "metis", 1.0),
    )
    write(results, *(record(*cell) for cell in cells))
    shutil.copytree(results, other)
    output.mkdir()
    (output / "tarnawski_latency.md").write_text("earlier")
    (output / "mine.md").write_text("mine")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        options = ["--output", str(output), "--compare", str(results)]
        assert main(["report", "--results", str(other), *options]) == 0
    return Reported(printed.getvalue().splitlines(), output, results)


def test_what_has_no_records_is_not_written_and_said_in_one_line(reported):
    [line] = [x for x in reported.lines if x.startswith("no records")]
    named = line.replace(",", " ").replace(";", " ").split()
    for name in ("fidelity", "measured", "tarnawski_latency", "strong_baselines"):
        assert name in named
    assert "hdp_table1" not in named
    output = reported.output
    assert f"left of an earlier report: {output / 'tarnawski_latency.md'}" in reported.lines
    names = {path.stem for path in output.iterdir()}
    assert not names & {"fidelity", "measured", "tarnawski_throughput", "strong_baselines"}
    assert (output / "tarnawski_latency.md").read_text() == "earlier"
    assert (output / "mine.md").read_text() == "mine"
    assert "tarnawski_latency.md" not in reported.index
    [without] = [x for x in reported.index.splitlines() if x.startswith("Without records, and so")]
    for name in ("fidelity", "measured", "tarnawski_latency", "strong_baselines"):
        assert f" {name}," in without


def test_the_command_prints_the_table_and_what_it_wrote(reported):
    assert any("| Inception-V3  | 0.63 (0.61, x1.03) |" in line for line in reported.lines)
    written = {Path(line.removeprefix("wrote ")) for line in reported.lines if line[:6] == "wrote "}
    assert reported.output / "hdp_table1.md" in written
    assert f"hdp_table1: {COUNT - FEW} of {COUNT} records are missing" in reported.lines
    assert f"{FEW} of {COUNT}" in reported.index
    for path in written:
        assert path.name == "README.md" or path.name in reported.index


def test_a_report_ends_with_the_comparison(reported):
    against = f"against {reported.results}: {FEW} of {FEW} cells equal to the bit; 0 differ; 0 mis"
    assert reported.lines[-1].startswith(against)


def test_one_table_alone_has_its_plots_and_no_index(results, capsys):
    write(results, record("rnnlm", "random", 1.0, grid="fidelity", simulated={"step_time": 1.1}))
    arguments = ["report", "--results", str(results), "--output", str(results.parent / "out")]
    assert main([*arguments, "--only", "fidelity"]) == 0
    suffixes = {".md", ".csv", ".json", ".png"}
    assert {f.name for f in (results.parent / "out").iterdir()} == {
        f"fidelity{x}" for x in suffixes
    }
    assert "no records" not in capsys.readouterr().out
    assert main([*arguments, "--only", "fidelty"]) == 2
    assert "no table 'fidelty'; did you mean 'fidelity'?" in capsys.readouterr().err
    assert main([*arguments, "--only", "fidelity", "--html"]) == 2
    assert "leave out --only" in capsys.readouterr().err


def test_no_records_at_all_are_refused(results, capsys):
    output = results.parent / "out"
    assert main(["report", "--results", str(results), "--output", str(output)]) == 2
    assert f"{results} holds no records; run `placebench bench`" in capsys.readouterr().err
    write(results, record("rnnlm", "scotch", 1.0))
    compared = ["--compare", "nowhere"]
    assert main(["report", "--results", str(results), "--output", str(output), *compared]) == 2
    assert "nowhere is no folder" in capsys.readouterr().err
    shutil.rmtree(results)
    assert main(["report", "--results", str(results), "--output", str(output)]) == 2
    assert "is no folder" in capsys.readouterr().err
    assert not output.exists()


def test_records_that_are_in_no_table_are_told_of(results, capsys):
    write(results, record("rnnlm", "scotch", 1.0, grid="mine"))
    output = results.parent / "out"
    assert main(["report", "--results", str(results), "--output", str(output)]) == 0
    told = "the records are of grid mine, which no table is about: --html shows them; a table is"
    assert told in capsys.readouterr().out


def test_records_of_unknown_code_are_counted_in_one_note(results):
    absent = record("rnnlm", "scotch", 1.0)
    del absent["code"]
    write(results, absent, record("rnnlm", "mincut", 1.0, code=None))
    write(results, record("rnnlm", "metis", 1.0))
    [note] = [note for note in build_notes(results) if "unknown code" in note]
    assert note == "2 of 3 records are of unknown code (made before records carried it)."
    write(results, record("rnnlm", "scotch", 1.0))
    write(results, record("rnnlm", "mincut", 1.0, code={"digest": "c", "kept": "d"}))
    notes = build_notes(results)
    assert not any("unknown code" in note for note in notes)
    assert "1 of 3 records were kept though their code has changed." in notes


def table_of(title, found):
    section = Section("", ("a",), (("b",),))
    return Table(title, "", (section,), (), pd.DataFrame(), 5, found)


def test_the_terminal_shows_what_has_records_and_the_readmes_table_last():
    tables = {"hdp_table1": table_of("HDP", 3), "z": table_of("Z", 1)}
    text = Report(tables, (), (), {}, {}, (), "").text
    assert text == "Z\n\n| a |\n|---|\n| b |\n\nHDP\n\n| a |\n|---|\n| b |\n"


@pytest.fixture
def added(tmp_path):
    """Add a module of this name to tables or plots, for the time of a test."""
    import suite.report.plots
    import suite.report.tables

    packages = {"tables": suite.report.tables, "plots": suite.report.plots}
    names = []
    for kind, package in packages.items():
        (tmp_path / kind).mkdir()
        package.__path__.append(str(tmp_path / kind))

    def add(kind, name, text):
        (tmp_path / kind / f"{name}.py").write_text(text)
        names.append(f"suite.report.{kind}.{name}")

    yield add
    for kind, package in packages.items():
        package.__path__.remove(str(tmp_path / kind))
    for name in names:
        sys.modules.pop(name, None)


MADE_UP = """\
import pandas as pd
from suite.report.table import Section, Table
def table(records, published):
    count = Section("Count", ("n",), ((str(len(records)),),))
    return Table("Made up", "Lead.", (count,), (), pd.DataFrame({"n": [1]}), 1, 1)
"""
FAILING = [
    (
        "tables",
        "reads",
        "def table(records, published):\n    return records['no']\n",
        "KeyError: 'no' (reads.py:2)",
    ),
    (
        "tables",
        "broken",
        "def table(records\n",
        "cannot import suite.report.tables.broken: SyntaxError:",
    ),
    (
        "tables",
        "empty",
        "",
        "AttributeError: module 'suite.report.tables.empty' has no attribute 'table'",
    ),
    (
        "tables",
        "nothing",
        "def table(records, published):\n    pass\n",
        "table() of nothing.py gives NoneType; let it return a Table",
    ),
    (
        "tables",
        "floats",
        MADE_UP.replace("(str(len(records)),)", "(1.0,)"),
        "TypeError: Count: a cell is 1.0, no text; format it",
    ),
    (
        "tables",
        "noted",
        MADE_UP.replace("(count,), ()", "(count,), 'one'"),
        "TypeError: notes is one text; give a tuple of them",
    ),
    (
        "tables",
        "sums",
        f"{MADE_UP}def summary(records):\n    return 1 / 0\n",
        "ZeroDivisionError: division by zero (sums.py:7)",
    ),
    (
        "plots",
        "draws",
        "TITLE, TABLES = 'A', ('made_up',)\ndef plot(records, published):\n    return {}[3]\n",
        "KeyError: 3 (draws.py:3)",
    ),
    (
        "plots",
        "needy",
        "import not_there\n",
        "cannot import suite.report.plots.needy: ModuleNotFoundError",
    ),
]


def test_new_tables_and_plots_are_found_and_one_that_fails_costs_itself_alone(
    results, tmp_path, capsys, added
):
    added("tables", "made_up", MADE_UP)
    for kind, name, text, _ in FAILING:
        added(kind, name, text)
    write(results, record("rnnlm", "scotch", 1.0, grid="mine"))
    output = tmp_path / "reports"
    assert main(["report", "--results", str(results), "--output", str(output)]) == 2
    printed = capsys.readouterr()
    for _, name, _, told in FAILING:
        assert f"{name} is not written: {told}" in printed.out
    names = "broken, empty, floats, noted, nothing, reads, needy, sums, draws"
    assert printed.err == f"placebench: error: not written: {names}; see above, mend their files\n"
    assert "| 1 |" in (output / "made_up.md").read_text()
    assert "[Made up](made_up.md)" in (output / "README.md").read_text()
    assert not [f.name for _, n, _, _ in FAILING for f in output.glob(f"{n}.*") if n != "sums"]


def test_a_broken_record_is_named(results):
    write(results, record("rnnlm", "scotch", 1.0))
    path = results / "quick/k40/2gpu/rnnlm/scotch/seed0.json"
    path.write_text(path.read_text()[:100])
    with pytest.raises(InputError, match=r"seed0\.json is not whole"):
        load_records(results)


def test_an_unknown_table_is_refused(results):
    with pytest.raises(InputError, match="hdp_table1"):
        build_table("hdp_table_1", results)
