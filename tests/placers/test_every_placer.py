"""What every placer must do, baseline or planner: whoever adds a file is tested by this one.

The registry names the placers. What one cannot do it says itself: by Unsupported where a problem
lacks what it takes, by BudgetExhausted, by not saving any checkpoint.
"""

from __future__ import annotations

import ast
import inspect
import os
import random
import re
import textwrap
from contextlib import suppress
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_turn import in_turn
from numpy.typing import NDArray
from six_ops import six_ops
from strategies import problems

from suite.core.errors import BudgetExhausted, Unsupported
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.core.placement import Placement, check_devices
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.formats.machine_toml import load_machine
from suite.search.checkpoint import Checkpoint
from suite.search.placer import Placer, Search
from suite.search.progress_log import Journal
from suite.search.registry import PLACER_PACKAGES, make_placer, modules, placer_class, placers
from suite.simulator.compiled.judge import Simulator

PLACERS = sorted(placers())
pytestmark = pytest.mark.usefixtures("uncompiled")
LEARNED = set(modules("planners"))
BUDGET = 64
MOST = 2
"""The largest count among the parameters that are tried: placements, layers, units, groups."""
UPDATES = 2
"""Of what learns: nothing is compiled here, so that each takes long."""
LONGER = 4
"""Both, where a search is to be killed and to have something left to do."""


class Killed(BaseException):
    """Stands for the end of the process."""


@dataclass
class CountingJudge:
    """The simulator, which counts what it is asked, and may end the search."""

    problem: Problem
    calls: float = float("inf")
    judged: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.simulator = Simulator(self.problem)

    def __call__(self, devices: NDArray[np.int32]) -> Scores:
        if self.calls <= 0:
            raise Killed
        self.calls -= 1
        self.judged += len(devices)
        return self.simulator(devices)


def small(name: str, most: int = MOST, updates: int = UPDATES) -> Placer:
    """The placer with its defaults, but no count above ``most``: its search takes seconds."""
    counts = {f.name: f.default for f in fields(placer_class(name)) if type(f.default) is int}
    smaller = {key: min(n, most) for key, n in counts.items()}
    # Each epoch repeats an update.
    smaller |= {key: n for key, n in (("updates", updates), ("epochs", 1)) if key in smaller}
    made: Placer = make_placer(name, smaller)
    return made


def place(name: str, problem: Problem, seed: int = 0, budget: int = BUDGET) -> Placement:
    search = Search(problem, Simulator(problem), seed, max_evaluations=budget)
    return small(name).place(problem, search)


def answer(name: str, problem: Problem, seed: int = 0) -> Placement | None:
    """Its placement, checked: every operation where it has a kernel, no class split. Or None.

    None is a problem that the placer declines, with a reason.
    """
    placement = refusal = None
    try:
        placement = place(name, problem, seed)
    except Unsupported as reason:
        refusal = str(reason)
    assert refusal != ""
    if placement is not None:
        check_devices(problem, np.asarray(placement.devices))
    return placement


def chain(ops: int = 12, *, cpu: bool = True, gpus: int = 2, **graph: object) -> Problem:
    """Operations in a row; the human expert puts each on the last device that can run it."""
    machine = load_machine("k40").with_gpus(gpus)
    if not cpu:
        machine = Machine("no-cpu", tuple(machine.devices[i] for i in machine.gpus), machine.links)
    names = [f"op{i}" for i in range(ops)]
    edges = [(i, i + 1) for i in range(ops - 1)]
    about = {"tensor_bytes": 1000, "seconds": {"cpu": 2e-3, "gpu": 1e-4}} | graph
    built = OpGraph.create("chain", names, ["Op"] * ops, range(ops - 1), edges, **about)
    allowed = Problem.create(built, machine).allowed
    last = machine.n_devices - 1 - np.argmax(allowed[:, ::-1], axis=1)
    return Problem.create(built, machine, last[built.colocation].astype(np.int32))


def awkward() -> Problem:
    """Classes of several operations, some without a GPU kernel, little memory."""
    return chain(
        colocation=["x", None, "x", None, "y", "y", None, None, "z", None, "z", None],
        gpu_kernel=[i not in (3, 8) for i in range(12)],
        persistent_bytes=[2 * 10**9] * 12,
    )


@pytest.mark.parametrize("name", PLACERS)
def test_an_ordinary_problem_is_answered(name: str) -> None:
    """Reasons to decline it: a package that is not installed, or devices that do not take turns."""
    problem = chain()
    try:
        placement = place(name, problem)
    except Unsupported as reason:
        if "not installed" in str(reason):
            pytest.skip(str(reason))
        if "under semantics hetero" not in str(reason):
            raise
        problem = in_turn(chain(gpus=1))
        placement = place(name, problem)
    check_devices(problem, np.asarray(placement.devices))


@pytest.mark.parametrize("name", PLACERS)
def test_kernels_and_classes_are_respected_and_a_seed_decides(name: str) -> None:
    first = answer(name, awkward(), 3)
    again = answer(name, awkward(), 3)
    assert (first and first.hash) == (again and again.hash)


