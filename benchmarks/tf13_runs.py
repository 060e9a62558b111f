"""Steps really run by TensorFlow 1.3.0, beside what hypotheses about its transfers say of them.

    PLACEBENCH_TF13_PYTHON=python3.6 python benchmarks/tf13_runs.py [PLACEMENTS]

Small RNNLM and NMT with two layers, made by TensorFlow 1.3.0 (models/tf13/small.py), are placed on
two of its servers, a core each, and run. Operations take what a trace of the first placement, all
on one server, says, and in equal parts what else its step takes; links are those of each
hypothesis. Nothing else should run meanwhile. Writes benchmarks/tf13_runs.md; docs/tf13.md says
what follows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from page import write_page
from scipy.stats import spearmanr

from models.tf13_tasks import GPU_KERNELS
from suite.capture.graph_def import capture_exported
from suite.capture.to_graph import Captured
from suite.core.arrays import Floats, Ints
from suite.core.model import GraphFile
from suite.core.problem import Problem
from suite.fidelity.sample_placements import draw
from suite.formats.machine_toml import load_machine, machine_from_table
from suite.report.table import Section
from suite.simulator.compiled.judge import Simulator

PROGRAMS = Path(__file__).parents[1] / "models/tf13"
TODAY = Path(__file__).parents[1] / "results/measured@cluster/two_cores/machine.toml"
PLACEMENTS = 16
Link = dict[str, Any]


def fitted(name: str) -> Link:
    """The link of a machine in the papers' world."""
    [link] = load_machine(name).links
    return {"latency": link.latency, "bandwidth": link.bandwidth, "channel": link.channel}


def today() -> Link:
    """What two of today's servers were profiled with: occupancy included."""
    link = load_machine(str(TODAY)).links[0]
    names = ("latency", "bandwidth", "send_overhead", "receive_overhead", "copy_bandwidth")
    return {"channel": link.channel} | {name: getattr(link, name) for name in names}


HYPOTHESES: dict[str, Link] = {
    "nothing: transfers are free": {"latency": 1e-9, "bandwidth": 1e15, "channel": "pair"},
    "1 ms, 0.5 GB/s, one channel (the first study)": {
        "latency": 1e-3,
        "bandwidth": 5e8,
        "channel": "shared",
    },
    "2 ms, 1 GB/s (`k40_tf13`)": fitted("k40_tf13"),
    "0.11 ms, 1 GB/s (transfers.py)": {"latency": 1.1e-4, "bandwidth": 1e9, "channel": "pair"},
    "the same, and both ends copy as fast": {
        "latency": 1.1e-4,
        "bandwidth": 1e9,
        "channel": "pair",
        "send_overhead": 5e-5,
        "receive_overhead": 5e-5,
        "copy_bandwidth": 1e9,
    },
    "today's servers: 0.11 ms, 2.3 GB/s, occupancy": today(),
}


def program(*arguments: str) -> str:
    """What models/tf13/small.py prints."""
    python = os.environ.get("PLACEBENCH_TF13_PYTHON", "python3.6")
    rest = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, "-W", "ignore", str(PROGRAMS / "small.py"), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=rest).stdout


def problem(captured: Captured, link: Link, seconds: Floats | None = None) -> Problem:
    """The step on two cores; operations take ``seconds``, float64[ops], or as a data sheet says."""
    device = {"kind": "cpu", "memory": "8 GB", "peak_flops": 1e11, "memory_bandwidth": 2e10}
    devices = [{"name": f"cpu:{i}", "launch_overhead": 2e-6, **device} for i in range(2)]
    machine = machine_from_table({"name": "two_servers", "device": devices, "link": [link]})
    graph = captured.graph if seconds is None else replace(captured.graph, seconds={"cpu": seconds})
    return Problem.create(graph, machine)


def spelt_out(captured: Captured) -> bytes:
    """The step's GraphDef; constants have every element, as TensorFlow 1.3.0 reads them."""
    import tensorflow as tf

    graph_def = type(captured.graph_def).FromString(captured.graph_def.SerializeToString())
    for node in graph_def.node:
        if node.op == "Const":
            value = node.attr["value"].tensor
            value.CopyFrom(tf.make_tensor_proto(tf.make_ndarray(value), value.dtype))
    return graph_def.SerializeToString()


def measured(
    folder: Path, name: str, captured: Captured, fetch: Sequence[str], placements: Sequence[Ints]
) -> tuple[Floats, Floats]:
    """Median seconds of every placement's step, and seconds of each operation."""
    names = captured.graph.op_names
    file, step = folder / f"{name}.placed.pb", folder / f"{name}.json"
    file.write_bytes(spelt_out(captured))
    told = [dict(zip(names, devices.tolist(), strict=True)) for devices in placements]
    step.write_text(json.dumps({"graph": str(file), "fetch": list(fetch), "placements": told}))
    answer = json.loads(program("run", str(step)))
    medians = np.median(np.array(answer["seconds"]), axis=1)
    traced = np.array([answer["operations"].get(one, 0.0) for one in names])
    # Between operations, the executor finds the next one.
    rest = max(0.0, float(medians[0] - traced.sum())) / len(names)
    return medians, traced + rest


def row(hypothesis: str, said: Mapping[str, Floats], found: Mapping[str, Floats]) -> list[str]:
    """Rank correlation, median error and bias of each task and of all."""
    cells = [hypothesis]
    for name in found:
        error = said[name][2:] / found[name][2:] - 1
        rank = spearmanr(said[name][2:], found[name][2:]).statistic
        cells.append(f"{rank:.3f}, {100 * np.median(np.abs(error)):.0f} %")
    every = [np.concatenate([by[name][2:] for name in found]) for by in (said, found)]
    error = every[0] / every[1] - 1
    size, bias = 100 * np.median(np.abs(error)), 100 * np.median(error)
    cells.append(f"{spearmanr(*every).statistic:.3f}, {size:.0f} %, bias {bias:+.0f} %")
    return cells


def main() -> None:
    """Make, run, simulate, write."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PLACEMENTS
    found: dict[str, Floats] = {}
    said: dict[str, dict[str, Floats]] = {hypothesis: {} for hypothesis in HYPOTHESES}
    sizes = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, fetch in json.loads(program("make", str(folder))).items():
            exported = GraphFile(folder / f"{name}.pb", (fetch,), GPU_KERNELS)
            captured = capture_exported(exported, name, {})
            guess = problem(captured, HYPOTHESES["0.11 ms, 1 GB/s (transfers.py)"])
            drawn = [one.placement.devices for one in draw(guess, count, 0, {})]
            found[name], seconds = measured(folder, name, captured, exported.fetch, drawn)
            for hypothesis, link in HYPOTHESES.items():
                simulator = Simulator(problem(captured, link, seconds))
                said[hypothesis][name] = np.array([simulator.run(d).step_time for d in drawn])
            one = f"{name}: {captured.graph.n_ops:,} operations, {len(drawn)} placements"
            sizes.append(f"{one}, {found[name].min():.3f} to {found[name].max():.3f} s")
    lead = (
        "`python benchmarks/tf13_runs.py`: two servers of TensorFlow 1.3.0, a core each; "
        + "; ".join(sizes)
        + ". Simulated beside measured, but for the two placements on one server, from which"
        " operations have their times: rank correlation and median error."
    )
    rows = tuple(tuple(row(hypothesis, said[hypothesis], found)) for hypothesis in HYPOTHESES)
    head = ("a transfer costs", *found, "both")
    write_page(__file__, Section("Transfers of TensorFlow 1.3.0, really run", head, rows, lead))


if __name__ == "__main__":
    main()
