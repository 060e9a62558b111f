"""Steps in which one thing happens at a time: by hand, and compiled against plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hand_made import case
from hypothesis import given, settings
from in_turn import in_turn
from strategies import placed

from suite.bounds.by_semantics import sequential_bound
from suite.core.errors import InputError
from suite.core.judged_machine import JudgedMachine
from suite.formats.machine_toml import load_machine, machine_from_table
from suite.simulator.judges import make_simulator, own_semantics
from suite.simulator.semantics import HETERO, PLACEBENCH
from suite.simulator.sequential.judge import SequentialSimulator
from suite.simulator.sequential.reference import simulate
from suite.simulator.timeline import timeline

TWO_READERS = (
    [("a", 0, 100), ("b", 1, 50), ("c", 1, 30), ("d", 0, 70)],
    [("a", 1000, ["b", "c"]), ("b", 8, ["d"]), ("c", 0, ["d"])],
)


def test_a_step_is_the_sum_of_operations_and_one_transfer_per_tensor_and_device() -> None:
    problem, devices = case(*TWO_READERS, latency=5)
    found = SequentialSimulator(problem).run(np.array(devices))
    # a's 1000 bytes go over once for both readers; b's 8 and the control edge c -> d come back.
    assert found.nanoseconds == 100 + (5 + 1000) + 50 + (5 + 8) + 30 + (5 + 0) + 70
    assert found.busy.tolist() == [170, 80]
    assert found.moved.tolist() == [1000, 8]


def test_each_destination_is_paid_for() -> None:
    ops = [("a", 0, 10), ("b", 1, 1), ("c", 2, 1), ("d", 2, 1)]
    problem, devices = case(ops, [("a", 100, ["b", "c", "d"])])
    assert SequentialSimulator(problem).run(np.array(devices)).nanoseconds == 10 + 100 + 1 + 100 + 2


def test_memory_is_freed_behind_the_last_reader() -> None:
    problem, devices = case(*TWO_READERS, persistent=7)
    # On the CPU a's 1000 bytes go when they are sent; on the GPU they go after c, beside b's 8.
    assert SequentialSimulator(problem).run(np.array(devices)).peak_memory.tolist() == [1014, 1022]


def test_the_timeline_tells_it_all() -> None:
    problem, devices = case(*TWO_READERS, latency=5)
    line = timeline(problem, np.array(devices), semantics=HETERO)
    assert line.start.tolist() == [0, 1105, 1168, 1203]
    assert line.end.tolist() == [100, 1155, 1198, 1273]
    assert line.arrived.tolist() == [1105, 1168, 1203]
    assert line.utilisation(1).sum() == pytest.approx(250 / 1273)


@settings(max_examples=150)
@given(placed(max_ops=12))
def test_compiled_equals_plain_python(case: tuple[Any, Any]) -> None:
    problem, devices = case
    simulator = SequentialSimulator(problem)
    expected = simulate(problem, devices).result
    for _ in range(2):  # what the first leaves behind is no matter
        found = simulator.run(devices)
        assert found.same_as(expected)
        assert found.oom.tolist() == expected.oom.tolist()
    scores = simulator(np.stack([devices, devices]))
    assert scores.step_time.tolist() == [expected.step_time] * 2
    assert scores.peak_memory.tolist() == [expected.peak_memory.tolist()] * 2


def test_the_machine_says_by_what_it_is_judged() -> None:
    problem, devices = case(*TWO_READERS, latency=5)
    assert own_semantics(problem.machine) is PLACEBENCH
    problem = in_turn(problem)
    assert own_semantics(problem.machine) is HETERO
    assert make_simulator(problem).run(np.array(devices)).nanoseconds == 1273
    assert make_simulator(problem, PLACEBENCH).run(np.array(devices)).nanoseconds < 1273


def test_a_machine_file_names_its_semantics() -> None:
    device = {"name": "cpu:0", "kind": "cpu", "memory": 1, "peak_flops": 1, "memory_bandwidth": 1}
    table = {"name": "m", "device": [device | {"launch_overhead": 0}]}
    plain, named = (machine_from_table(table | extra) for extra in ({}, {"semantics": "hetero"}))
    assert isinstance(named, JudgedMachine)
    assert own_semantics(named.with_gpus(0)) is HETERO
    assert plain.fingerprint != named.fingerprint
    with pytest.raises(InputError, match="machine m: semantics is 'placeto'; one of placebench"):
        own_semantics(machine_from_table(table | {"semantics": "placeto"}))


def test_a_policy_has_no_meaning() -> None:
    problem, devices = case(*TWO_READERS)
    with pytest.raises(InputError, match="semantics hetero has no policy 'fifo'"):
        timeline(problem, np.array(devices), "fifo", HETERO)


def test_machines_without_a_word_keep_their_fingerprint() -> None:
    assert not isinstance(load_machine("k40"), JudgedMachine)


def test_a_step_that_cannot_be_counted_is_refused_and_so_is_its_bound() -> None:
    """Eleven operations of 29 years each are more nanoseconds than 64 bits hold."""
    ops = [(f"o{i}", 0, 9 * 10**17) for i in range(11)]
    problem, _ = case(ops, [])
    for judge in (SequentialSimulator, sequential_bound):
        with pytest.raises(InputError, match="check units"):
            judge(problem)
