"""How long one update of HDP takes, part by part, and what each optimisation brings.

    python benchmarks/policy_update.py [TASK]

All figures come from one run; ratios are the result (benchmarks/policy_update.md).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from unittest.mock import patch

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from planners.features.class_graph import ClassGraph
from planners.hdp import HDP, JointPolicy
from planners.nn import bidirectional, decoder
from planners.nn.attention import score
from planners.nn.lstm import advance
from planners.nn.tensor import Tensor, TensorArray
from planners.policy_gradient.rewards import Credit
from suite.bench.load_problem import make_problem
from suite.core.problem import Problem
from suite.search.registry import task
from suite.simulator.compiled.judge import Simulator

REPEATS = 5


def loop_lstm(
    inputs: Tensor, kernel: Tensor, hidden: Tensor, cell: Tensor
) -> tuple[Tensor, Tensor]:
    """The recurrence as a ``tf.while_loop`` that the tape differentiates."""
    steps, batch, width = inputs.shape

    def body(step: Tensor, hidden: Tensor, cell: Tensor, kept: TensorArray) -> tuple[object, ...]:
        _, cell, hidden = advance(inputs[step], kernel, hidden, cell)
        return step + 1, hidden, cell, kept.write(step, hidden)

    kept = tf.TensorArray(tf.float32, steps, element_shape=[batch, width // 4])
    start = (0, hidden, cell, kept)
    _, _, cell, kept = tf.while_loop(
        lambda step, *_: step < steps, body, start, maximum_iterations=steps
    )
    return kept.stack(), cell


def loop_scores(queries: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    """Attention step by step in a loop that the tape differentiates."""
    steps, batch, _ = queries.shape

    def body(step: Tensor, kept: TensorArray) -> tuple[object, ...]:
        return step + 1, kept.write(step, score(queries[step], keys, weight))

    kept = tf.TensorArray(tf.float32, steps, element_shape=[batch, keys.shape[0]])
    _, kept = tf.while_loop(lambda step, _: step < steps, body, (0, kept), maximum_iterations=steps)
    return kept.stack()


def seconds(function: Callable[[], object]) -> float:
    """Median time of a call, after one that may compile."""
    function()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def policy(problem: Problem) -> JointPolicy:
    settings, graph, rng = HDP(), ClassGraph(problem), np.random.default_rng(0)
    grouper = settings.grouper(graph, rng)
    embedding = settings.group_embedding(graph, grouper.groups)
    return settings.joint(graph, grouper, settings.placer(embedding, graph.devices, rng))


def learning(joint: JointPolicy, compiled: bool) -> float:
    rng = np.random.default_rng(0)
    joint._gradients = tf.function(joint._climb, jit_compile=compiled, autograph=False)
    sample = joint.sample(rng, 0)
    credit = Credit(np.ones(len(sample.devices)), 0.1)
    return seconds(lambda: joint.learn(sample, credit, sample.chosen[0], 0))


def main(name: str) -> None:
    problem = make_problem(name, "k40", task(name).gpus)
    simulator = Simulator(problem)
    ours, rng = policy(problem), np.random.default_rng(0)
    sample = ours.sample(rng, 0)
    with (
        patch.object(bidirectional, "lstm", loop_lstm),
        patch.object(decoder, "lstm", loop_lstm),
        patch.object(decoder, "scores", loop_scores),
    ):
        tape = learning(policy(problem), compiled=False)
    rows = {
        "learn, loops differentiated by the tape": tape,
        "learn, backward passes by hand": learning(policy(problem), compiled=False),
        "learn, by hand, compiled by XLA": learning(ours, compiled=True),
        "sample, with noise": seconds(lambda: ours.sample(rng, 0)),
        "sample, without noise": seconds(lambda: ours.sample(rng, 10_000)),
        "simulate 4 placements": seconds(lambda: simulator(sample.devices)),
    }
    for what, spent in rows.items():
        print(f"| {what} | {1000 * spent:.0f} ms | x{tape / spent:.1f} |")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "nmt_8")
