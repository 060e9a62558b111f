"""Six operations, two GPUs and perhaps a CPU: small enough to try every placement."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table


def device(name: str, memory: str) -> dict[str, object]:
    speeds = {"peak_flops": 1e12, "memory_bandwidth": 1e11, "launch_overhead": 0}
    return {"name": name, "kind": name[:3], "memory": memory, **speeds}


def six_ops(gpu: str = "1 GB", cpu: str | None = "1 GB") -> Problem:
    """Two chains of three operations that start apart: the best placement has a GPU for each."""
    devices = [device("gpu:0", gpu), device("gpu:1", gpu)]
    if cpu is not None:
        devices.insert(0, device("cpu:0", cpu))
    link = {"bandwidth": 1e9, "latency": 0.05, "channel": "pair"}
    machine = machine_from_table({"name": "small", "device": devices, "link": [link]})
    graph = OpGraph.create(
        "six",
        [f"{chain}{i}" for chain in "ab" for i in range(3)],
        ["MatMul", "Relu", "MatMul"] * 2,
        producer=[0, 1, 3, 4],
        consumers=[(0, 1), (1, 2), (2, 4), (3, 5)],
        tensor_bytes=[1000] * 4,
        persistent_bytes=[1000] * 6,
        seconds={"cpu": np.full(6, 0.5), "gpu": np.full(6, 0.1)},
    )
    return Problem.create(graph, machine)


def every_placement(problem: Problem) -> NDArray[np.int32]:
    """int32[devices ** ops, ops]."""
    devices = range(problem.machine.n_devices)
    return np.array(list(product(devices, repeat=problem.graph.n_ops)), np.int32)
