"""The estimate by a list schedule, by hand and against a slow one; the best of many answers."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made import case
from hypothesis import given, settings
from six_ops import six_ops
from strategies import placed

from baselines.best_estimate import BestEstimate
from baselines.list_scheduling.estimate import Estimate
from suite.core.cores import Share, my_share, take_share
from suite.core.errors import InputError, Unsupported
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator

FEW = BestEstimate(cuts=1, layouts=10)


def estimated(ops, tensors, **machine) -> float:
    """Nanoseconds, by the estimate; one byte takes one."""
    problem, devices = case(ops, tensors, **machine)
    return 1e9 * Estimate(problem)(np.array(devices))[0]


def test_a_device_runs_one_operation_at_a_time_in_the_order_of_their_inputs() -> None:
    # b could start at 0 and c at 1: a 0..1, b 1..4, c 4..6.
    ops = [("a", 1, 1), ("b", 1, 3), ("c", 1, 2)]
    assert estimated(ops, [("a", 1, ["c"])]) == pytest.approx(6)
    # Elsewhere c starts when the tensor has come, at 2; b runs meanwhile.
    ops[2] = ("c", 2, 2)
    assert estimated(ops, [("a", 1, ["c"])]) == pytest.approx(4)


def test_a_device_sends_one_tensor_at_a_time() -> None:
    # Both leave at 1: one is there at 3, the other at 5, and its reader takes 1.
    ops = [("a", 1, 1), ("b", 2, 1), ("c", 3, 1)]
    tensors = [("a", 2, ["b"]), ("a", 2, ["c"])]
    assert estimated(ops, tensors) == pytest.approx(6)
    # So does a device that receives.
    ops = [("a", 1, 1), ("b", 2, 1), ("c", 3, 1)]
    tensors = [("a", 2, ["c"]), ("b", 2, ["c"])]
    assert estimated(ops, tensors) == pytest.approx(6)


def test_a_tensor_is_sent_once_to_a_device() -> None:
    ops = [("a", 1, 1), ("b", 2, 1), ("c", 2, 1)]
    assert estimated(ops, [("a", 2, ["b", "c"])]) == pytest.approx(5)
    assert estimated(ops, [("a", 2, ["b"]), ("a", 2, ["c"])]) == pytest.approx(6)


def test_memory_is_that_of_variables_tensors_and_copies() -> None:
    # a makes 5 bytes, b copies them and makes 7, which nobody reads.
    ops, tensors = [("a", 1, 1), ("b", 2, 1)], [("a", 5, ["b"]), ("b", 7, [])]
    problem, devices = case(ops, tensors, persistent=[100, 200])
    _, peak = Estimate(problem)(np.array(devices))
    assert peak.tolist() == [0, 105, 200 + 0]


def slowly(problem: Problem, devices: np.ndarray) -> float:
    """The same list schedule, tensor by tensor, in plain Python."""
    graph, machine = problem.graph, problem.machine

    def travel(tensor: int, source: int, target: int) -> float:
        size = float(graph.tensor_bytes[tensor])
        return 0.0 if source == target else machine.transfer_seconds(source, target, size)

    readers: dict[int, list[int]] = {tensor: [] for tensor in range(graph.n_tensors)}
    for tensor, reader in zip(*graph.edges, strict=True):
        readers[int(tensor)].append(int(reader))
    makes = [np.flatnonzero(graph.producer == op).tolist() for op in range(graph.n_ops)]
    lasts = [float(problem.seconds[op, devices[op]]) for op in range(graph.n_ops)]
    earliest = [0.0] * graph.n_ops
    for op in range(graph.n_ops):
        for tensor in makes[op]:
            for reader in readers[tensor]:
                come = earliest[op] + lasts[op] + travel(tensor, devices[op], devices[reader])
                earliest[reader] = max(earliest[reader], come)
    ready, step = [0.0] * graph.n_ops, 0.0
    free, sends, receives = ([0.0] * machine.n_devices for _ in range(3))
    for op in sorted(range(graph.n_ops), key=lambda op: earliest[op]):
        here = int(devices[op])
        end = free[here] = max(free[here], ready[op]) + lasts[op]
        step = max(step, end)
        for tensor in makes[op]:
            there = {here: end}
            for reader in readers[tensor]:
                target = int(devices[reader])
                if target not in there:
                    begin = max(end, sends[here], receives[target])
                    there[target] = begin + travel(tensor, here, target)
                    sends[here] = receives[target] = there[target]
                ready[reader] = max(ready[reader], there[target])
    return step


@settings(max_examples=60)
@given(placed(min_gpus=1))
def test_the_estimate_is_that_of_a_slow_list_schedule(drawn) -> None:
    problem, devices = drawn
    classes = np.zeros(problem.graph.n_classes, np.int64)
    classes[problem.graph.colocation] = devices
    seconds, peak = Estimate(problem)(classes)
    assert seconds == pytest.approx(slowly(problem, devices), rel=1e-9)
    kept = np.bincount(classes, problem.class_persistent_bytes, problem.machine.n_devices)
    assert (peak >= kept).all()


def test_the_best_of_six_operations_is_found_and_nothing_evaluated() -> None:
    problem = six_ops()
    judge = Simulator(problem)
    search = Search(problem, judge, 0, max_evaluations=0)
    placement = FEW.place(problem, search)
    assert judge.run(placement.devices).step_time == pytest.approx(0.3)
    assert search.evaluations == 0
    assert search.notes["estimated"] == pytest.approx(0.3)
    assert search.notes["candidates"] == {"gpu_only": 1, "m_etf": 1, "metis": 1, "layout": 10}


def test_what_does_not_fit_is_left_alone() -> None:
    # A single GPU holds 3,000 of the 6,000 bytes of variables, and is the faster for one chain.
    problem = six_ops(gpu="5 kB")
    judge = Simulator(problem)
    placement = FEW.place(problem, Search(problem, judge, 0))
    assert not judge.run(placement.devices).oom.any()


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_nothing(threads: int) -> None:
    problem, before = six_ops(), my_share()
    expected = FEW.place(problem, Search(problem, None, 3)).hash
    take_share(Share(1, threads))
    try:
        assert FEW.place(problem, Search(problem, None, 3)).hash == expected
    finally:
        take_share(before)


def test_placers_that_decline_are_noted() -> None:
    problem = six_ops()
    search = Search(problem, Simulator(problem), 0)
    BestEstimate(placers=("best_of_random",), cuts=0, layouts=2).place(problem, search)
    assert "needs a budget" in search.notes["declined"]["best_of_random"]
    with pytest.raises(Unsupported, match="none of the placers has an answer"):
        BestEstimate(placers=("best_of_random",), cuts=0, layouts=0).place(problem, search)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"layouts": -1}, "layouts is -1; give >= 0"),
        ({"placers": ["best_estimate"]}, "placers has best_estimate itself"),
        ({"placers": [], "cuts": 0, "layouts": 0}, "nothing to choose from"),
        ({"imbalances": [2.0]}, "imbalance is 2.0"),
        ({"placers": ["nobody"]}, "nobody"),
    ],
)
def test_refuses_nonsense(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        BestEstimate(**parameters)
