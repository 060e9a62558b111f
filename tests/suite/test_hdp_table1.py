"""HDP's Table 1 as made of records: what a reader finds in its cells, sections and notes."""

import io

import pandas as pd
import pytest
from suite_records import GIB, GPUS, failed, full, over_capacity, planned, record, write

from suite.report.build import build_table
from suite.report.load_records import load_published
from suite.report.metrics import metric
from suite.report.outcome import Outcome
from suite.report.tables import hdp_table1


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def cells(table, section, label):
    """Head (without its footnote) -> printed cell of one row."""
    found = next(s for s in table.sections if s.title == section)
    row = next(r for r in found.rows if r[0] == label)
    return {h.split(" [")[0]: c for h, c in zip(found.header, row, strict=True)}


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


def test_the_commonest_failure_is_named_first():
    rows = [{"status": s, "step_time": None, "step_times": []} for s in ("error", "oom", "oom")]
    outcome = Outcome.of(pd.DataFrame(rows), 3)
    assert (outcome.status, outcome.counts) == ("oom", "n=0, 2 OOM, 1 error")
    assert outcome.text(metric("step_time")) == "2 OOM, 1 error"


def test_the_peak_is_the_largest_of_all_seeds(results):
    devices = record("rnnlm", "random", 1.0)["capacity"]
    for seed, peak in enumerate((5, 8)):
        memory = {"peak_memory": dict.fromkeys(devices, 0) | {"gpu:0": peak}}
        write(results, record("rnnlm", "random", 1.0, seed, **memory))
    data = build_table("hdp_table1", results).data
    rows = data[(data["metric"] == "peak_memory") & (data["column"] == "random")]
    found = rows.set_index("device").loc["gpu:0", ["value", "low", "high"]]
    assert found.tolist() == [8, 5, 8]


def test_missing_records_are_counted_and_named(results):
    made = full()
    lost = made.pop(next(i for i, one in enumerate(made) if one["cell"]["placer"] == "scotch"))
    write(results, *made)
    table = build_table("hdp_table1", results)
    assert (table.found, table.expected) == (COUNT - 1, COUNT)
    name = f"{lost['cell']['grid']}/k40/2gpu/{lost['cell']['task']}/scotch/seed0"
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
    assert {c.grid for c in cells if c.placer == "scotch"} == {"reference"}
    assert {c.grid for c in cells if c.placer == "human_expert"} == {"quick"}
    for placer, seeds in {"hdp": 3, "random": 10, "scotch": 5}.items():
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
    assert "2 cells with both times, ours / published x1.00 to" in notes
    assert "1 cells with both times, ours / published x2.00 to x2.00" in notes
    assert "furthest off: Inception-V3 Human Expert x2.00" in notes


def test_close_calls_and_cells_beyond_random_are_named(results):
    devices = record("rnnlm", "gpu_only", 1.5)["capacity"]
    almost = dict.fromkeys(devices, 0) | {"gpu:0": int(0.98 * 4 * GIB)}
    write(results, record("rnnlm", "gpu_only", 1.5, peak_memory=almost))
    for task, share in (("inception_v3", 1.03), ("resnet_152", 1.2)):
        over = over_capacity(task)
        over["peak_memory"] |= {"gpu:0": int(share * 4 * GIB)}
        write(results, record(task, "gpu_only", 1.5, **over))
    write(results, *(record("rnnlm", "random", 2.0 + seed / 2, seed) for seed in range(2)))
    notes = "\n".join(build_notes(results))
    assert (
        "more or less memory would turn: Inception-V3 GPU Only 103.0%, RNNLM GPU Only 98.0%."
        in notes
    )
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
