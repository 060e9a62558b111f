"""How long one update of HDP takes, part by part, and what each optimisation brings.

    python benchmarks/policy_update.py [TASK]

All figures come from one run; ratios are the result (benchmarks/policy_update.md).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from planners import _seq2seq
from planners._grouper import Grouper
from planners._hierarchy import Hierarchy
from planners._reinforce import Credit
from planners._settings import Settings
from planners._units import Units
from planners.nn.attention import score
from planners.nn.lstm import advance
from suite.bench.run_cell import make_problem
from suite.search.registry import task
from suite.simulator.compiled.judge import Simulator

REPEATS = 5


def loop_lstm(inputs: Any, kernel: Any, hidden: Any, cell: Any) -> tuple[Any, Any]:
    """The recurrence as a ``tf.while_loop`` that the tape differentiates."""
    steps, batch, width = inputs.shape

    def body(step: Any, hidden: Any, cell: Any, kept: Any) -> Any:
        _, cell, hidden = advance(inputs[step], kernel, hidden, cell)
        return step + 1, hidden, cell, kept.write(step, hidden)

    kept = tf.TensorArray(tf.float32, steps, element_shape=[batch, width // 4])
    start = (0, hidden, cell, kept)
    _, _, cell, kept = tf.while_loop(
        lambda step, *_: step < steps, body, start, maximum_iterations=steps
    )
    return kept.stack(), cell


def loop_scores(queries: Any, keys: Any, weight: Any) -> Any:
    """Attention step by step in a loop that the tape differentiates."""
    steps, batch, _ = queries.shape

    def body(step: Any, kept: Any) -> Any:
        return step + 1, kept.write(step, score(queries[step], keys, weight))

    kept = tf.TensorArray(tf.float32, steps, element_shape=[batch, keys.shape[0]])
    _, kept = tf.while_loop(lambda step, _: step < steps, body, (0, kept), maximum_iterations=steps)
    return kept.stack()


def seconds(function: Callable[[], Any]) -> float:
    """Median time of a call, after one that may compile."""
    function()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def policy(problem: Any) -> Hierarchy:
    rng, settings, units = np.random.default_rng(0), Settings(), Units(problem)
    grouper = Grouper(units, settings.groups, settings, rng)
    return Hierarchy(units, grouper, settings.groups, settings, rng)


def learning(hierarchy: Hierarchy, compiled: bool) -> float:
    rng = np.random.default_rng(0)
    hierarchy._gradients = tf.function(hierarchy._climb, jit_compile=compiled, autograph=False)
    sample = hierarchy.sample(rng, 0)
    credit = Credit(np.ones(len(sample.devices)), 0.1)
    return seconds(lambda: hierarchy.learn(sample, credit, sample.choices["chosen"][0], 0))


def main(name: str) -> None:
    problem = make_problem(name, "k40", task(name).gpus)
    simulator = Simulator(problem)
    ours, rng = policy(problem), np.random.default_rng(0)
    sample = ours.sample(rng, 0)
    with (
        patch.object(_seq2seq, "lstm", loop_lstm),
        patch.object(_seq2seq, "scores", loop_scores),
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
