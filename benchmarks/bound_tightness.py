"""How far the lower bound is from the optimum of random small graphs (docs/bounds.md).

Run ``python benchmarks/bound_tightness.py``: every placement of every graph is simulated.
"""

from __future__ import annotations

import itertools

import numpy as np

from suite.bounds.lower_bound import lower_bound
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.simulator.compiled.judge import Simulator

GRAPHS = 15
DEVICE = {"memory": "1 GB", "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}


def random_problem(seed: int, ops: int, gpus: int, transfer: float) -> Problem:
    """Draw a graph: op times of 1 to 9 ms on a GPU, 0.5, 3 or 10 times that on the CPU."""
    rng = np.random.default_rng(seed)
    readers = [
        (t, int(op))
        for t in range(ops - 1)
        for op in rng.permutation(np.arange(t + 1, ops))[: rng.integers(1, 3)]
    ]
    gpu = rng.uniform(1, 9, ops) * 1e-3
    cpu = gpu * rng.choice([0.5, 3, 10], ops)
    devices = [{"name": "cpu:0", "kind": "cpu", **DEVICE}]
    devices += [{"name": f"gpu:{i}", "kind": "gpu", **DEVICE} for i in range(gpus)]
    link = {"bandwidth": 1e9, "latency": transfer, "channel": "copy-engines"}
    graph = OpGraph.create(
        f"random {seed}",
        [f"op{i}" for i in range(ops)],
        ["Op"] * ops,
        range(ops - 1),
        readers,
        tensor_bytes=100,
        seconds={"cpu": cpu, "gpu": gpu},
    )
    machine = machine_from_table({"name": "random", "device": devices, "link": [link]})
    return Problem.create(graph, machine)


def optimum(problem: Problem) -> float:
    """Return the step time of the best of all placements."""
    devices = range(problem.machine.n_devices)
    rows = np.array(list(itertools.product(devices, repeat=problem.graph.n_ops)), np.int32)
    return float(Simulator(problem).batch(rows).step_time.min())


def main() -> None:
    """Print one line for each size and transfer time."""
    print("ops  GPUs  transfer (ms)  mean bound/optimum  worst")
    for (ops, gpus), transfer in itertools.product(((10, 1), (8, 2)), (1e-4, 5e-3, 2e-2)):
        problems = [random_problem(seed, ops, gpus, transfer) for seed in range(GRAPHS)]
        ratios = [lower_bound(p).seconds / optimum(p) for p in problems]
        mean, worst = np.mean(ratios), min(ratios)
        print(f"{ops:3d}  {gpus:4d}  {1e3 * transfer:13g}  {mean:18.3f}  {worst:5.3f}")


if __name__ == "__main__":
    main()
