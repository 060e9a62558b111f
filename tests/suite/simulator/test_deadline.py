"""A deadline changes nothing but this: a step that takes longer than it has no result."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from six_ops import six_ops
from strategies import placed, problems, random_devices

from suite.core.graph import OpGraph
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


@settings(max_examples=400)
@given(placed(max_ops=25), st.floats(0, 1.2), st.sampled_from(["fifo", "priority"]))
def test_the_whole_result_or_too_long(case, share, policy):
    check(*case, share, policy, PRESETS["placebench"])


@pytest.mark.parametrize("name", ["placeto"])
@settings(max_examples=150)
@given(case=placed(max_ops=25, min_gpus=1), share=st.floats(0, 1.2))
def test_the_whole_result_or_too_long_under_other_semantics(name, case, share):
    check(*case, share, "fifo", PRESETS[name])


@settings(max_examples=50)
@given(placed(max_ops=25, min_gpus=1))
def test_a_deadline_that_is_just_met(case):
    problem, devices = case
    end = simulate(problem, devices).nanoseconds
    assert isinstance(Simulator(problem).run_until(devices, end), StepResult)
    assert isinstance(Simulator(problem).run_until(devices, end - 1), TooLong)


@settings(max_examples=50)
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
    for field in ("step_time", "oom"):
        assert (getattr(scores, field)[~timed_out] == getattr(full, field)[~timed_out]).all()
    counted = (scores.peak_memory >= 0).all(axis=1)
    assert (scores.peak_memory[counted] == full.peak_memory[counted]).all()
    assert counted[scores.oom].all()


@settings(max_examples=300)
@given(placed(max_ops=25, min_gpus=1), st.data())
def test_who_meets_a_deadline_is_told_what_does_not_fit_as_without_one(case, data):
    problem, devices = case
    peaks = simulate(problem, devices).peak_memory
    # Of a device that has just enough, or a byte less, a bound of what it needs tells nothing.
    less = data.draw(st.lists(st.sampled_from([0, 1]), min_size=len(peaks), max_size=len(peaks)))
    machine = problem.machine
    fitted = [
        replace(device, memory=max(1, int(peak) - lack))
        for device, peak, lack in zip(machine.devices, peaks, less, strict=True)
    ]
    problem = replace(problem, machine=replace(machine, devices=tuple(fitted)))
    simulator = Simulator(problem)
    full = simulator.batch(devices[None])
    scores = simulator.within(devices[None], np.array([np.inf]))
    assert scores.oom == full.oom
    assert (scores.peak_memory == full.peak_memory).all() or (scores.peak_memory == -1).all()
    assert not scores.oom or (scores.peak_memory == full.peak_memory).all()


def test_peaks_are_not_counted_where_all_fits():
    problem = six_ops()
    devices = np.ones((1, 6), np.int32)
    scores = Simulator(problem).within(devices, np.array([1e3]))
    assert scores.step_time == Simulator(problem).batch(devices).step_time
    assert (scores.peak_memory == -1).all()
    assert not scores.oom.any()


@settings(max_examples=50)
@given(placed(max_ops=25, min_gpus=1), st.floats(0, 1))
def test_what_is_broken_off_leaves_no_trace(case, share):
    problem, devices = case
    simulator = Simulator(problem)
    full = simulator.batch(devices[None], 1)
    simulator.batch(devices[None], 1, share * full.step_time)
    again = simulator.batch(devices[None], 1)
    assert again.step_time == full.step_time
    assert (again.peak_memory == full.peak_memory).all()


def test_a_buffer_with_an_alias_is_held_until_the_alias_is_read():
    graph = OpGraph.create(
        "alias",
        ["make", "reshape", "read"],
        ["MatMul", "Reshape", "Relu"],
        producer=[0, 1, 2],
        consumers=[(0, 1), (1, 2)],
        tensor_bytes=[1000] * 3,
        alias_of=[-1, 0, -1],
        seconds={"gpu": np.full(3, 0.1)},
    )
    # What is made and what is read from its alias are there at the same time.
    problem = replace(six_ops(gpu="1999 B"), graph=graph, seconds=np.full((3, 3), 0.1))
    scores = Simulator(problem).within(np.ones((1, 3), np.int32), np.array([1.0]))
    assert scores.oom
    assert scores.peak_memory[0].tolist() == [0, 2000, 0]
