"""The compiled simulator gives the reference's bits, whatever the graph, machine and placement."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import placed, problems, random_devices

from suite.core.errors import InputError
from suite.simulator.compiled.judge import Simulator
from suite.simulator.reference import simulate
from suite.simulator.result import POLICIES
from suite.simulator.semantics import PRESETS


@settings(max_examples=400)
@given(placed(), st.sampled_from([None, *POLICIES]))
def test_compiled_equals_reference(case, policy):
    problem, devices = case
    assert Simulator(problem, policy).run(devices).same_as(simulate(problem, devices, policy))


@settings(max_examples=100)
@given(placed(max_ops=40, min_gpus=2), st.sampled_from([None, *POLICIES]))
def test_compiled_equals_reference_on_larger_graphs(case, policy):
    problem, devices = case
    assert Simulator(problem, policy).run(devices).same_as(simulate(problem, devices, policy))


@settings(max_examples=100)
@given(placed(max_ops=40, min_gpus=6, max_gpus=9))
def test_compiled_equals_reference_on_larger_machines(case):
    problem, devices = case
    assert Simulator(problem).run(devices).same_as(simulate(problem, devices))


@settings(max_examples=20)
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
    with pytest.raises(ValueError, match="fifo, priority, stack"):
        Simulator(None, "lifo")


@pytest.mark.parametrize("name", list(PRESETS)[1:])
@settings(max_examples=250)
@given(case=placed(max_ops=25, min_gpus=1), policy=st.sampled_from(["fifo", "priority"]))
def test_compiled_equals_reference_under_every_semantics(name, case, policy):
    problem, devices = case
    rules = PRESETS[name]
    policy = "fifo" if rules.booked else policy
    compiled = Simulator(problem, policy, rules).run(devices)
    assert compiled.same_as(simulate(problem, devices, policy, rules))


@pytest.mark.parametrize("name", PRESETS)
@settings(max_examples=10)
@given(problem=problems(max_ops=20, min_gpus=1))
def test_a_batch_is_its_placements_under_every_semantics(name, problem):
    rng = np.random.default_rng(0)
    rows = np.stack([random_devices(problem, rng) for _ in range(5)])
    simulator = Simulator(problem, semantics=PRESETS[name])
    scores = simulator.batch(rows, threads=1)
    for i, row in enumerate(rows):
        alone = simulator.run(row)
        assert scores.step_time[i] == alone.step_time
        assert scores.oom[i] == alone.oom.any()


def test_channels_booked_ahead_need_first_come_first_served():
    for run in (Simulator, lambda *arguments: simulate(None, None, *arguments[1:])):
        with pytest.raises(InputError, match="baechi books channels ahead; use the policy fifo"):
            run(None, "priority", PRESETS["baechi"])
