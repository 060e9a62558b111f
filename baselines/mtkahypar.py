"""Hypergraph partitioning over the GPUs with Mt-KaHyPar: a net is a tensor with all its readers.

A tensor that is on three GPUs is sent twice, whoever reads it there: the connectivity metric counts
exactly that (Catalyurek and Aykanat 1999), where a graph's edges count every reader. Memory is not
a constraint; a placement may run out of it and is judged as such.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from baselines.partitioning.class_graph import integer_loads
from baselines.partitioning.hypergraph import nets
from baselines.partitioning.problem import homes_outside
from suite.core.errors import InputError, Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.search.subprocess_call import call


@dataclass(frozen=True)
class MtKaHyPar:
    """Multilevel partitioning of the classes; those without a GPU kernel go to the CPU.

    All GPUs get the same share of the seconds on the first one.
    """

    imbalance: float = 0.03
    """Share by which a GPU's load may exceed its part; Mt-KaHyPar's own default."""

    def __post_init__(self) -> None:
        """Refuse an imbalance outside (0, 1) (InputError)."""
        if not 0 < self.imbalance < 1:
            raise InputError(f"imbalance is {self.imbalance!r}; give a share between 0 and 1")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the partition; Unsupported without a GPU, NativeCrash when Mt-KaHyPar fails.

        Unsupported, too, where the package mtkahypar is not installed.
        """
        gpus = np.array(problem.machine.accelerators, np.int64)
        if not len(gpus):
            raise Unsupported("the machine has no GPU")
        homes = homes_outside(problem, gpus)
        free = np.flatnonzero(homes < 0)
        if len(gpus) == 1 or len(free) <= 1:
            homes[free] = gpus[0]
            return Placement.of_classes(problem, homes)
        if find_spec("mtkahypar") is None:
            raise Unsupported("mtkahypar is not installed; pip install 'placebench[hypergraph]'")
        offsets, pins, seconds = nets(problem, gpus, homes < 0)
        question: dict[str, Any] = {
            "offsets": offsets,
            "pins": pins,
            "loads": integer_loads(problem.class_seconds[free, gpus[0]]),
            "net_loads": integer_loads(seconds),
            "imbalance": self.imbalance,
            "seed": search.rng.integers(2**30),
            "parts": len(gpus),
        }
        answer = call("mtkahypar", "baselines.partitioning.mtkahypar:connectivity", question)
        homes[free] = gpus[answer["parts"]]
        return Placement.of_classes(problem, homes)
