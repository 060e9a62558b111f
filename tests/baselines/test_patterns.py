"""Moves on the repeated structure, and layouts made of it."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from six_ops import six_ops
from unrolled import STEPS, classes, problem_of

from baselines.annealing import Annealing
from baselines.local_search.layouts import Layout, Layouts
from baselines.local_search.patterns import MOVES, Move, Patterns
from baselines.local_search.settling import Settling
from baselines.structure.find import Structure, find_structure
from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator

DRAWS = 60


def drawn(kind: str, move: Move, start: Ints, devices: int, structure: Structure) -> list[Ints]:
    """Placements of classes that this kind of move makes of ``start``."""
    patterns = Patterns(structure, devices, (kind,))
    rng, rows = np.random.default_rng(0), []
    for _ in range(DRAWS):
        row = np.array(start, np.int64)
        patterns.apply(row, move, rng)
        rows.append(row)
    return rows


def test_a_part_contains_its_class_and_is_a_role_a_module_or_a_side_of_it() -> None:
    problem = problem_of(2)
    structure = find_structure(problem)
    patterns, rng = Patterns(structure, 3), np.random.default_rng(0)
    member = int(classes(problem, "d_weight")[5])
    parts = {tuple(patterns.part(member, rng).tolist()) for _ in range(DRAWS)}
    assert all(member in part for part in parts)
    assert tuple(sorted(classes(problem, "d_weight").tolist())) in parts
    served = np.flatnonzero(structure.serves == structure.serves[member])
    assert tuple(served.tolist()) in parts
    # Weight gradients go without what products follow on, or with all of the module.
    sides = [structure.last[list(part)] for part in parts]
    assert any(side.all() for side in sides)
    assert any(not side.all() for side in sides)


def test_dealing_out_follows_the_steps() -> None:
    problem = problem_of(3)
    structure = find_structure(problem)
    chosen = classes(problem, "matmul", 1)
    move = Move(int(chosen[4]), 1, None)
    start = np.zeros(problem.graph.n_classes, np.int64)
    for row in drawn("cycle", move, start, 4, structure):
        found = row[chosen]
        period = next(n for n in range(1, STEPS) if (found[n:] == found[:-n]).all())
        assert 2 <= period <= 4
        assert len(set(found[:period].tolist())) == period
    for row in drawn("runs", move, start, 4, structure):
        borders = np.count_nonzero(np.diff(row[chosen]))
        assert borders == len(set(row[chosen].tolist())) - 1
    ways = {tuple(row[chosen].tolist()) for row in drawn("runs", move, start, 2, structure)}
    assert len({found[0] for found in ways}) == 2


def test_following_puts_a_role_in_step_with_another() -> None:
    problem = problem_of(2)
    structure = find_structure(problem)
    leaders, followers = classes(problem, "matmul", 0), classes(problem, "tanh", 0)
    start = np.zeros(problem.graph.n_classes, np.int64)
    start[leaders] = np.arange(STEPS) % 2 + 1
    move = Move(int(followers[3]), int(start[leaders[3]]), int(leaders[3]))
    for row in drawn("follow", move, start, 3, structure):
        assert (row[followers] == start[leaders]).all()


def test_exchange_send_and_border() -> None:
    problem = problem_of(2)
    structure = find_structure(problem)
    chosen = classes(problem, "matmul", 0)
    start = np.zeros(problem.graph.n_classes, np.int64)
    start[chosen] = np.repeat([1, 2], STEPS // 2)
    move = Move(int(chosen[5]), 2, None)
    assert all(
        (row[chosen] == 3 - start[chosen]).all() for row in drawn("swap", move, start, 3, structure)
    )
    sent = {tuple(row[chosen].tolist()) for row in drawn("send", move, start, 3, structure)}
    assert sent == {(2,) * STEPS}
    counts = set()
    for row in drawn("border", move, start, 3, structure):
        changed = np.flatnonzero(row[chosen] != start[chosen])
        assert (row[chosen][changed] == 2).all()
        assert changed.max() == 5
        assert (np.diff(changed) == 1).all()
        counts.add(len(changed))
    assert len(counts) > 1


def test_layouts_use_accelerators_and_keep_modules_together_unless_dealt_out() -> None:
    problem = problem_of(4)
    layouts = Layouts(problem, find_structure(problem), Settling(problem))
    rngs = [np.random.default_rng(seed) for seed in range(DRAWS)]
    rows = [layouts.laid(layouts.draw(rng)) for rng in rngs]
    heavy = np.setdiff1d(np.arange(problem.graph.n_classes), Settling(problem).light)
    assert {int(device) for row in rows for device in row[heavy]} == {1, 2, 3, 4}
    products = np.intersect1d(classes(problem, "matmul"), heavy)
    dealt = [len(set(row[products].tolist())) for row in rows]
    assert 1 in dealt
    assert max(dealt) > 1
    used = {len(set(row[heavy].tolist())) for row in rows}
    assert {1, 4} < used


def test_a_varied_layout_differs_in_one_thing_or_two() -> None:
    problem = problem_of(4)
    layouts, rng = (
        Layouts(problem, find_structure(problem), Settling(problem)),
        np.random.default_rng(0),
    )
    changed = set()
    for _ in range(DRAWS):
        layout = layouts.draw(rng)
        varied = layouts.vary([layout], rng)
        names = [
            f.name for f in fields(layout) if getattr(layout, f.name) != getattr(varied, f.name)
        ]
        assert len(names) <= 2
        changed |= set(names)
    assert changed == {field.name for field in fields(Layout)}


def test_a_search_judges_hardly_a_layout_twice_and_varies_the_fastest() -> None:
    problem = problem_of(4)
    search = Search(problem, Simulator(problem), 0, max_evaluations=400)
    pairs = Annealing(starts=(), walks=1).walks_of(problem, search).starts()
    assert len(pairs) == 1
    assert search.evaluations == 40
    walks = Annealing(starts=(), walks=1000).walks_of(problem, search)
    layouts, costs_of = walks.layouts, walks._costs_of
    assert layouts is not None
    laid, hosted = layouts.judged(walks.drawn, 0.2, search.rng, costs_of)
    assert len(laid) + len(hosted) == walks.drawn == 36
    assert len({row.tobytes() for _, row in laid}) > 0.9 * len(laid)
    costs = [cost for cost, _ in laid]
    half = walks.drawn // 2
    assert np.median(costs[half:]) < np.median(costs[:half])


@pytest.mark.parametrize("kinds", [(), tuple(MOVES), ("cycle",)])
def test_the_same_seed_gives_the_same_placement(kinds: tuple[str, ...]) -> None:
    problem = problem_of(2)

    def found() -> tuple[str, float, int]:
        search = Search(problem, Simulator(problem), 3, max_evaluations=200)
        placement = Annealing(starts=(), patterns=kinds).place(problem, search)
        return placement.hash, search.best_time, search.evaluations

    assert found() == found()


def test_refuses_patterns_that_do_not_exist() -> None:
    with pytest.raises(InputError, match="no pattern 'spiral'; give some of send, cycle"):
        Annealing(patterns=("spiral",))
    with pytest.raises(InputError, match="layouts is -1"):
        Annealing(layouts=-1)


def test_a_budget_smaller_than_the_layouts_is_enough() -> None:
    problem = six_ops()
    search = Search(problem, Simulator(problem), 0, max_evaluations=30)
    assert Annealing().place(problem, search).devices.shape == (6,)
    assert search.evaluations <= 30
