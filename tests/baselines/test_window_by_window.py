"""Windows of a step: they estimate what the simulator says, and what they find is faster."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made import case, chains
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from six_ops import six_ops
from strategies import placed
from unrolled import problem_of

import baselines.local_search.windows.search as windows_search
from baselines.local_search.windows.early_transfers import SEND
from baselines.local_search.windows.search import Windows
from baselines.window_by_window import WindowByWindow, WindowWalks
from suite.core.cores import Share
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator


def by_class(problem: Problem, devices) -> np.ndarray:
    """int64[n_classes] of int[ops]."""
    row = np.zeros(problem.graph.n_classes, np.int64)
    row[problem.graph.colocation] = devices
    return row


def after(problem: Problem, row) -> int:
    """Nanoseconds of the step."""
    return Simulator(problem).run(row[problem.graph.colocation].astype(np.int32)).nanoseconds


@settings(max_examples=60)
@given(placed(max_ops=12, min_gpus=1, in_turn=True))
def test_nothing_could_be_later_than_it_is_but_what_waits(problem_and_devices) -> None:
    problem, devices = problem_and_devices
    step = Windows(problem, Simulator(problem)).traced(by_class(problem, devices))
    slack, times = step.slack, step.slack.times
    occupied = problem.machine.occupied
    assert (slack.op_start >= times.start).all()
    assert (slack.transfer_start >= times.sent).all()
    # Something starts when the step does and holds up all that follows, up to its end.
    if not occupied:
        assert (slack.op_start[times.start == 0] == 0).any()
    ends = slack.op_start + times.end - times.start
    assert (ends <= step.nanoseconds).all()


def test_how_late_things_could_be() -> None:
    # a sends 10 bytes to c, which takes 5; b is done long before d, which reads it, ends the step.
    problem, devices = case(
        [("a", 1, 10), ("b", 2, 3), ("c", 2, 5), ("d", 1, 4)],
        [("a", 10, ["c"]), ("b", 2, ["d"]), ("c", 1, ["d"])],
    )
    step = Windows(problem, Simulator(problem)).traced(by_class(problem, devices))
    # c runs from 20 to 25, d from 26 to 30.
    assert step.nanoseconds == 30
    names = problem.graph.op_names
    latest = dict(zip(names, step.slack.op_start.tolist(), strict=True))
    # b has to be over for c on its device, and its tensor on the way to d when that of c is sent.
    assert latest == {"a": 0, "b": 17, "c": 20, "d": 26}
    assert sorted(step.slack.transfer_start.tolist()) == [10, 23, 25]


@pytest.mark.parametrize(
    ("readers", "begins", "prices"),
    [
        # It is sent from 10 to 25 if x reads it on gpu:1. What a sends, from 20 on, then comes 5
        # late, and b, which ends the step, too. The way to the CPU is free.
        (["c", "x"], 50, [0, 0, 5]),
        (["c", "x"], 20, [SEND, 0, SEND]),
        # It goes along with its only reader, and each source is taken to hold up its device.
        (["x"], 50, [10, 0, 10]),
    ],
)
def test_what_a_weight_costs_elsewhere(readers, begins: int, prices: list[int]) -> None:
    problem, devices = case(
        [("w", 1, 10), ("a", 1, 10), ("c", 1, 80), ("x", 1, 10), ("b", 2, 90)],
        [("w", 15, readers), ("a", 20, ["b", "c"]), ("c", 1, ["x"])],
    )
    step = Windows(problem, Simulator(problem)).traced(by_class(problem, devices))
    window = step.window(begins, 130, 1)
    assert step.nanoseconds == 130
    assert window.prices[0].tolist() == prices
    x = problem.graph.op_names.index("x")
    assert x in window.part_ops
    assert window.tail[window.number[x]].tolist() == [0, 0, 0]


@settings(max_examples=40)
@given(placed(max_ops=12, min_gpus=1, in_turn=True), st.integers(0, 2**32 - 1))
def test_of_a_whole_step_the_estimate_is_what_the_simulator_says(placed_, seed: int) -> None:
    problem, devices = placed_
    # A window does not see pauses that a step ends with.
    assume(not problem.machine.occupied and problem.machine.dispatch == "fifo")
    windows = Windows(problem, Simulator(problem))
    step = windows.traced(by_class(problem, devices))
    found = windows.search(step, [(0.0, 1.0)], 50, np.random.default_rng(seed))[0]
    assert len(found.rows) == len(found.costs)
    for row, cost in zip(found.rows, found.costs, strict=True):
        assert problem.allowed[np.arange(len(row)), row].all()
        assert after(problem, row) == cost < step.nanoseconds


LATE_READERS = [
    *[("w", 1, 10), ("a", 1, 10), ("c", 1, 80), ("y", 1, 20), ("x", 1, 25)],
    *[("b", 2, 100), ("e", 3, 1)],
]


@pytest.mark.parametrize(
    ("size", "begins", "costs"),
    [
        # Sent from 10 to 28; what a sends could begin no later than 25 for b to end at 145.
        (18, 40, [140 + 3]),
        # There is no time for it before the window: sent behind what a sends, from 40 on.
        (75, 21, [140]),
        (95, 21, []),  # until 135, and y needs 20 more
    ],
)
def test_an_early_tensor_counts_in_every_trial(size: int, begins: int, costs: list[int]) -> None:
    # y runs from 100 to 120 and x to 145, both after c; with one of them elsewhere b, at 140, is
    # the last. But that one needs w there.
    problem, devices = case(
        LATE_READERS,
        [("w", size, ["c", "x", "y"]), ("a", 20, ["b", "c"]), ("c", 1, ["x", "y"])],
        channel="copy-engines",
    )
    windows = Windows(problem, Simulator(problem))
    step = windows.traced(by_class(problem, devices))
    assert step.nanoseconds == 145
    found = windows.search(step, [(begins / 145, 1.0)], 100, np.random.default_rng(0))[0]
    assert found.costs == costs


def test_what_an_operation_alone_reads_goes_where_it_goes() -> None:
    # x would be on its device from 120 to 145; elsewhere it begins at 101, and b ends the step.
    problem, devices = case(
        LATE_READERS,
        [("w", 18, ["x"]), ("a", 20, ["b", "c"]), ("c", 1, ["x"]), ("c", 60, ["y"])],
    )
    windows = Windows(problem, Simulator(problem))
    step = windows.traced(by_class(problem, devices))
    found = windows.search(step, [(40 / 145, 1.0)], 100, np.random.default_rng(0))[0]
    w, x = (problem.graph.colocation[problem.graph.op_names.index(name)] for name in "wx")
    assert found.rows
    for row in found.rows:
        assert row[w] == row[x] != step.row[x]


def test_a_window_moves_what_starts_in_it_and_what_it_alone_reads() -> None:
    problem = chains(gpus=2, times=3)
    windows = Windows(problem, Simulator(problem))
    gpu_only = np.ones(problem.graph.n_classes, np.int64)
    step = windows.traced(gpu_only)
    start = step.slack.times.start / step.nanoseconds
    found = windows.search(step, [(0.3, 0.6)], 400, np.random.default_rng(0))[0]
    for row in found.rows:
        moved = (row != gpu_only)[problem.graph.colocation]
        assert moved.any()
        assert ((start[moved] >= 0.3) & (start[moved] < 0.6)).all()


def test_chains_of_small_operations_go_to_the_host() -> None:
    problem = chains(gpus=1, times=4)
    search = Search(problem, Simulator(problem), 0, max_evaluations=2000)
    # A window has to hold a chain: one of its operations alone costs more than it saves.
    walks = WindowWalks(WindowByWindow(width=0.3), problem, search)
    gpu_only = np.ones(problem.graph.n_classes, np.int64)
    walks.cheapest = after(problem, gpu_only) / 1e9, gpu_only
    walks.search_windows(0.5)
    row = walks.cheapest[1]
    names = np.array(problem.graph.op_names)
    small = np.char.startswith(names, "small")
    assert set(row[problem.graph.colocation[small]]) == {0}
    assert after(problem, row) == round(walks.cheapest[0] * 1e9)


@pytest.mark.parametrize("seed", range(5))
def test_six_operations_are_placed_best(seed: int) -> None:
    problem = six_ops()
    search = Search(problem, Simulator(problem), seed, max_evaluations=60)
    WindowByWindow().place(problem, search)
    assert search.best_time == pytest.approx(0.3)
    assert search.evaluations <= 60


def test_the_answer_is_the_same_on_one_core_and_on_several(monkeypatch) -> None:
    problem = problem_of(2)

    def found(threads: int) -> Search:
        monkeypatch.setattr(windows_search, "my_share", lambda: Share(1, threads))
        search = Search(problem, Simulator(problem), 3, max_evaluations=1500)
        WindowByWindow().place(problem, search)
        return search

    one, several = found(1), found(3)
    assert [entry[::2] for entry in one.history] == [entry[::2] for entry in several.history]
    assert one.notes == several.notes
    # Windows count as the steps that they simulate: half of the budget is there for them at most.
    assert 0 < one.notes["windows_simulated"] + one.evaluations <= 1.02 * 1500
    assert one.evaluations > 700
    assert one.best is not None
    assert several.best is not None
    assert one.best.devices.tolist() == several.best.devices.tolist()


@pytest.mark.parametrize("evaluations", [9, 300])
def test_a_budget_is_kept_and_what_does_not_fit_is_left_alone(evaluations: int) -> None:
    problem = six_ops(gpu="5 kB")
    search = Search(problem, Simulator(problem), 0, max_evaluations=evaluations)
    WindowByWindow().place(problem, search)
    assert 1 <= search.evaluations <= evaluations
    assert search.best is not None
    assert not Simulator(problem).run(search.best.devices).oom.any()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"width": 0.0}, "width is 0.0; give a share, above 0 and below 1"),
        ({"trials": 0}, "trials is 0; give >= 1"),
        ({"pays": 2.0}, "pays is 2.0; give a share, 0 to 1"),
        ({"climbers": 0}, "climbers is 0; give >= 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, message: str) -> None:
    with pytest.raises(InputError, match=message):
        WindowByWindow(**wrong)
