"""GDP's gradients are the same numbers in every process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import tensorflow as tf
from six_ops import six_ops

from planners.features.class_graph import ClassGraph
from planners.gdp import GDP, Networks, Policy
from suite.core.graph import OpGraph
from suite.core.paths import ROOT
from suite.core.problem import Problem

N = 10_000
"""Operations; with 5,000, TensorFlow rewrote the graph alike in every process."""


def digest() -> str:
    """Of the gradients of one update, with weights and choices that are always the same."""
    rng = np.random.default_rng(0)
    graph = OpGraph.create(
        "chain with shortcuts",
        [f"op{i}" for i in range(N)],
        ["MatMul"] * N,
        producer=np.arange(N - 1),
        consumers=[(i, j) for i in range(N - 1) for j in {i + 1, int(rng.integers(i + 1, N))}],
        tensor_bytes=np.full(N - 1, 100),
        seconds={"cpu": np.full(N, 1.0), "gpu": np.full(N, 1.0)},
    )
    classes = ClassGraph(Problem.create(graph, six_ops().machine))
    networks = Networks.of([classes], GDP(width=8, segment=64), rng)
    for variable in networks.variables:
        variable.assign(rng.normal(0, 0.3, variable.shape))
    policy = Policy(classes, np.arange(classes.count), networks)
    chosen = rng.integers(0, 2, (4, classes.count))
    old, advantages = np.full(chosen.shape, 0.5, np.float32), np.array([-1, 0, 1, 2], np.float32)
    gradients, _, _ = policy._ascend(chosen, old, advantages, chosen[0])
    dense = (np.asarray(tf.convert_to_tensor(gradient)) for gradient in gradients)
    return hashlib.sha256(b"".join(array.tobytes() for array in dense)).hexdigest()


def test_three_processes_compute_the_same_gradients():
    command = [sys.executable, "-P", "-c", "import test_gdp_processes as t; print(t.digest())"]
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests" / "planners")))
    environment = {**os.environ, "PYTHONPATH": paths}
    runs = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    digests = {run.communicate()[0] for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len(digests) == 1
