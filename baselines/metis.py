"""METIS k-way partitioning over the GPUs: the "METIS" column of GDP (Zhou et al., 2019).

Balances compute time and minimises the transfer time cut. Memory would be a second constraint.
METIS has those, but pymetis' ``part_graph`` does not reach them (one weight per vertex; a longer
array is misread without a word), so a placement may run out of memory and is judged as such.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.partitioning.problem import ask
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.search.subprocess_call import call


@dataclass(frozen=True)
class Metis:
    """Multilevel k-way partitioning; classes without a GPU kernel go to the CPU."""

    imbalance: float = 0.03
    """Share by which a GPU's load may exceed its part; METIS' own default for k-way."""

    def __post_init__(self) -> None:
        """Refuse an imbalance outside (0, 1) (InputError)."""
        if not 0 < self.imbalance < 1:
            raise InputError(f"imbalance is {self.imbalance!r}; give a share between 0 and 1")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the partition; Unsupported without a GPU, NativeCrash when METIS fails."""
        gpus = np.array(problem.machine.accelerators, np.int64)
        question = ask(problem, gpus, fixed=False)
        if question.trivial:
            return question.placement(np.zeros(int(question.asked.sum()), np.int64))
        answer = call(
            "metis",
            "baselines.partitioning.metis:k_way",
            {
                "offsets": question.offsets,
                "neighbours": question.neighbours,
                "loads": question.loads,
                "edge_loads": question.edge_loads,
                "speeds": question.speeds,
                "imbalance": self.imbalance,
                # METIS gives seeds 0 and 1 the same stream.
                "seed": search.rng.integers(2, 2**30),
            },
        )
        return question.placement(answer["parts"])
