"""The minimum cut against every placement of small problems."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from in_turn import in_turn
from six_ops import six_ops
from strategies import problems

from suite.bench.grid import load_grid
from suite.bench.run_cell import bounded, run
from suite.bounds.by_semantics import bound_under, sequential_bound
from suite.bounds.min_cut import min_cut
from suite.core.errors import InputError, Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.interchange import write_graph
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.semantics import HETERO, preset
from suite.simulator.sequential.judge import SequentialSimulator


def best(problem: Problem) -> int:
    """Nanoseconds of the fastest valid placement, tried one by one."""
    allowed = [np.flatnonzero(row) for row in problem.allowed]
    simulator = SequentialSimulator(problem)
    return min(
        simulator.run(Placement.of_classes(problem, np.array(row, np.int32)).devices).nanoseconds
        for row in product(*allowed)
    )


@settings(max_examples=80)
@given(problems(max_ops=8, min_gpus=1, max_gpus=1))
def test_no_placement_is_faster(problem: Problem) -> None:
    cut = min_cut(problem)
    placement = Placement.of_classes(problem, cut.devices.astype(np.int32))
    assert SequentialSimulator(problem).run(placement.devices).nanoseconds == cut.nanoseconds
    assert cut.nanoseconds == best(problem)
    bound = sequential_bound(problem)
    assert (bound.seconds, bound.kind) == (cut.nanoseconds / 1e9, "min_cut")
    assert bound.parts["work"] <= bound.seconds


@settings(max_examples=20)
@given(problems(max_ops=5, max_gpus=2))
def test_the_bound_holds_on_any_number_of_devices(problem: Problem) -> None:
    assert bound_under(problem, HETERO).seconds <= best(problem) / 1e9


def test_work_counts_every_class_where_it_may_go() -> None:
    """One of six operations has no GPU kernel, and so takes 0.5 s rather than 0.1."""
    problem = six_ops()
    graph = replace(problem.graph, gpu_kernel=np.array([False, *[True] * 5]))
    bound = bound_under(Problem.create(graph, problem.machine), HETERO)
    assert (bound.seconds, bound.kind) == (pytest.approx(0.5 + 5 * 0.1), "work")
    assert bound.parts == {"work": bound.seconds}


def test_members_of_a_class_work_one_after_the_other() -> None:
    """Two chains of three, each a class, on three devices: 6 x 0.1 s where all is fastest."""
    problem = six_ops()
    labelled = replace(problem.graph, colocation=np.repeat([0, 1], 3))
    assert sequential_bound(Problem.create(labelled, problem.machine)).parts["work"] == 0.6


def place(problem: Problem) -> Placement:
    search = Search(problem, SequentialSimulator(problem))
    placement: Placement = make_placer("min_cut_exact", {}).place(problem, search)
    return placement


def test_where_it_declines_it_says_why() -> None:
    two, three = six_ops(cpu=None), six_ops()
    with pytest.raises(Unsupported, match="two devices under semantics hetero; small has 2 under"):
        place(two)
    with pytest.raises(Unsupported, match="small has 3 under hetero"):
        place(in_turn(three))
    with pytest.raises(Unsupported, match=r"on gpu:\d, which has .*; a cut knows no memory"):
        place(in_turn(six_ops(gpu="6 kB", cpu=None)))
    assert len(set(place(in_turn(two)).devices.tolist())) == 1


def test_steps_of_seconds_are_refused_and_still_bounded() -> None:
    problem = in_turn(six_ops(cpu=None))
    slow = Problem(problem.graph, problem.machine, problem.seconds * 10)
    with pytest.raises(InputError, match=r"takes 6.0 s on small; .* below two seconds"):
        min_cut(slow)
    bound = sequential_bound(slow)
    assert (bound.seconds, bound.kind) == (pytest.approx(6.0), "work")


def test_peers_have_no_bound() -> None:
    with pytest.raises(InputError, match="no bound under placeto"):
        bound_under(six_ops(), preset("placeto"))


GRID = """
machine = "{machine}"
{semantics}
[budget]
evaluations = 20
[[task]]
name = "one"
gpus = 1
graph = "{graph}"
[[placer]]
name = "{placer}"
"""


@pytest.mark.parametrize(
    ("machine", "asked", "judged"),
    [
        ("flex170", "", "hetero"),
        ("flex170", "placebench", "placebench"),
        ("k40", "hetero", "hetero"),
    ],
)
def test_a_grid_is_judged_by_what_it_or_its_machine_says(
    tmp_path: Path, machine: str, asked: str, judged: str
) -> None:
    write_graph(six_ops().graph, tmp_path / "one.npz")
    semantics = f'semantics = "{asked}"' if asked else ""
    text = GRID.format(machine=machine, semantics=semantics, graph="one.npz", placer="annealing")
    (tmp_path / "small.toml").write_text(text)
    [job] = load_grid(str(tmp_path / "small.toml")).jobs
    record, _ = run(job)
    record = bounded(job, record)
    assert (record["status"], record["semantics"]) == ("ok", judged)
    assert ("hetero" in record["under_semantics"]) == (machine == "flex170")
    assert record["step_time"] >= record["lower_bound"] > 0
    assert (record["bound_kind"] == "min_cut") == (judged == "hetero")
