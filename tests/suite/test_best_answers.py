"""The best different placements of a search: exactly those of a list of all that it judged."""

import numpy as np
import pytest
from plugin.mutation import Mutation
from six_ops import every_placement, six_ops

from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.scores import Scores
from suite.search.best_answers import BestAnswers, Remembering, candidates, difference
from suite.search.checkpoint import Checkpoint
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

PROBLEM = six_ops()
SIMULATOR = Simulator(PROBLEM)


class Recording(Simulator):
    """A simulator that writes down all that it is asked."""

    def __init__(self, problem):
        super().__init__(problem)
        self.asked = []

    def batch(self, devices, *others, **named):
        self.asked += [tuple(row) for row in devices.tolist()]
        return super().batch(devices, *others, **named)


def brute_force(asked, count):
    """(time, placement) of the best different ones, each simulated by itself; equals as asked."""
    rows = np.array(list(dict.fromkeys(asked)), np.int32)
    scores = SIMULATOR(rows)
    fits = [i for i in range(len(rows)) if not scores.oom[i]]
    ranked = sorted(fits, key=lambda i: scores.step_time[i])[:count]
    return [(scores.step_time[i], tuple(rows[i].tolist())) for i in ranked]


def kept(best):
    rows = [tuple(row.tolist()) for row in best.placements]
    return list(zip(best.times, rows, strict=True))


