"""A step that goes on from the middle goes on as it would have, as often as it is resumed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hand_made import case
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import placed, random_devices

from suite.core.problem import Problem
from suite.simulator.compiled.heap import pop
from suite.simulator.compiled.judge import Simulator
from suite.simulator.compiled.one_event import handle
from suite.simulator.compiled.resumed import compiled, restore, roomy_workspace, simulate_before
from suite.simulator.timeline import Timeline, timeline


def finish(flat, w, totals, kept, requests, further):
    """Go on from what was kept, each operation so many devices further; when all is over."""
    restore(w, kept, requests)
    for op in range(len(further)):
        w.state[op] += further[op]
    now = 0
    while w.heap[-1] > 0:
        now, index = pop(flat, w)
        requests = handle(flat, w, totals, now, index, requests)
    return now


def check(problem: Problem, devices, until: int, rest: Iterable) -> None:
    """Simulate up to a time, and go on from there with operations on the devices of ``rest``.

    That is compared with whole steps: until then, all of them have to be alike.
    """
    simulator, begun = Simulator(problem), timeline(problem, devices)
    rules = simulator.rules._replace(bounded=True)
    w, totals = roomy_workspace(simulator.layout, rules)
    before, go_on = compiled(simulate_before, rules), compiled(finish, rules)
    requests = before(simulator.layout, w, totals, devices, until)
    assert requests == np.count_nonzero(begun.requested < until)
    kept = w._replace(**{name: array.copy() for name, array in w._asdict().items()})
    for then in rest:
        w.op_start[begun.start >= max(1, until)] = -1
        further = then.astype(np.int64) - devices
        end = go_on(simulator.layout, w, totals, kept, requests, further)
        whole = timeline(problem, then)
        assert w.op_start.tolist() == whole.start.tolist()
        if until < whole.result.nanoseconds:
            assert end == whole.result.nanoseconds


def elsewhere(problem: Problem, times: Timeline, until: int, rng: np.random.Generator):
    """int32[ops]: other devices of the classes for which nothing is made before ``until``."""
    graph = problem.graph
    tensors, readers = graph.edges
    early = np.bincount(readers, minlength=graph.n_ops) == 0
    early[readers[times.end[graph.producer[tensors]] < until]] = True
    stays = np.bincount(graph.colocation[early], minlength=graph.n_classes) > 0
    return np.where(stays[graph.colocation], times.devices, random_devices(problem, rng))


@settings(max_examples=150)
@given(placed(max_ops=12), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_a_step_goes_on_as_it_would_have(problem_and_devices, fiftieths: int, seed: int) -> None:
    """Where it was, and with what nothing was made for yet elsewhere."""
    problem, devices = problem_and_devices
    rules = Simulator(problem).rules
    # The plainest machines and those that do most at once: each set of rules takes long to compile.
    assume(rules.detailed == rules.at_once)
    times = timeline(problem, devices)
    until = round(fiftieths / 50 * times.result.nanoseconds)
    moved = elsewhere(problem, times, until, np.random.default_rng(seed))
    check(problem, devices, until, [devices, moved, moved, devices])


def test_operations_that_gather_elsewhere_leave_the_queues_of_others_alone() -> None:
    """More become ready on the CPU than there were, while others wait on the GPUs."""
    waiting = [(f"{name}{i}", gpu, 9) for gpu, name in ((1, "a"), (2, "b")) for i in range(4)]
    problem, devices = case(
        [("first", 0, 1), *waiting, *((f"x{i}", 3, 5) for i in range(8))],
        [("first", 1, [f"x{i}" for i in range(8)])],
        **{"dispatch": "stack", "parallelism": 2},
    )
    devices = np.array(devices, np.int32)
    moved = np.where(devices == 3, 0, devices).astype(np.int32)
    check(problem, devices, 0, [moved, devices, moved])


def test_what_a_device_owes_for_an_arrival_is_owed_again() -> None:
    """Its tensor arrives at 2, while both lanes are busy: it pauses for 3 ns after the first."""
    problem, devices = case(
        [("a", 1, 1), ("b", 0, 10), ("c", 0, 20), ("d", 0, 1), ("e", 0, 1)],
        [("a", 1, ["d"]), ("b", 0, ["e"])],
        **{"parallelism": 2, "receive_overhead": 3e-9},
    )
    devices = np.array(devices, np.int32)
    assert timeline(problem, devices).start.tolist() == [0, 0, 0, 13, 14]
    check(problem, devices, 5, [devices, devices])


def test_what_waits_for_a_channel_waits_again() -> None:
    """At 3 one transfer is under way and one waits; a third joins them, or its reader has moved."""
    problem, devices = case(
        [("a", 1, 1), ("b", 1, 1), ("c", 1, 1), ("x", 0, 1), ("y", 0, 1), ("z", 0, 1)],
        [("a", 10, ["x"]), ("b", 10, ["y"]), ("c", 10, ["z"])],
    )
    devices = np.array(devices, np.int32)
    moved = np.array([1, 1, 1, 0, 0, 1], np.int32)
    assert timeline(problem, devices).start.tolist() == [0, 1, 2, 11, 21, 31]
    check(problem, devices, 3, [devices, moved, devices])


def test_an_engine_that_is_held_is_held_again() -> None:
    """When the way from a to x is free, what b sends still waits for y's GPU, until 51."""
    problem, devices = case(
        [("a", 1, 1), ("b", 1, 1), ("d", 0, 1), ("x", 2, 1), ("y", 3, 1), ("z", 3, 1)],
        [("a", 10, ["x"]), ("b", 10, ["z"]), ("d", 50, ["y"])],
        channel="copy-engines",
    )
    devices = np.array(devices, np.int32)
    assert timeline(problem, devices).start.tolist() == [0, 1, 0, 11, 51, 61]
    check(problem, devices, 5, [devices, devices])
