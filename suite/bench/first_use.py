"""Compiles what a placer needs before its clock starts, so that a budget is all for placing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numba
import numpy as np

from suite.core.compilation import compiled_folder
from suite.core.compile_time import COMPILE_TIME, FIRST_USE
from suite.core.machine import Machine
from suite.core.paths import GRIDS
from suite.core.problem import Problem
from suite.core.source_digest import code_digest
from suite.formats.interchange import read_graph
from suite.search.placer import Placer, Search
from suite.search.registry import placers
from suite.simulator.compiled.judge import Simulator
from suite.simulator.judges import AnySimulator, make_simulator, own_semantics

SAMPLE = GRIDS / "smoke.json"
"""A graph of a few operations: what is compiled does not depend on the graph."""
_EVALUATIONS = 40
_SECONDS = 5.0
"""Of the sample's search; compiling does not count."""


def compile_first(name: str, placer: Placer, machine: Machine) -> None:
    """Simulate and place a sample with our placer ``name``, once on each host and machine.

    A line on stderr says so where something is compiled. Placers that are not ``baselines/`` are
    not run: they compile nothing of their own, or are somebody else's.
    """
    marker = marker_of(name, machine, "place")
    if marker.exists():
        return
    COMPILE_TIME.announce(FIRST_USE)
    problem = Problem.create(read_graph(SAMPLE), machine)
    simulator = make_simulator(problem, own_semantics(machine))
    exercise(problem, simulator, placer if is_ours(name) else None, _SECONDS)
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()


def exercise(
    problem: Problem, judge: AnySimulator, placer: Placer | None, seconds: float | None
) -> None:
    """Judge a batch, with and without deadlines, and let a placer search for so long."""
    rows = np.zeros((2, problem.graph.n_ops), np.int32)
    judge(rows)
    judge.within(rows, np.ones(2))
    if placer is not None:
        # What is wrong with a placer, the problem that it is asked for will say.
        with suppress(Exception):
            placer.place(problem, Search(problem, judge, 0, _EVALUATIONS, seconds))


def is_ours(name: str) -> bool:
    """Whether a placer is one that may compile functions of its own."""
    return placers()[name].startswith("baselines.")


def marker_of(name: str, machine: Machine, kind: str, *modules: str) -> Path:
    """A file that is there once all was compiled for this placer, machine, kind of use and code.

    ``modules`` are compiled beside the simulator and the placer's own.
    """
    placer, own = (name, [placers()[name]]) if is_ours(name) else ("any", [])
    code = code_digest(Simulator.__module__, *modules, *own)
    parts = [code, numba.__version__, kind, machine.fingerprint, placer]
    return compiled_folder() / "complete" / "-".join(parts)
