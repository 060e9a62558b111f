"""The compiled simulator gives the reference's bits, whatever the graph, machine and placement."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import placed, problems, random_devices

from suite.simulator.reference import simulate
from suite.simulator.step import Simulator


@settings(max_examples=400, deadline=None)
@given(placed(), st.sampled_from(["fifo", "priority"]))
def test_compiled_equals_reference(case, policy):
    problem, devices = case
    assert Simulator(problem, policy).run(devices).same_as(simulate(problem, devices, policy))


@settings(max_examples=100, deadline=None)
@given(placed(max_ops=40, min_gpus=2), st.sampled_from(["fifo", "priority"]))
def test_compiled_equals_reference_on_larger_graphs(case, policy):
    problem, devices = case
    assert Simulator(problem, policy).run(devices).same_as(simulate(problem, devices, policy))


@settings(max_examples=100, deadline=None)
@given(placed(max_ops=40, min_gpus=6, max_gpus=9))
def test_compiled_equals_reference_on_larger_machines(case):
    problem, devices = case
    assert Simulator(problem).run(devices).same_as(simulate(problem, devices))


@settings(max_examples=20, deadline=None)
@given(problems(max_ops=20, min_gpus=1), st.integers(1, 2))
def test_a_batch_is_its_placements_one_by_one(problem, threads):
    rng = np.random.default_rng(0)
    rows = np.stack([random_devices(problem, rng) for _ in range(7)])
    simulator = Simulator(problem)
    scores = simulator.batch(rows, threads=threads)
    for i, row in enumerate(rows):
        alone = simulator.run(row)
        assert scores.step_time[i] == alone.step_time
        assert scores.oom[i] == alone.oom.any()
        assert (scores.peak_memory[i] == alone.peak_memory).all()


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="fifo, priority"):
        Simulator(None, "lifo")
