"""A recurrent network whose structure is known: layers of like cells, unrolled, with gradients."""

from __future__ import annotations

import numpy as np
from six_ops import device

from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table

KINDS = ("in", "matmul", "tanh", "d_tanh", "d_matmul", "d_weight")


def unrolled(steps: int, layers: int, order: list[int] | None = None) -> OpGraph:
    """A recurrent network and its backward pass: "matmul/1/3" is in layer 1, step 3.

    ``order`` lists the operations in another order.
    """
    names, edges = [], []
    for layer in range(layers):
        names += [f"weight/{layer}", f"sum/{layer}", f"update/{layer}"]
        edges += [(f"sum/{layer}", f"update/{layer}"), (f"weight/{layer}", f"update/{layer}")]
        for t in range(steps):
            here = f"{layer}/{t}"
            names += [f"{kind}/{here}" for kind in KINDS[1:]]
            below = f"tanh/{layer - 1}/{t}" if layer else f"in/0/{t}"
            above = f"d_matmul/{layer + 1}/{t}" if layer + 1 < layers else "loss"
            edges += [(below, f"matmul/{here}"), (f"weight/{layer}", f"matmul/{here}")]
            edges += [(f"matmul/{here}", f"tanh/{here}"), (f"tanh/{here}", f"d_tanh/{here}")]
            edges += [(above, f"d_tanh/{here}"), (f"d_tanh/{here}", f"d_matmul/{here}")]
            edges += [(f"weight/{layer}", f"d_matmul/{here}"), (below, f"d_weight/{here}")]
            edges += [(f"d_tanh/{here}", f"d_weight/{here}"), (f"d_weight/{here}", f"sum/{layer}")]
            if t:
                edges += [(f"tanh/{layer}/{t - 1}", f"matmul/{here}")]
                edges += [(f"d_matmul/{here}", f"d_tanh/{layer}/{t - 1}")]
    names += [f"in/0/{t}" for t in range(steps)] + ["loss"]
    edges += [(f"tanh/{layers - 1}/{t}", "loss") for t in range(steps)]
    names = names if order is None else [names[i] for i in order]
    number = {name: at for at, name in enumerate(names)}
    types = [name.split("/")[0] for name in names]
    products = ("matmul", "d_matmul", "d_weight")
    labels = [f"w{name[-1]}" if name.startswith(("weight", "update")) else None for name in names]
    return OpGraph.create(
        "unrolled",
        names,
        types,
        [number[a] for a, _ in edges],
        [(at, number[b]) for at, (_, b) in enumerate(edges)],
        tensor_bytes=[1000 if a.startswith("weight") else 10 for a, _ in edges],
        colocation=labels,
        persistent_bytes=[1000 * (kind == "weight") for kind in types],
        flops=[1000.0 * (kind in products) for kind in types],
        bytes_touched=10.0,
    )


def scopes(graph: OpGraph, kind: str, layer: int) -> Ints:
    """The operations of a kind in a layer, by step."""
    number = {name: at for at, name in enumerate(graph.op_names)}
    steps = sum(name.startswith(f"{kind}/{layer}/") for name in graph.op_names)
    return np.array([number[f"{kind}/{layer}/{t}"] for t in range(steps)])


STEPS = 12
"""Of :func:`problem_of`."""


def problem_of(gpus: int) -> Problem:
    """Two layers on a CPU and GPUs of 1 GB."""
    devices = [device("cpu:0", "1 GB"), *(device(f"gpu:{i}", "1 GB") for i in range(gpus))]
    link = {"bandwidth": 1e9, "latency": 1e-6, "channel": "pair"}
    machine = machine_from_table({"name": "some", "device": devices, "link": [link]})
    return Problem.create(unrolled(STEPS, 2), machine)


def classes(problem: Problem, kind: str, layer: int = 0) -> Ints:
    """The classes of a kind of operation in a layer, step by step."""
    return problem.graph.colocation[scopes(problem.graph, kind, layer)]