@pytest.mark.parametrize("count", [1, 7, 400])
def test_the_best_are_those_of_a_brute_force_list(count):
    """All placements of a problem in random order, a third of them twice, in batches."""
    rng, every = np.random.default_rng(count), every_placement(PROBLEM)
    asked = every[rng.permutation(np.arange(len(every) * 4 // 3) % len(every))]
    best = BestAnswers(PROBLEM.machine, count)
    for batch in np.array_split(asked, 31):
        best.add(batch, SIMULATOR(batch))
    assert kept(best) == brute_force(map(tuple, asked.tolist()), count)


@pytest.mark.parametrize("placer", ["annealing", "best_of_random"])
def test_a_search_finds_the_same_and_what_else_it_judged_is_known(placer):
    """Annealing breaks slow steps off, which must not hide the second best."""
    bare = Search(PROBLEM, SIMULATOR, seed=4, max_evaluations=300)
    make_placer(placer, {}).place(PROBLEM, bare)
    recording, best = Recording(PROBLEM), BestAnswers(PROBLEM.machine, 12)
    search = Search(PROBLEM, Remembering(recording, best), seed=4, max_evaluations=300)
    make_placer(placer, {}).place(PROBLEM, search)
    assert [(n, t) for n, _, t in search.history] == [(n, t) for n, _, t in bare.history]
    assert search.evaluations == bare.evaluations == len(recording.asked)
    assert kept(best) == brute_force(recording.asked, 12)
    assert best.times[0] == search.best_time


def test_what_is_broken_off_is_what_would_be_without():
    devices = every_placement(PROBLEM)
    limits = np.random.default_rng(1).uniform(0.2, 1.0, len(devices))
    judge = Remembering(SIMULATOR, BestAnswers(PROBLEM.machine, 500))
    expected, found = SIMULATOR.within(devices, limits), judge.within(devices, limits)
    np.testing.assert_array_equal(found.step_time, expected.step_time)
    np.testing.assert_array_equal(found.peak_memory, expected.peak_memory)
    np.testing.assert_array_equal(found.oom, expected.oom)


def test_a_mirror_image_is_no_other_answer():
    """GPUs may be renamed, a GPU and a CPU may not."""
    machine = PROBLEM.machine
    assert difference([1, 1, 2, 2, 0, 0], [2, 2, 1, 1, 0, 0], machine) == 0
    assert difference([1, 1, 2, 2, 0, 0], [2, 2, 1, 0, 0, 0], machine) == pytest.approx(1 / 6)
    assert difference([0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], machine) == 1
    assert difference([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 2], machine) == pytest.approx(5 / 6)


def test_answers_are_as_far_apart_as_asked_and_the_best_is_among_them():
    rng = np.random.default_rng(2)
    asked = rng.permutation(every_placement(PROBLEM))[:500]
    best = BestAnswers(PROBLEM.machine, 6, apart=0.3)
    for batch in np.array_split(asked, 20):
        best.add(batch, SIMULATOR(batch))
    assert len(best.times) > 2
    assert best.times == sorted(best.times)
    assert best.times[0] == SIMULATOR(asked).step_time.min()
    pairs = [(a, b) for i, a in enumerate(best.placements) for b in best.placements[:i]]
    assert min(difference(a, b, PROBLEM.machine) for a, b in pairs) >= 0.3


def test_a_faster_one_takes_the_place_of_what_it_is_too_near_to():
    best = BestAnswers(PROBLEM.machine, 3, apart=0.4)

    def add(seconds, *devices, oom=False):
        scores = Scores(np.array([seconds]), np.array([oom]), np.zeros((1, 3), np.int64))
        best.add(np.array([devices]), scores)

    add(5, 0, 0, 0, 1, 1, 1)
    add(4, 1, 1, 1, 1, 1, 1)
    add(3, 0, 0, 0, 1, 1, 2)  # one operation from the first
    add(2, 0, 0, 0, 1, 1, 1, oom=True)
    add(3, 0, 0, 0, 1, 2, 1)  # as fast as what it is near to
    assert best.times == [3, 4]
    assert best.placements[0].tolist() == [0, 0, 0, 1, 1, 2]


def test_the_placers_own_answer_is_the_first_candidate():
    """Where it is not among the best, it takes the place of the last."""
    rows = every_placement(PROBLEM)[[1, 2, 3]]
    best = BestAnswers(PROBLEM.machine, 3)
    best.add(rows, Scores(np.array([1.0, 2.0, 3.0]), np.zeros(3, bool), np.zeros((3, 3), np.int64)))

    def shown(devices):
        found = candidates(PROBLEM, Placement.of(PROBLEM, devices), best)
        return [(one.placement.devices.tolist(), one.score) for one in found]

    first, second, third = rows.tolist()
    assert shown(rows[1]) == [(second, 2.0), (first, 1.0), (third, 3.0)]
    other = every_placement(PROBLEM)[7]
    assert shown(other) == [(other.tolist(), None), (first, 1.0), (second, 2.0)]


class Killed(Exception):
    """Stands for the end of the process."""


def test_a_search_that_goes_on_from_a_checkpoint_knows_what_it_had_found(tmp_path):
    def run(calls, path):
        best = BestAnswers(PROBLEM.machine, 9)
        saved = Checkpoint(path, "this", 0.0, [best])
        judge = Remembering(SIMULATOR, best)

        def mortal(devices):
            nonlocal calls
            calls -= 1
            if calls < 0:
                raise Killed
            return judge(devices)

        search = Search(PROBLEM, mortal, seed=3, saved=saved)
        Mutation(40, 1).place(PROBLEM, search)
        return kept(best)

    whole = run(1000, tmp_path / "whole.npz")
    assert len(whole) == 9
    for calls in (7, 9, 1000):
        if calls == 1000:
            assert run(calls, tmp_path / "parts.npz") == whole
        else:
            with pytest.raises(Killed):
                run(calls, tmp_path / "parts.npz")


@pytest.mark.parametrize("wrong", [{"count": 0}, {"count": 1, "apart": 1.0}])
def test_what_keeps_nothing_is_refused(wrong):
    with pytest.raises(InputError, match="best answers"):
        BestAnswers(PROBLEM.machine, **wrong)


class Late:
    """A judge that says of each placement: 2 s and out of memory, whatever the limit."""

    def __call__(self, devices):
        return self.within(devices, None)

    def within(self, devices, seconds):
        count = len(devices)
        return Scores(np.full(count, 2.0), np.ones(count, np.bool_), np.full((count, 3), 7))


def test_what_is_handed_on_as_broken_off_is_not_out_of_memory():
    judge = Remembering(Late(), BestAnswers(six_ops().machine, 1))
    scores = judge.within(np.zeros((2, 6), np.int32), np.array([1.0, 2.0]))
    assert scores.step_time.tolist() == [np.inf, 2.0]  # what takes its limit is in time
    assert scores.oom.tolist() == [False, True]
    assert scores.peak_memory.tolist() == [[-1] * 3, [7] * 3]


def test_answers_that_differ_by_the_share_itself_are_far_enough_apart():
    machine = six_ops().machine
    best = BestAnswers(machine, 5, apart=0.5)
    peaks = np.zeros((2, machine.n_devices))
    rows = np.array([[0, 0], [0, 1]], np.int32)
    best.add(rows, Scores(np.array([1.0, 2.0]), np.zeros(2, np.bool_), peaks))
    assert best.times == [1.0, 2.0]
