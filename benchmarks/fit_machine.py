"""Fit a machine's efficiencies and overheads to the CPU-only and GPU-only cells of its paper.

Only those cells are used (OOM and "-" are not times), so that every other one of the table is a
prediction. One set of constants serves all of a machine's tasks. The few cells do not determine ten
constants: among those that fit, the ones nearest to the priors below are taken (ridge penalty on
their logarithms).

    python benchmarks/fit_machine.py k40            # print the constants and the fitted cells
    python benchmarks/fit_machine.py k40 --write    # and put them into suite/machines/k40.toml
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import minimize

from suite.capture.cache import load_graph
from suite.core.costs import HOST_TYPES, op_class
from suite.core.graph import OpGraph
from suite.core.machine import OP_CLASSES, Machine
from suite.core.paths import MACHINES
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.simulator.compiled.judge import Simulator

Cells = Mapping[tuple[str, str], float]
"""(task, device kind) -> published step time in seconds."""

HDP: Cells = {
    ("inception_v3", "cpu"): 0.61,
    ("rnnlm", "cpu"): 6.89,
    ("nmt_2", "cpu"): 6.46,
    ("nmt_4", "cpu"): 10.68,
    ("nmt_8", "cpu"): 11.52,
    ("inception_v3", "gpu"): 0.15,
    ("resnet_152", "gpu"): 1.18,
    ("rnnlm", "gpu"): 1.57,
}
"""HDP, Table 1."""
COLOCRL: Cells = {
    ("colocrl_rnnlm", "cpu"): 6.89,
    ("colocrl_nmt", "cpu"): 10.72,
    ("colocrl_inception_v3", "cpu"): 26.21,
    ("colocrl_rnnlm", "gpu"): 1.57,
    ("colocrl_inception_v3", "gpu"): 4.60,
}
"""ColocRL, Table 2."""


def tf13(cells: Cells) -> Cells:
    """Return the cells of the tasks that are graphs of TensorFlow 1.3.0."""
    return {(f"{task}_tf13", kind): seconds for (task, kind), seconds in cells.items()}


CELLS: Mapping[str, Cells] = {
    "k40": HDP,
    "k80": COLOCRL,
    "k40_tf13": tf13(HDP),
    "k80_tf13": tf13(COLOCRL),
}
"""By machine."""

PRIORS = {
    "cpu": {"convolution": 0.2, "matmul": 0.2, "elementwise": 0.5, "movement": 0.5},
    "gpu": {"convolution": 0.4, "matmul": 0.35, "elementwise": 0.7, "movement": 0.7},
}
"""Shares of the datasheet peak that libraries of the time reached, by our estimate."""

OVERHEAD_PRIORS = {"cpu": 5e-6, "gpu": 1.2e-5}
"""Seconds per kernel launch, by our estimate; an operation without a kernel takes a third."""

HOST_SHARE = 1 / 3
POWER = 8
"""Exponent of each cell's error |log ours - log published|: high, to keep the worst cell close."""
RIDGE = 1e-6
"""Weight of (log constant - log prior)^2 against the cells' errors."""


class Work:
    """What one graph asks of one device kind, summed so that a fit step costs nothing."""

    def __init__(self, graph: OpGraph, kind: str, machine: Machine) -> None:
        device = next(d for d in machine.devices if d.kind == kind)
        classes = np.array([op_class(t) for t in graph.op_types])
        host = np.array([t in HOST_TYPES for t in graph.op_types])
        self.compute = graph.flops / device.peak_flops
        self.memory = graph.bytes_touched / device.memory_bandwidth
        self.masks = [classes == c for c in range(len(OP_CLASSES))]
        self.launches = float((~host).sum() + HOST_SHARE * host.sum())

    def seconds(self, efficiency: Sequence[float], overhead: float) -> float:
        """Step time with everything on this device: one operation at a time."""
        busy = sum(
            np.maximum(self.compute[mask], self.memory[mask]).sum() / share
            for mask, share in zip(self.masks, efficiency, strict=True)
        )
        return float(busy + self.launches * overhead)


def fit(kind: str, works: dict[str, Work], published: Cells) -> tuple[list[float], float]:
    """Return (efficiency per operation class, launch overhead in seconds) of a device kind."""
    prior = np.log([*PRIORS[kind].values(), OVERHEAD_PRIORS[kind]])
    cells = {task: seconds for (task, k), seconds in published.items() if k == kind}

    def loss(logs: np.ndarray) -> float:
        *efficiency, overhead = np.exp(logs)
        errors = [np.log(works[t].seconds(efficiency, overhead) / s) for t, s in cells.items()]
        return float(np.sum(np.power(errors, POWER)) + RIDGE * np.sum(np.square(logs - prior)))

    bounds = [(np.log(0.01), 0.0)] * len(OP_CLASSES) + [(np.log(1e-7), np.log(1e-4))]
    best = minimize(loss, prior, method="L-BFGS-B", bounds=bounds)
    *efficiency, overhead = (float(f"{x:.3g}") for x in np.exp(best.x))
    return efficiency, overhead


def rewrite(text: str, kind: str, efficiency: list[float], overhead: float) -> str:
    """Put fitted constants into the TOML text of the machine."""
    host = float(f"{overhead * HOST_SHARE:.3g}")
    head, *blocks = re.split(r"(?=^\[)", text, flags=re.M)
    for i, block in enumerate(blocks):
        if f'kind = "{kind}"' in block:
            block = re.sub(r"launch_overhead = \S+", f"launch_overhead = {overhead:g}", block)
            blocks[i] = re.sub(r"host_overhead = \S+", f"host_overhead = {host:g}", block)
        elif block.startswith(f"[efficiency.{kind}]"):
            for name, share in zip(OP_CLASSES, efficiency, strict=True):
                block = re.sub(rf"{name} = \S+", f"{name} = {share:g}", block)
            blocks[i] = block
    return "".join([head, *blocks])


def report(name: str, published: Cells, graphs: Mapping[str, OpGraph]) -> None:
    """Print every fitted cell, simulated, beside the published one."""
    machine = load_machine(name).with_gpus(1)
    for (task, kind), seconds in published.items():
        problem = Problem.create(graphs[task], machine)
        device = 0 if kind == "cpu" else 1
        devices = np.where(np.isfinite(problem.seconds[:, device]), device, 0)
        devices = np.where(problem.allowed[problem.graph.colocation, device], devices, 0)
        ours = Simulator(problem).run(devices.astype(np.int32)).step_time
        print(f"{task:22}{kind}-only {ours:7.3f} s, published {seconds:6.2f}", end="")
        print(f", ratio {ours / seconds:.2f}")


def main() -> None:
    """Fit, and print every fitted cell beside the published one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("machine", choices=sorted(CELLS))
    parser.add_argument("--write", action="store_true", help="update the machine's TOML file")
    arguments = parser.parse_args()
    path, published = MACHINES / f"{arguments.machine}.toml", CELLS[arguments.machine]
    machine, text = load_machine(arguments.machine), path.read_text(encoding="utf-8")
    graphs = {task: load_graph(task) for task in dict.fromkeys(task for task, _ in published)}
    for kind in PRIORS:
        works = {task: Work(graph, kind, machine) for task, graph in graphs.items()}
        efficiency, overhead = fit(kind, works, published)
        text = rewrite(text, kind, efficiency, overhead)
        print(kind, dict(zip(OP_CLASSES, efficiency, strict=True)), f"overhead {overhead:g} s")
    if arguments.write:
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
        report(arguments.machine, published, graphs)


if __name__ == "__main__":
    main()
