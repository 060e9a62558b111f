"""The table of grids run for real, from sessions and servers that ran."""

import csv
import json
import re
import shutil
from statistics import median

import pandas as pd
import pytest
from scipy.stats import spearmanr

from suite.cli import main
from suite.report.build import build_table
from suite.report.tables._winner import Winner


@pytest.fixture(scope="module")
def folder(ran_for_real):
    """Records of the grid in a session; of two of its placers on a cluster."""
    return ran_for_real.folder


@pytest.fixture(scope="module")
def table(folder):
    return build_table("measured", folder / "r")


def records(folder, backend):
    """Label in the table -> record."""
    found = {}
    for path in sorted((folder / "r" / f"mine@{backend}").rglob("seed*.json")):
        record = json.loads(path.read_text())
        placer, seed = record["cell"]["placer"], record["cell"]["seed"]
        found[f"{placer} {seed}" if placer == "random" else placer] = record
    return found


def section(table, start):
    found = next(s for s in table.sections if s.title.startswith(start))
    return [dict(zip(found.header, row, strict=True)) for row in found.rows]


def test_simulated_and_measured_stand_side_by_side_for_each_backend(folder, table):
    rows = {row["placer"]: row for row in section(table, "layers on pair, grid mine")}
    session, cluster = records(folder, "session"), records(folder, "cluster")
    assert set(rows) == set(session)
    assert rows["gpu_only"]["session s"] == "skipped"
    assert rows["cpu_only"]["cluster s"] == "missing"
    for backend, found in (("session", session), ("cluster", cluster)):
        for label, record in found.items():
            if record["status"] == "ok":
                check(rows[label], record, backend)
    assert rows["metis"]["session s"].endswith(" virtual")
    assert not rows["metis"]["cluster s"].endswith(" virtual")


def check(row, record, backend):
    """Every number of a row's backend follows from its record."""
    simulated, measured = record["simulated"]["step_time"], median(record["step_times"])
    assert row["simulated s"].strip("*") == f"{simulated:#.4g}"
    printed, interval = row[f"{backend} s"].replace("*", "").split(" ")[:2]
    assert printed == f"{measured:#.4g}"
    # A minus also stands in the exponent of a step of microseconds.
    low, high = map(float, re.findall(r"[\d.]+(?:e-\d+)?", interval))
    assert low <= float(printed) <= high
    error = 100 * (simulated - measured) / measured
    assert row[f"{backend}: error %"] == f"{error:+.1f}"
    peaks = record["peak_memory"]
    fullest = max(peaks, key=lambda device: peaks[device])
    both = peaks[fullest] / 1e9, record["simulated"]["peak_memory"][fullest] / 1e9
    assert row[f"peak memory, GB: {backend} (simulated)"] == f"{both[0]:.3f} ({both[1]:.3f})"


def test_ranks_and_winners_are_compared(folder, table):
    lines = {row["backend"]: row for row in section(table, "Agreement")}
    ran = {k: r for k, r in records(folder, "session").items() if r["status"] == "ok"}
    simulated = {label: record["simulated"]["step_time"] for label, record in ran.items()}
    measured = {label: median(record["step_times"]) for label, record in ran.items()}
    rho = spearmanr(list(simulated.values()), list(measured.values())).statistic
    line = lines["session"]
    assert (line["answers"], line["Spearman"]) == (str(len(ran)), f"{rho:.3f}")
    first, chosen = min(measured, key=measured.get), min(simulated, key=simulated.get)
    assert (line["fastest measured"], line["fastest simulated"]) == (first, chosen)
    assert line["same"] == "yes" or first != chosen
    assert lines["cluster"]["answers"] == "1"
    assert lines["cluster"]["same"] == "-"


def changed(folder, tmp_path, placer, **fields):
    """The table's line of the session when a placer's record says otherwise."""
    results = tmp_path / "r"
    shutil.copytree(folder / "r", results)
    [path] = results.glob(f"mine@session/*/*/*/{placer}/seed0.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    lines = section(build_table("measured", results), "Agreement")
    return next(line for line in lines if line["backend"] == "session")


def fastest_but(folder, placer):
    """Step time and steps of the fastest in the session, one placer left out."""
    ran = [r for label, r in records(folder, "session").items() if label != placer]
    return min((r["step_time"], r["step_times"]) for r in ran if r["status"] == "ok")


def promised(folder, **more):
    """What a record says where the simulator promises a nanosecond."""
    told = records(folder, "session")["m_topo"]["simulated"]
    return {"simulated": told | {"step_time": 1e-9} | more}


def test_a_winner_that_only_the_simulator_sees_is_told_with_its_price(folder, tmp_path):
    seconds, _ = fastest_but(folder, "m_topo")
    slow = {"step_time": 500 * seconds, "step_times": [500 * seconds] * 5}
    line = changed(folder, tmp_path, "m_topo", **slow, **promised(folder))
    assert (line["fastest simulated"], line["same"]) == ("m_topo", "no: x500.00")


def test_what_overlaps_is_no_disagreement(folder, tmp_path):
    seconds, steps = fastest_but(folder, "m_topo")
    wide = {"step_time": 500 * seconds, "step_times": [min(steps), 999 * seconds]}
    line = changed(folder, tmp_path, "m_topo", **wide, **promised(folder))
    assert (line["fastest simulated"], line["same"]) == ("m_topo", "within noise")


def test_a_winner_is_alone_where_no_other_interval_overlaps_its_own():
    """1.0 is between 0.9 and 1.1, which 1.1 between 1.05 and 1.2 overlaps and 1.3 does not."""
    rows = pd.DataFrame(
        {
            "label": ["a", "b", "c"],
            "status": "ok",
            "simulated": [1.0, 2.0, 3.0],
            "simulated_oom": False,
            "measured": [1.0, 1.1, 1.3],
            "low": [0.9, 1.05, 1.2],
            "high": [1.1, 1.2, 1.4],
            "placement_hash": ["1", "2", "3"],
        }
    )
    assert Winner.of(rows).alone == ""
    assert Winner.of(rows[rows["label"] != "b"]).alone == "a"
    touching = rows.assign(low=[0.9, 1.1, 1.2])
    assert Winner.of(touching).alone == ""
    assert Winner.of(touching.assign(simulated=[2.0, 1.0, 3.0])).verdict == "within noise"


def test_what_the_simulator_refuses_cannot_be_its_winner(folder, tmp_path):
    line = changed(folder, tmp_path, "m_topo", **promised(folder, oom=["cpu:0"]))
    assert line["fastest simulated"] != "m_topo"
    assert line["answers"] == "4"


def test_the_csv_has_every_record(folder, table):
    rows = list(csv.DictReader(table.csv().splitlines()))
    assert len(rows) == table.found == table.expected == 8
    assert {row["grid"] for row in rows} == {"mine"}
    metis = {r["backend"]: r for r in rows if r["placer"] == "metis"}
    assert float(metis["cluster"]["measured"]) == median(
        records(folder, "cluster")["metis"]["step_times"]
    )


def test_the_reports_are_the_same_twice(folder, tmp_path):
    outputs = [tmp_path / "first", tmp_path / "second"]
    for output in outputs:
        arguments = ["--results", str(folder / "r"), "--output", str(output)]
        assert main(["report", "--only", "measured", *arguments]) == 0
    names = sorted(path.name for path in outputs[0].iterdir())
    assert names == ["measured.csv", "measured.md", "measured.png"]
    for name in names:
        assert (outputs[0] / name).read_bytes() == (outputs[1] / name).read_bytes(), name