@pytest.mark.parametrize("name", PLACERS)
def test_it_leaves_no_trace_and_finds_the_same_again(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It does not print, and the process is afterwards as it was before."""
    first = answer(name, six_ops(), 3)  # what it imports may do as it likes

    def state() -> tuple[object, ...]:
        numpys = np.random.get_state(legacy=False)  # noqa: NPY002 - that nobody draws from it
        return repr(numpys), random.getstate(), dict(os.environ), Path.cwd()

    capsys.readouterr()
    # Else a placer that seeds them would leave them as its first run did.
    np.random.seed(12345)  # noqa: NPY002
    random.seed(12345)
    before = state()
    again = answer(name, six_ops(), 3)
    assert state() == before
    assert capsys.readouterr() == ("", "")
    assert (first and first.hash) == (again and again.hash)


@pytest.mark.parametrize("name", [name for name in PLACERS if name not in LEARNED])
def test_random_problems_are_answered(name: str) -> None:
    @settings(max_examples=8, database=None)
    @given(problem=problems(max_ops=25, max_gpus=8), seed=st.integers(0, 2**32 - 1))
    def check(problem: Problem, seed: int) -> None:
        first = answer(name, problem, seed)
        again = answer(name, problem, seed)
        assert (first and first.hash) == (again and again.hash)

    check()


@pytest.mark.parametrize("name", PLACERS)
def test_a_machine_without_cpu_or_without_gpu_is_used_or_declined_with_the_reason(
    name: str,
) -> None:
    for problem in (chain(cpu=False, gpus=1), chain(cpu=False, gpus=3), chain(gpus=0)):
        try:
            check_devices(problem, np.asarray(place(name, problem).devices))
        except Unsupported as reason:
            if not re.search(r"no (CPU|GPU|human)|not installed|two devices", str(reason)):
                raise


@pytest.mark.parametrize("name", PLACERS)
@pytest.mark.parametrize("ops", [0, 1, 2])
def test_tiny_graphs_and_more_devices_than_operations(name: str, ops: int) -> None:
    placement = answer(name, chain(ops, gpus=8, tensor_bytes=0))
    assert placement is None or len(placement.devices) == ops


@pytest.mark.parametrize("name", PLACERS)
def test_work_that_takes_no_time_is_placed_too(name: str) -> None:
    answer(name, chain(seconds={"cpu": 0.0, "gpu": 0.0}))


@pytest.mark.parametrize("name", PLACERS)
@pytest.mark.parametrize("budget", [1, 3, 30])
def test_no_more_placements_are_judged_than_the_budget_allows(name: str, budget: int) -> None:
    problem = six_ops()
    judge = CountingJudge(problem)
    search = Search(problem, judge, max_evaluations=budget)
    with suppress(BudgetExhausted, Unsupported):
        small(name).place(problem, search)
    assert judge.judged == search.evaluations <= budget


@pytest.mark.parametrize("name", PLACERS)
def test_a_search_that_was_killed_goes_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    problem = six_ops()

    def search(folder: str, calls: float = float("inf")) -> tuple[Search, Placement]:
        (tmp_path / folder).mkdir(exist_ok=True)
        found = Search(problem, CountingJudge(problem, calls), 7, max_evaluations=BUDGET)
        found.saved = Checkpoint(tmp_path / folder / "checkpoint.npz", "six", interval=0)
        found.journal = Journal(tmp_path / folder / "log.csv")
        return found, small(name, LONGER, LONGER).place(problem, found)

    try:
        whole, first = search("whole")
    except Unsupported as reason:
        pytest.skip(str(reason))
    if not (tmp_path / "whole/checkpoint.npz").exists():
        pytest.skip("it does not save checkpoints")
    with pytest.raises(Killed):
        search("parts", calls=2)
    parts, second = search("parts")
    assert first.hash == second.hash
    assert [(n, best) for n, _, best in whole.history] == [(n, b) for n, _, b in parts.history]
    assert whole.evaluations == parts.evaluations
    assert whole.notes == parts.notes
    with (
        np.load(tmp_path / "whole/checkpoint.npz") as a,
        np.load(tmp_path / "parts/checkpoint.npz") as b,
    ):
        assert a.files == b.files
        for key in set(a.files) - {"search"}:
            np.testing.assert_array_equal(a[key], b[key], err_msg=key)
    logs = [
        [line.split(",") for line in (tmp_path / folder / "log.csv").read_text().splitlines()]
        for folder in ("whole", "parts")
    ]
    assert len(logs[0]) == len(logs[1]) > 3
    for one, other in zip(*logs, strict=True):
        assert one[:2] + one[3:] == other[:2] + other[3:]  # the third column is the clock


@pytest.mark.parametrize("name", PLACERS)
def test_its_file_says_what_it_is(name: str) -> None:
    """Parameters are documented fields of a frozen dataclass; the module names its source."""
    cls = placer_class(name)
    assert cls.__dataclass_params__.frozen
    known = set().union(*(documented(base) for base in cls.__mro__[:-1]))
    assert {f.name for f in fields(cls)} <= known
    assert inspect.getdoc(cls) != inspect.getdoc(object)
    assert inspect.getdoc(cls.place)
    about = inspect.getdoc(import_module(cls.__module__)) or ""
    assert re.search(r"(19|20)\d\d|[Pp]aper|column of|TensorFlow", about), about


def documented(cls: type) -> set[str]:
    """The fields of a class with a docstring below them."""
    [body] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(body, ast.ClassDef)
    return {
        one.target.id
        for one, other in zip(body.body, body.body[1:], strict=False)
        if isinstance(one, ast.AnnAssign)
        and isinstance(one.target, ast.Name)
        and isinstance(other, ast.Expr)
        and isinstance(other.value, ast.Constant)
    }


@pytest.mark.parametrize("package", PLACER_PACKAGES)
def test_every_public_file_is_a_placer(package: str) -> None:
    for name in modules(package):
        assert placer_class(name).__module__ == f"{package}.{name}"
