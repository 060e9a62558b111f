"""What walks of annealing take over from each other, and how many there are."""

from __future__ import annotations

import time
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from six_ops import device, six_ops

from baselines.annealing import Annealing
from baselines.local_search.critical_chain import Chain
from baselines.local_search.crossover import Crossover
from baselines.local_search.moves import Grouping, Moves
from baselines.local_search.settling import Settling
from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.formats.machine_toml import machine_from_table
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator

DEVICES = ("cpu:0", "gpu:0", "gpu:1", "gpu:2")
RENAMINGS = [np.array([0, *names]) for names in permutations([1, 2, 3])]
"""All that leave the CPU what it is."""


def weighed(seconds: list[float]) -> Problem:
    """Operations that take so long on a GPU, and twice as long on the CPU."""
    devices = [device(name, "1 GB") for name in DEVICES]
    link = {"bandwidth": 1e9, "latency": 0.0, "channel": "pair"}
    machine = machine_from_table({"name": "some", "device": devices, "link": [link]})
    count, on_gpu = len(seconds), np.array(seconds)
    graph = OpGraph.create(
        "weighed",
        [f"op{i}" for i in range(count)],
        ["MatMul"] * count,
        producer=[],
        consumers=[],
        tensor_bytes=[],
        persistent_bytes=[0] * count,
        seconds={"cpu": 2 * on_gpu, "gpu": on_gpu},
    )
    return Problem.create(graph, machine)


def overlap(one: Ints, other: Ints, seconds: list[float]) -> float:
    return float(np.array(seconds)[one == other].sum())


@st.composite
def two_placements(draw: st.DrawFn) -> tuple[list[float], Ints, Ints]:
    seconds = draw(st.lists(st.floats(0.01, 10.0), min_size=1, max_size=12))
    devices = st.lists(st.integers(0, 3), min_size=len(seconds), max_size=len(seconds))
    return seconds, np.array(draw(devices), np.int64), np.array(draw(devices), np.int64)


@given(two_placements())
def test_devices_are_renamed_so_that_most_work_is_in_the_same_place(
    case: tuple[list[float], Ints, Ints],
) -> None:
    seconds, row, like = case
    found = Crossover(weighed(seconds)).renamed(row, like)
    ways = [name[row] for name in RENAMINGS]
    assert any((found == way).all() for way in ways)
    best = max(overlap(way, like, seconds) for way in ways)
    assert overlap(found, like, seconds) == pytest.approx(best)


def test_a_mirror_image_is_renamed_to_the_placement_itself() -> None:
    row = np.array([0, 1, 1, 2, 3, 3])
    mirrored = np.array([0, 3, 1, 2])[row]
    assert (Crossover(weighed([1.0] * 6)).renamed(mirrored, row) == row).all()


def test_a_part_is_taken_over_as_another_placement_has_it() -> None:
    grouping = Grouping.of(np.array([0, 0, 0, 1, 1, 1]))
    problem = six_ops()
    moves = Moves(problem, [grouping], Settling(problem), crossed=1.0)
    none = np.zeros(0, np.int64)
    chain = Chain(none, none, none.astype(bool), none.astype(float))
    current, other = np.array([1, 1, 1, 1, 1, 1]), np.array([1, 2, 0, 2, 0, 2])
    rng, others = np.random.default_rng(0), other[None]
    made = {
        tuple(moves.neighbours(current, 1, 0.0, chain, others, set(), rng)[0].tolist())
        for _ in range(100)
    }
    assert made == {(1, 2, 0, 1, 1, 1), (1, 1, 1, 2, 0, 2), (1, 2, 0, 2, 0, 2)}


@pytest.mark.parametrize(
    ("evaluations", "walks"), [(100, 1), (500, 4), (1000, 8), (4000, 8), (8000, 16), (90000, 32)]
)
def test_more_walks_where_there_are_evaluations_for_them(evaluations: int, walks: int) -> None:
    problem = six_ops()
    search = Search(problem, Simulator(problem), 0, max_evaluations=evaluations)
    assert len(Annealing().walks_of(problem, search).starts()) == walks


def test_where_seconds_are_the_budget_their_evaluations_count() -> None:
    problem = six_ops()
    simulator = Simulator(problem)

    def slow(devices: Ints) -> Scores:
        time.sleep(0.01 * len(devices))
        return simulator(devices)

    # At a hundredth of a second each, four seconds have few enough for one or two walks; two
    # thousand seconds have enough for all.
    for seconds, least, most in ((4.0, 1, 2), (2000.0, 32, 32)):
        search = Search(problem, slow, 0, max_seconds=seconds)
        walks = Annealing(starts=("gpu_only",)).walks_of(problem, search).starts()
        assert least <= len(walks) <= most


def test_a_share_is_refused_that_is_none() -> None:
    with pytest.raises(InputError, match=r"crossed is 1\.5; give a share, 0 to 1"):
        Annealing(crossed=1.5)
