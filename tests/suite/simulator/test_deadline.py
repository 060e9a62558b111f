"""A deadline changes nothing but this: a step that takes longer than it has no result."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import placed, problems, random_devices

from suite.simulator.compiled.judge import Simulator
from suite.simulator.reference import simulate
from suite.simulator.result import StepResult, TooLong
from suite.simulator.semantics import PRESETS


def check(problem, devices, share, policy, rules):
    full = simulate(problem, devices, policy, rules)
    deadline = int(share * full.nanoseconds)
    answer = Simulator(problem, policy, rules).run_until(devices, deadline)
    if isinstance(answer, StepResult):
        assert answer.nanoseconds <= deadline
        assert answer.same_as(full)
    else:
        assert answer.deadline == deadline < answer.at_least <= full.nanoseconds


@settings(max_examples=400, deadline=None)
@given(placed(max_ops=25), st.floats(0, 1.2), st.sampled_from(["fifo", "priority"]))
def test_the_whole_result_or_too_long(case, share, policy):
    check(*case, share, policy, PRESETS["placebench"])


@pytest.mark.parametrize("name", ["placeto"])
@settings(max_examples=150, deadline=None)
@given(case=placed(max_ops=25, min_gpus=1), share=st.floats(0, 1.2))
def test_the_whole_result_or_too_long_under_other_semantics(name, case, share):
    check(*case, share, "fifo", PRESETS[name])


@settings(max_examples=50, deadline=None)
@given(placed(max_ops=25, min_gpus=1))
def test_a_deadline_that_is_just_met(case):
    problem, devices = case
    end = simulate(problem, devices).nanoseconds
    assert isinstance(Simulator(problem).run_until(devices, end), StepResult)
    assert isinstance(Simulator(problem).run_until(devices, end - 1), TooLong)


@settings(max_examples=50, deadline=None)
@given(problems(max_ops=20, min_gpus=1), st.integers(1, 2))
def test_a_batch_has_a_deadline_each(problem, threads):
    rng = np.random.default_rng(0)
    rows = np.stack([random_devices(problem, rng) for _ in range(7)])
    simulator = Simulator(problem)
    full = simulator.batch(rows, threads)
    seconds = full.step_time * rng.choice([0.5, 1.0, 2.0], 7)
    seconds[0] = np.inf
    scores = simulator.batch(rows, threads, seconds)
    timed_out = full.step_time > seconds
    assert (scores.timed_out == timed_out).all()
    assert np.isinf(scores.step_time[timed_out]).all()
    assert (scores.peak_memory[timed_out] == -1).all()
    for field in ("step_time", "oom", "peak_memory"):
        assert (getattr(scores, field)[~timed_out] == getattr(full, field)[~timed_out]).all()


@settings(max_examples=50, deadline=None)
@given(placed(max_ops=25, min_gpus=1), st.floats(0, 1))
def test_what_is_broken_off_leaves_no_trace(case, share):
    problem, devices = case
    simulator = Simulator(problem)
    full = simulator.batch(devices[None], 1)
    simulator.batch(devices[None], 1, share * full.step_time)
    again = simulator.batch(devices[None], 1)
    assert again.step_time == full.step_time
    assert (again.peak_memory == full.peak_memory).all()
