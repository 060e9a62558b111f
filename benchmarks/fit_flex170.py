"""Fit machine flex170 to the CPU-only and GPU-only seconds of HSDAG's Table 2, and scale them.

    python benchmarks/fit_flex170.py            # prints constants and residuals
    python benchmarks/fit_flex170.py --write    # and writes machines flex170 and flex170_scaled

An operation takes an overhead and the longer of FLOP / F and bytes / B; overhead, F and B of each
device serve all three networks, by least squares of ln(ours / published). Three cells do not
determine three constants of this kind: a slight pull towards PRIORS decides what they leave open.
Machine flex170_scaled has the same times multiplied, for each network and device, by what makes the
six cells exact: two factors for each network, nothing predicted.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from suite.capture.cache import load_graph
from suite.core.arrays import Floats
from suite.core.costs import op_seconds
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.core.paths import MACHINES
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.formats.measured_costs import with_op_times, write_op_times
from suite.report.load_records import load_published
from suite.simulator.judges import make_simulator

TASKS = ("hsdag_inception_v3", "hsdag_resnet50", "hsdag_bert")
NAME = "flex170"
SCALED = "flex170_scaled"
AND_SCALED = (
    "Times of the three networks: those of flex170, multiplied for each network and device \\\n"
    "until the six seconds come out."
)
FIELDS = ("launch_overhead", "peak_flops", "memory_bandwidth")
PRIORS = {"cpu": (1e-6, 9e11, 6e10), "gpu": (1e-5, 2e12, 4e11)}
"""Seconds, FLOP and bytes per second: guesses. The GPU computes in float16, on half the bytes."""
RIDGE = 1e-4
"""Weight of (ln constant - ln prior)^2 beside the cells' squared errors."""


def published() -> dict[tuple[str, str], float]:
    """(task, device kind) -> seconds."""
    table = load_published()
    mine = table[(table["paper"] == "HSDAG") & (table["table"].astype(str) == "2")]
    mine = mine[mine["column"].isin(["cpu_only", "gpu_only"])]
    rows: pd.DataFrame = mine[["task", "column", "value"]]
    return {(t, c[:3]): float(v) for t, c, v in rows.itertuples(index=False)}


def fitted(kind: str, graphs: dict[str, OpGraph], cells: dict[tuple[str, str], float]) -> Floats:
    """float64[3]: overhead, FLOP per second, bytes per second."""
    prior = np.log(PRIORS[kind])

    def loss(logs: Floats) -> float:
        overhead, compute, memory = np.exp(logs)
        errors = []
        for task, graph in graphs.items():
            # What takes no time on any device is given as such.
            works = np.isnan(graph.seconds[kind])
            busy = np.maximum(graph.flops / compute, graph.bytes_touched / memory)[works]
            errors.append(np.log((busy + overhead).sum() / cells[task, kind]))
        return float(np.square(errors).sum() + RIDGE * np.square(logs - prior).sum())

    starts = [prior + shift for shift in (0.0, -1.0, 1.0)]
    options = {"maxiter": 5000, "xatol": 1e-8, "fatol": 1e-14}
    found = [minimize(loss, x, method="Nelder-Mead", options=options) for x in starts]
    constants = np.exp(min(found, key=lambda one: one.fun).x)
    return np.array([float(f"{x:.3g}") for x in constants])


def rewritten(text: str, kind: str, constants: Floats) -> str:
    """The TOML text of the machine with a device's constants."""
    head, *blocks = re.split(r"(?=^\[\[)", text, flags=re.MULTILINE)
    for i, block in enumerate(blocks):
        if f'kind = "{kind}"' in block:
            for field, value in zip(FIELDS, constants, strict=True):
                block = re.sub(rf"{field} = \S+", f"{field} = {value:g}", block)
            blocks[i] = block
    return "".join([head, *blocks])


def scaled(text: str) -> str:
    """The TOML text of the machine whose times are scaled."""
    text = text.replace(f'name = "{NAME}"', f'name = "{SCALED}"\nop_times = "{SCALED}"', 1)
    return text.replace("are. Link:", f"are. \\\n{AND_SCALED} \\\nLink:", 1)


def residuals(machine: Machine, graphs: dict[str, OpGraph]) -> None:
    """Print the six cells."""
    cells = published()
    for (task, kind), seconds in cells.items():
        problem = Problem.create(with_op_times(graphs[task], machine, task), machine)
        device = next(i for i, one in enumerate(machine.devices) if one.kind == kind)
        ours = make_simulator(problem).run(np.full(problem.graph.n_ops, device)).step_time
        print(
            f"{machine.name:15} {task:19} {kind}-only {1e3 * ours:6.3f} ms, published"
            f" {1e3 * seconds:6.3f}, ratio {ours / seconds:.3f}"
        )


def write(machine: Machine, graphs: dict[str, OpGraph], folder: Path) -> None:
    """Write the scaled times of all networks."""
    cells = published()
    for task, graph in graphs.items():
        seconds = op_seconds(graph, machine)
        kinds = {device.kind: i for i, device in enumerate(machine.devices)}
        factors = {k: cells[task, k] / seconds[:, i].sum() for k, i in kinds.items()}
        times = {k: seconds[:, i] * factors[k] for k, i in kinds.items()}
        print(f"wrote {write_op_times(graph, times, folder, task)}", end="")
        print("".join(f", {kind} x {factor:.3f}" for kind, factor in factors.items()))


def main() -> None:
    """Fit, and print every fitted cell beside the published one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the machines' files")
    arguments = parser.parse_args()
    graphs, cells = {task: load_graph(task) for task in TASKS}, published()
    path = MACHINES / f"{NAME}.toml"
    text = path.read_text(encoding="utf-8")
    for kind in PRIORS:
        constants = fitted(kind, graphs, cells)
        text = rewritten(text, kind, constants)
        print(kind, ", ".join(f"{f} {x:g}" for f, x in zip(FIELDS, constants, strict=True)))
    if arguments.write:
        path.write_text(text, encoding="utf-8")
        (MACHINES / f"{SCALED}.toml").write_text(scaled(text), encoding="utf-8")
        write(load_machine(NAME), graphs, MACHINES / SCALED)
        for name in (NAME, SCALED):
            residuals(load_machine(name), graphs)


if __name__ == "__main__":
    main()
