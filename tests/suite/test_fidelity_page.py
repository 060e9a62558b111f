"""Fidelity: what the report says of records."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from suite_records import record, write

from suite.cli import main
from suite.core.statistics import median_interval
from suite.report.fidelity_data import bars, fidelity, planned, reachable
from suite.report.load_records import load_records
from suite.report.tables._intervals import step_intervals

BREAKDOWN = {
    "simulated": {"busy": {"cpu:0": 1.0, "cpu:1": 0.5}, "transfers": 10, "transfer_seconds": 0.1},
    "measured": {"busy": {"cpu:0": 1.5, "cpu:1": 0.5}, "transfers": 12, "transfer_seconds": 0.4},
    "operations": [["Conv2D", "cpu:0", 3, 0.6, 1.1], ["MatMul", "cpu:1", 3, 0.2, 0.21]],
}


def planted(results, task, times, kind="random", **more):
    """Write a record of this kind for each (simulated, measured steps)."""
    for number, (simulated, steps) in enumerate(times):
        cell = {"grid": "fidelity", "machine": "here", "gpus": 0, "task": task}
        path = results / f"fidelity/here/0gpu/{task}/{kind}/seed{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        made = {
            "format": "placebench-record-1",
            "cell": cell | {"placer": kind, "seed": number},
            "backend": "cluster",
            "status": "ok",
            "step_time": float(np.median(steps)),
            "step_times": steps,
            "peak_memory": {"cpu:0": 100, "cpu:1": 400},
            "simulated": {"step_time": simulated, "peak_memory": {"cpu:0": 300, "cpu:1": 408}},
            "breakdown": BREAKDOWN,
            "planned": len(times) + 1,
        }
        path.write_text(json.dumps(made | more))


@pytest.fixture
def reports(tmp_path, capsys):
    """Write reports of planted records: 4 + 3 placements, one of them failed."""
    results = tmp_path / "results"
    exact = [(t, [t, t * 1.01, t * 0.99]) for t in (1.0, 2.0, 3.0)]
    planted(results, "alpha", [*exact, (2.0, [4.0, 4.1, 3.9])])
    planted(results, "beta", [(1.1 * t, steps) for t, steps in exact])
    path = results / "fidelity/here/0gpu/beta/random/seed0.json"
    lost = {"status": "oom", "reason": "cpu:0 is full", "step_time": None, "step_times": []}
    path.write_text(json.dumps(json.loads(path.read_text()) | lost))
    written = reported(results, tmp_path / "reports")
    assert "fidelity: 2 of 9 records are missing" in capsys.readouterr().out
    return written


def reported(results, output):
    """The folder with the page and its plot."""
    arguments = ["--results", str(results), "--output", str(output)]
    assert main(["report", "--only", "fidelity", *arguments]) == 0
    return output


def test_the_summary_has_all_and_each_task(reports):
    found = json.loads((reports / "fidelity.json").read_text())
    alpha, beta = found["tasks"]["alpha"], found["tasks"]["beta"]
    assert (found["placements"], alpha["placements"], beta["placements"]) == (6, 4, 2)
    assert alpha["median_absolute_percentage_error"] == 0
    assert alpha["spearman"] == pytest.approx(spearmanr([1, 2, 3, 2], [1, 2, 3, 4]).statistic)
    assert alpha["kendall"] == pytest.approx((4 - 1) / 6)
    assert beta["median_absolute_percentage_error"] == pytest.approx(10)
    assert beta["spearman"] is None
    assert set(found) >= {"spearman", "kendall", "median_absolute_percentage_error", "tasks"}
    assert found["settings"]["here/cluster"]["placements"] == 6


def test_the_page_explains_the_worst(reports):
    page = (reports / "fidelity.md").read_text()
    worst = next(line for line in page.splitlines() if line.startswith("| alpha random 3"))
    assert "-50.0" in worst
    line = next(line for line in page.splitlines() if line.startswith("| beta "))
    assert [cell.strip() for cell in line.split("|")][-5:-1] == ["10.0", "+10.0", "1.0", "2.0"]
    assert "cpu:0 computes 1.5 s (1 s); is idle 2.5 s (1 s)" in worst
    assert "12 transfers (10 simulated) take 0.4 s (0.1 s); Conv2D on cpu:0 1.1 s (0.6 s)" in worst
    assert (
        "Not measured, and in no figure: 1 oom; the first is beta random 0: cpu:0 is full" in page
    )
    # 10 transfers; 2 s of computing where 1.5 s were simulated.
    line = next(line for line in page.splitlines() if line.startswith("| here "))
    cells = [cell.strip() for cell in line.split("|")][1:-1]
    assert cells == ["here", "1-99", "6", "5.0", "+0.0", "+33.3"]
    assert (reports / "fidelity.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_says_whether_the_fastest_simulated_is_the_fastest(tmp_path):
    results = tmp_path / "results"
    slower = [(1.0, [3.0, 3.1, 2.9]), (2.0, [2.0, 2.1, 1.9])]
    planted(results, "alpha", slower, "best", parameters={"placer": "annealing"})
    planted(results, "beta", [(1.0, [3.0, 3.4, 1.9]), (2.0, [2.0, 2.1, 1.8])], "best")
    planted(results, "gamma", [(1.0, [1.0]), (2.0, [2.0])])
    page = (reported(results, tmp_path / "reports") / "fidelity.md").read_text()
    section = page.partition("## The fastest")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if "| here" in line]
    found = [[cell.strip() for cell in row.split("|")][4:-1] for row in rows]
    assert found == [
        ["annealing (best 0)", "annealing (best 1)", "1.50"],
        ["best 0", "best 1", "1.50, within noise"],
        ["random 0", "random 0", "1.00"],
    ]


def test_the_page_says_how_well_the_best_simulator_would_rank(tmp_path):
    """By hand: two rounds that rank 1 2 3 4 and 1 2 4 3 agree by 0.8; sqrt(1.6 / 1.8)."""
    rounds = [(1.0, 1.1), (2.0, 2.1), (3.0, 4.1), (4.0, 3.1)]
    planted(tmp_path / "results", "alpha", [(1.0, [*both]) for both in rounds])
    for number, (first, second) in enumerate(rounds):
        path = tmp_path / f"results/fidelity/here/0gpu/alpha/random/seed{number}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"rounds": [[first], [second]]}))
    planted(tmp_path / "results", "beta", [(t, [t, t]) for t in (1.0, 2.0, 3.0)])
    page = (reported(tmp_path / "results", tmp_path / "reports") / "fidelity.md").read_text()
    lines = [line.split("|") for line in page.splitlines() if "| here" in line]
    assert [line[6].strip() for line in lines[:2]] == ["0.943", "-"]


def test_a_task_has_as_many_records_as_its_longest_run_drew(tmp_path):
    """A run of more placements leaves the records of a shorter one as they are."""
    planted(tmp_path, "alpha", [(1.0, [1.0])] * 2)
    planted(tmp_path, "alpha", [(1.0, [1.0])], "best", planned=7)
    planted(tmp_path, "beta", [(1.0, [1.0])])
    assert planned(load_records(tmp_path)) == 7 + 2


def test_two_rounds_that_rank_the_other_way_round_have_no_best_simulator(tmp_path):
    """By hand: 1 2 3 and 3 1 2 agree by -0.5, of which there is no root."""
    for number, rounds in enumerate([(1.0, 3.0), (2.0, 1.0), (3.0, 2.0)]):
        more = {"rounds": [[seconds] for seconds in rounds], "step_times": [*rounds]}
        made = record("nmt_2", "random", sum(rounds) / 2, number, grid="fidelity", **more)
        write(tmp_path, made | {"simulated": {"step_time": 1.0}})
    assert math.isnan(reachable(fidelity(load_records(tmp_path))))


def test_a_class_of_transfers_begins_with_its_number_and_ends_before_the_next(tmp_path):
    for task, sent in enumerate([0, 1, 99, 100, 1000]):
        model = BREAKDOWN["simulated"] | {"transfers": sent}
        times = [(1.0, [1.0, 1.0, 1.0])]
        planted(tmp_path / "r", f"t{task}", times, breakdown=BREAKDOWN | {"simulated": model})
    page = (reported(tmp_path / "r", tmp_path / "reports") / "fidelity.md").read_text()
    section = page.partition("## By number of transfers")[2].partition("\n## ")[0]
    rows = [line.split("|")[2:4] for line in section.splitlines() if line.startswith("| here")]
    assert [[cell.strip() for cell in row] for row in rows] == [
        *(["0", "1"], ["1-99", "2"], ["100-999", "1"], ["1,000 and more", "1"]),
    ]


def test_the_page_takes_out_how_much_slower_the_host_has_become(tmp_path):
    results = tmp_path / "results"
    planted(results, "alpha", [(1.0, [1.2] * 3), (2.0, [2.4] * 3)], kind="single")
    planted(results, "alpha", [(t, [1.2 * t] * 3) for t in (3.0, 4.0, 5.0)])
    planted(results, "beta", [(1.0, [1.0] * 3)])
    planted(results, "gamma", [(1.0, [2.0] * 3)], kind="single")
    planted(results, "gamma", [(1.0, [8.0] * 3)])
    page = (reported(results, tmp_path / "reports") / "fidelity.md").read_text()
    page = page.partition("## One device alone")[2]
    lines = [line for line in page.partition("## ")[0].splitlines() if "| here " in line]
    cells = [[cell.strip() for cell in line.split("|")][1:-1] for line in lines]
    # 1 / 1.2 - 1 is -16.7 %; 1 / 8 - 1 is -87.5 %, and with twice the simulated time 2 / 8 - 1.
    assert cells == [
        ["alpha", "here", "cluster", "1.20, 1.20", "3", "16.7", "0.0"],
        ["gamma", "here", "cluster", "2.00", "1", "87.5", "75.0"],
    ]


def test_the_error_of_memory_is_relative_to_what_was_measured(tmp_path):
    """Of the device that was fullest in reality: 300 bytes simulated, 200 measured."""
    thought = {"step_time": 1.0, "peak_memory": {"cpu:0": 50, "cpu:1": 300}}
    more = {"simulated": thought, "peak_memory": {"cpu:0": 90, "cpu:1": 200}}
    planted(tmp_path, "alpha", [(1.0, [2.0])], **more)
    assert fidelity(load_records(tmp_path))["memory_error_percent"].tolist() == [50.0]
    # Of nothing no share can be told.
    planted(tmp_path, "alpha", [(1.0, [2.0])], **more | {"peak_memory": {"cpu:0": 0, "cpu:1": 0}})
    assert fidelity(load_records(tmp_path))["memory_error_percent"].isna().all()


def test_outputs_are_compared_with_those_of_the_first_device(tmp_path):
    for kind, seed, loss in (("single", 0, 1.0), ("single", 1, 2.0), ("random", 0, 1.0)):
        more = {"simulated": {"step_time": 1.0, "peak_memory": {}}, "outputs": [[loss]]}
        write(tmp_path, record("rnnlm", kind, 2.0, seed, grid="fidelity", **more))
    rows = fidelity(load_records(tmp_path)).set_index(["kind", "number"])
    off = {("single", 0): 0.0, ("single", 1): 100.0, ("random", 0): 0.0}
    assert rows["last_output_percent"].to_dict() == off


def test_the_page_says_by_how_much_outputs_are_off_those_of_one_device(tmp_path):
    results = tmp_path / "results"
    planted(results, "alpha", [(1.0, [1.0]), (2.0, [2.0])], outputs=[[2.0, 5.0], [1.0, 4.0]])
    first, second = (results / f"fidelity/here/0gpu/alpha/random/seed{i}.json" for i in (0, 1))
    alone = json.loads(first.read_text())
    alone["cell"]["placer"] = "single"
    first.with_name("seed0.json").unlink()
    (first.parent.parent / "single").mkdir()
    (first.parent.parent / "single/seed0.json").write_text(json.dumps(alone))
    other = json.loads(second.read_text()) | {"outputs": [[2.0, 5.005], [1.03, 4.0]]}
    second.write_text(json.dumps(other))
    planted(results, "beta", [(1.0, [1.0])])
    nothing = json.loads(second.read_text()) | {"outputs": [[], []]}
    for kind in ("single", "random"):
        cell = nothing["cell"] | {"task": "gamma", "placer": kind, "seed": 0}
        path = results / f"fidelity/here/0gpu/gamma/{kind}/seed0.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(nothing | {"cell": cell}))
    page = (reported(results, tmp_path / "reports") / "fidelity.md").read_text()
    computed = page.split("## What is computed")[1]
    lines = [line for line in computed.splitlines() if line.startswith("| alpha")]
    assert [[cell.strip() for cell in line.split("|")][4:-1] for line in lines] == [
        ["2", "0.1", "3"]
    ]
    assert "| beta" not in computed
    assert "| gamma" not in computed


def test_the_page_tells_transfers_that_were_not_traced_from_none(tmp_path):
    for name, simulated, words in [
        ("lost", 10, "no transfer was traced (10 simulated, 0.1 s);"),
        ("none", 0, "0 transfers take 0 s (0 s);"),
    ]:
        moved = {"transfers": simulated, "transfer_seconds": simulated / 100}
        model = BREAKDOWN["simulated"] | moved
        real = BREAKDOWN["measured"] | {"transfers": 0, "transfer_seconds": 0.0}
        breakdown = BREAKDOWN | {"simulated": model, "measured": real}
        planted(tmp_path / name, "alpha", [(1.0, [2.0, 2.0, 2.0])], breakdown=breakdown)
        written = reported(tmp_path / name, tmp_path / f"{name}_reports")
        assert words in (written / "fidelity.md").read_text()


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([5, 5], "bar: range of the measured steps"),
        ([10, 10], "bar: interval of the measured median"),
        ([5, 10], "bar: interval of the measured median, or range of fewer than six steps"),
    ],
)
def test_a_plot_says_what_its_bars_are(steps, words):
    level = [median_interval(list(map(float, range(n)))).level for n in steps]
    assert bars(pd.DataFrame({"level": level})) == words


def test_five_steps_have_a_range_and_six_an_interval():
    """Of the ways in which 5 fall beside the median 2 in 32 are on one side; of 6, 2 in 64."""
    [told] = step_intervals(pd.DataFrame({"status": "ok", "steps": [5, 6]}))
    assert "range of fewer than six steps contains the true median in 93.8% (n=5) of" in told
    assert "in 96.9% (n=6) of" in told


def test_without_records_there_is_no_page(tmp_path):
    results = tmp_path / "results"
    write(results, record("rnnlm", "scotch", 1.0))
    assert not list(reported(results, tmp_path / "out").glob("fidelity.*"))
