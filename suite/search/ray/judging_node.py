"""A node of a cluster that judges: a simulator of one problem, on all CPUs of the node."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from suite.core.arrays import Floats, Ints
from suite.core.cores import Share, take_share
from suite.core.machine import Machine
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.formats.graph_npz import load_graph_file, save_graph
from suite.search.ray.installation import installation
from suite.simulator.judges import make_simulator
from suite.simulator.semantics import preset


@dataclass(frozen=True, eq=False)
class Question:
    """A problem as it travels: what a simulator reads of it."""

    graph: bytes
    """As a file (:mod:`suite.formats.graph_npz`)."""
    machine: Machine
    seconds: Floats
    """float64[ops, devices]."""
    semantics: str

    @classmethod
    def of(cls, problem: Problem, semantics: str) -> Question:
        """Pack a problem."""
        with tempfile.TemporaryDirectory() as folder:
            save_graph(problem.graph, path := Path(folder, "graph.npz"))
            # A copy of the machine has none of the views that it keeps once they were asked for.
            return cls(path.read_bytes(), replace(problem.machine), problem.seconds, semantics)

    def problem(self) -> Problem:
        """The problem, but for what no simulator reads: the expert and the hand-made groups."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "graph.npz")
            path.write_bytes(self.graph)
            return Problem(load_graph_file(path), self.machine, self.seconds)


class JudgingNode:
    """The process on a node (an actor of Ray's)."""

    def __init__(self, cpus: int, question: Question) -> None:
        """Prepare, and compile where that has not been done on this host."""
        take_share(Share(1, cpus))
        problem = question.problem()
        self.simulator = make_simulator(problem, preset(question.semantics))
        rows = np.argmax(problem.allowed, axis=1)[problem.graph.colocation][None].astype(np.int32)
        self.simulator(rows)
        self.simulator.within(rows, np.ones(1))

    def installation(self) -> Mapping[str, str]:
        """What must be the same on all nodes."""
        return installation()

    def judge(self, devices: Ints, seconds: Floats | None) -> tuple[Scores, float]:
        """Score ``devices``, int32[batch, ops]; and the seconds that it took, summed over CPUs.

        With ``seconds``, float64[batch], slower ones are broken off.
        """
        start = time.process_time()
        if seconds is None:
            scores = self.simulator(devices)
        else:
            scores = self.simulator.within(devices, seconds)
        return scores, time.process_time() - start

    def close(self) -> None:
        """Nothing is left behind."""
