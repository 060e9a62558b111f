"""Coarse to fine: placements of whole modules are what they say, and get their share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hand_made import chains
from hypothesis import given, settings
from hypothesis import strategies as st
from six_ops import six_ops
from unrolled import problem_of

from baselines.coarse_to_fine import CoarseToFine, ModularWalks
from baselines.local_search.module_placements import NEVER, ModulePlacement, ModulePlacements
from baselines.local_search.settling import Settling
from baselines.structure.find import Structure, find_structure
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator

GPUS = 3


@pytest.fixture(scope="module")
def problem() -> Problem:
    return problem_of(GPUS)


@pytest.fixture(scope="module")
def structure(problem: Problem) -> Structure:
    return find_structure(problem)


@pytest.fixture(scope="module")
def modules(problem: Problem, structure: Structure) -> ModulePlacements:
    return ModulePlacements(problem, structure, hosted=0.0)


def heavy(problem: Problem) -> np.ndarray:
    """bool[n_classes]: those that do not settle."""
    found = np.ones(problem.graph.n_classes, np.bool_)
    found[Settling(problem).light] = False
    return found


def test_heavy_classes_are_where_their_module_is_told_to_be(problem, structure, modules) -> None:
    module, gpus = structure.modules[0], np.array(problem.machine.gpus)
    count = int(module.max()) + 1
    one, other = np.argsort(-np.bincount(module, heavy(problem)))[:2].tolist()
    device = [number % GPUS for number in range(count)]
    asked = ModulePlacement(0, tuple(device), {one: (2, 0)}, {other: (device[other] + 1) % GPUS})
    _, row = modules.laid(asked)
    for number in range(count):
        members = heavy(problem) & (module == number) & ~structure.last
        if number != one:
            assert set(row[members]) <= {gpus[device[number]]}
    dealt = heavy(problem) & (module == one)
    steps = structure.step[dealt]
    assert len(set(steps.tolist())) > 2
    assert row[dealt].tolist() == gpus[np.array([2, 0])[steps % 2]].tolist()
    apart = heavy(problem) & (module == other) & structure.last
    assert set(row[apart]) <= {gpus[(device[other] + 1) % GPUS]}


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_change_leaves_what_is_far_from_it(problem, structure, modules, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parent = modules.laid(modules.drawn(rng))
    of, row = parent
    new = modules.changed(of, rng)
    child, changed = modules.laid(new, parent)
    assert child == new
    assert new.resolution == of.resolution
    assert set(np.unique(changed)) <= set(range(problem.machine.n_devices))
    if new == of:
        assert changed.tolist() == row.tolist()
    # Heavy classes are where they would be were the placement laid from nothing.
    _, afresh = modules.laid(new)
    assert changed[heavy(problem)].tolist() == afresh[heavy(problem)].tolist()


def test_several_are_laid_as_each_alone(modules) -> None:
    rng = np.random.default_rng(0)
    placements = [modules.drawn(rng) for _ in range(9)]
    together = modules.all_laid(placements)
    for placement, (told, row) in zip(placements, together, strict=True):
        assert told is placement
        assert row.tolist() == modules.laid(placement)[1].tolist()


@pytest.mark.parametrize("hosted", [0.0, 0.6])
def test_the_host_takes_over_only_in_the_share_that_is_asked_for(hosted: float) -> None:
    problem = chains(gpus=2)
    modules = ModulePlacements(problem, find_structure(problem), hosted)
    rng = np.random.default_rng(1)
    drawn = [modules.drawn(rng) for _ in range(200)]
    share = np.mean([one.host != NEVER for one in drawn])
    assert share == pytest.approx(hosted, abs=0.1)
    changed = [modules.changed(one, rng) for one in drawn]
    taken = {one.host for one in drawn + changed} - {NEVER}
    # Two cuts: the chain of small operations, alone and with the lone one.
    assert taken == ({0, 1} if hosted else set())
    all_on_one = ModulePlacement(0, (0,) * 99, {}, {})
    plain = modules.laid(all_on_one)[1]
    for number in taken:
        row = modules.laid(replace(all_on_one, host=number))[1]
        assert row[1:11].tolist() == [0] * 10
        assert (row != plain).any()


@pytest.mark.parametrize("seed", range(5))
def test_six_operations_are_placed_best(seed: int) -> None:
    def found() -> Search:
        problem = six_ops()
        search = Search(problem, Simulator(problem), seed, max_evaluations=60)
        CoarseToFine().place(problem, search)
        return search

    search, again = found(), found()
    assert search.best_time == pytest.approx(0.3)
    assert search.evaluations <= 60
    assert (again.best_time, again.history[-1][0]) == (search.best_time, search.history[-1][0])


@pytest.mark.parametrize("evaluations", [9, 200])
def test_a_budget_is_kept_and_what_does_not_fit_is_left_alone(evaluations: int) -> None:
    # A single GPU holds 3,000 of the 6,000 bytes of variables, and is the faster for one chain.
    problem = six_ops(gpu="5 kB")
    search = Search(problem, Simulator(problem), 0, max_evaluations=evaluations)
    CoarseToFine().place(problem, search)
    assert 1 <= search.evaluations <= evaluations
    assert search.best is not None
    assert not Simulator(problem).run(search.best.devices).oom.any()


def test_a_quarter_is_annealing_a_quarter_for_modules_and_half_goes_on_from_the_better() -> None:
    problem = problem_of(2)
    search = Search(problem, Simulator(problem), 0, max_evaluations=2000)
    begun: list[int] = []
    from_, to = list[list[float]](), list[list[float]]()

    class Told(ModularWalks):
        def _ends(self, starts, part):
            begun.append(search.evaluations)
            from_.append([cost for cost, _ in starts])
            ends = super()._ends(starts, part)
            to.append([cost for cost, _ in ends])
            return ends

    walks = Told(CoarseToFine(), problem, search)
    walks.anneal(walks.starts())
    # Modules are placed, in 35 % of their quarter, between the first walks and the second.
    left = 2000 - begun[0]
    shares = np.diff([*begun, search.evaluations]) / left
    assert shares == pytest.approx([0.25 * 1.35, 0.25 * 0.65, 0.5], abs=0.02)
    assert 1990 <= search.evaluations <= 2000
    better, other = sorted(to[:2], key=min)
    assert from_[2] == [*better[:7], other[0]]
    assert walks.cheapest[0] == to[2][0] <= better[0]


def test_without_the_structure_it_is_annealing() -> None:
    problem = six_ops()
    search = Search(problem, Simulator(problem), 0, max_evaluations=60)
    CoarseToFine(patterns=(), layouts=0).place(problem, search)
    assert search.best_time == pytest.approx(0.3)
    assert search.evaluations <= 60


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"climbers": 0}, "climbers is 0; give >= 1"),
        ({"coarse": 0.0}, "coarse is 0.0; give a share, above 0 and below 1"),
        ({"each": 0.5}, "each is 0.5; give a share, above 0 and below 0.5"),
        ({"further": 0}, "further is 0; give >= 1"),
        ({"fine": 0}, "fine is 0; give >= 1"),
        ({"hosted": 1.0}, "hosted is 1.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CoarseToFine(**wrong)
