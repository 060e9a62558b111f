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
from suite.simulator.judges import make_simulator, own_semantics

_SAMPLE = GRIDS / "smoke.json"
"""A graph of a few operations: what is compiled does not depend on the graph."""
_EVALUATIONS = 40
_SECONDS = 5.0
"""Of the sample's search; compiling does not count."""


def compile_first(name: str, placer: Placer, machine: Machine) -> None:
    """Simulate and place a sample with our placer ``name``, once on each host and machine.

    A line on stderr says so where something is compiled. Placers that are not ``baselines/`` are
    not run: they compile nothing of their own, or are somebody else's.
    """
    ours = placers()[name].startswith("baselines.")
    marker = _marker(name if ours else "any", machine, [placers()[name]] if ours else [])
    if marker.exists():
        return
    COMPILE_TIME.announce(FIRST_USE)
    problem = Problem.create(read_graph(_SAMPLE), machine)
    simulator = make_simulator(problem, own_semantics(machine))
    rows = np.argmax(problem.allowed, axis=1)[problem.graph.colocation].astype(np.int32)
    batch = np.stack([rows, rows])
    simulator(batch)
    simulator.within(batch, np.ones(2))
    if ours:
        # What is wrong with a placer, the user's own problem will say.
        with suppress(Exception):
            placer.place(problem, Search(problem, simulator, 0, _EVALUATIONS, _SECONDS))
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()


def _marker(name: str, machine: Machine, own: list[str]) -> Path:
    """A file that is there once all was compiled for this placer, machine and code."""
    code = code_digest(Simulator.__module__, *own)
    parts = ["place", code, numba.__version__, machine.fingerprint, name]
    return compiled_folder() / "complete" / "-".join(parts)
