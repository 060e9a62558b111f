"""The best placement that a policy met while it was trained: no search and no network here.

What GDP (Zhou et al., arXiv 1910.01578, 2019, Table 2) calls GDP-batch: one policy trained on
several graphs, judged by what it found for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.policy_file import Policy
from suite.search.placer import Search
from suite.search.training import POLICY_FILE


@dataclass(frozen=True)
class BestInTraining:
    """Answers with what a policy file remembers of the problem, whichever planner made it."""

    policy: str = field(default="", metadata=POLICY_FILE)
    """The policy file (``placebench train``)."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement met in training that fits in memory.

        Raises Unsupported where the policy was not trained on this graph and these devices, or no
        placement fitted; InputError for a bad file.
        """
        if not self.policy:
            raise Unsupported("best_in_training needs a policy file; set policy")
        policy = Policy.load(Path(self.policy))
        wanted = problem.graph.fingerprint, problem.machine.fingerprint
        known = [(lesson.graph, lesson.devices_fingerprint) for lesson in policy.lessons]
        if wanted not in known:
            raise Unsupported(f"policy {self.policy} was not trained on this graph and machine")
        at = known.index(wanted)
        search.note(evaluations_in_training=policy.lessons[at].evaluations)
        answer = policy.answers[at]
        if answer is None:
            raise Unsupported(f"policy {self.policy} met no placement of this graph that fits")
        return Placement.of(problem, answer.astype(np.int32))
