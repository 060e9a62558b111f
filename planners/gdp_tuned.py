"""GDP with changes of ours, under which it learns more from as many placements.

Not from a paper. The placer decides on groups made of the modules of the graph's repeated structure
(baselines/structure/cut.py), of which it sees the mean of their classes' embeddings. To its logits
are added how fast a device is for a group and, where it has one graph alone, a table that learns
what tells groups apart which look alike to the networks. Advantages are taken within an update;
running out of memory costs by what is missing; logits are scaled up; the best placement so far is
imitated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines.structure.cut import cut_structure
from planners.features.class_graph import ClassGraph
from planners.features.fast_devices import as_fast
from planners.gdp import GDP, Networks, Policy
from planners.nn.backend import tf
from planners.nn.optimizer import Optimizer
from planners.nn.tensor import Tensor
from planners.nn.weights import zeros
from planners.policy_gradient.batch_baseline import BatchBaseline
from planners.policy_gradient.checks import check_counts, check_positive
from planners.policy_gradient.rewards import Baseline, overload
from suite.core.arrays import Floats, Ints
from suite.core.errors import InputError
from suite.core.scores import Scores


@dataclass(frozen=True)
class GDPTuned(GDP):
    """Decides on groups, which begin where they are fast; compares samples, imitates the best."""

    groups: int = 32
    """Groups, each a decision."""
    head_start: float = 2.0
    """A group starts on a device with a probability in proportion to how fast that runs it, as far
    as its logit differs by no more than this from the devices' mean; 0: all alike. A policy of
    several graphs learns what to add to it."""
    table: float = 50.0
    """Factor on a learned table of logits, groups x devices, added to the networks' where one graph
    is searched; 0: none. The steps of an unrolled layer look alike to the networks, which then put
    them all on one device."""
    factor: float = 4.0
    """Of the networks' logits: a policy that can become certain within a hundred updates."""
    imitation: float = 0.3
    """Weight of the log-probability of the best placement so far in the objective."""
    overload_cost: float = 40.0
    """The reward is -sqrt(seconds), less this times what memory is missing on the fullest device,
    as a multiple of its memory."""
    learning_rate: float = 0.001
    """Adam's: groups are few, and certain soon enough."""
    epochs: int = 4
    """Steps of gradient ascent per update, which are cheap on so few nodes."""
    NETWORK: ClassVar[tuple[str, ...]] = (*GDP.NETWORK, "groups", "head_start", "factor")

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing (InputError)."""
        super().__post_init__()
        check_counts(self, "groups")
        check_positive(self, "factor", "overload_cost")
        for name in ("head_start", "table"):
            if not 0 <= getattr(self, name) < np.inf:
                raise InputError(f"{name} is {getattr(self, name)}; give >= 0")

    def nodes(self, graph: ClassGraph, rng: np.random.Generator) -> NDArray[np.int64]:
        """int64[classes]: the group of each."""
        return cut_structure(graph.problem, self.groups, rng)

    def policy_of(
        self, graph: ClassGraph, part_of: Ints, networks: Networks, alone: bool
    ) -> Policy:
        """The networks on a graph, with what is added to their logits."""
        return _Policy(graph, part_of, networks, self, alone)

    def reward(self, scores: Scores, memory: Ints) -> Floats:
        """-sqrt(seconds), less what memory is missing: float64[samples]."""
        return -np.sqrt(scores.step_time) - self.overload_cost * overload(scores, memory)

    def baseline(self) -> Baseline:
        """The mean of the update's samples, over their deviation."""
        return BatchBaseline(decay=0.9, valid_only_after=1_000_000)

    def objective(self, log_chances: Tensor, best: Tensor) -> Tensor:
        """The mean log-probability of the best placement's devices, weighted."""
        taken = tf.gather(log_chances, best, axis=1, batch_dims=1)
        weighted: Tensor = self.imitation * tf.reduce_mean(taken)
        return weighted

    def scale(self, logits: Tensor) -> Tensor:
        """The logits times ``factor``."""
        return self.factor * logits


class _Policy(Policy):
    """Adds to the networks' logits how fast devices are, and a table of the graph's own."""

    def __init__(
        self,
        graph: ClassGraph,
        part_of: Ints,
        networks: Networks,
        settings: GDPTuned,
        alone: bool,
    ) -> None:
        super().__init__(graph, part_of, networks)
        fast = as_fast(graph.problem, np.asarray(part_of, np.int64), settings.head_start)
        self.start = tf.Variable(fast.astype(np.float32), trainable=False)
        self.factor, self.table = settings.table, None
        if alone and settings.table:
            self.table = zeros("table", self.count, graph.devices)
            self.variables = [*self.variables, self.table]
            self.optimizer = Optimizer(self.variables)

    def logits(self) -> Tensor:
        logits: Tensor = super().logits() + self.start
        return logits if self.table is None else logits + self.factor * self.table

    def soften(self, share: float) -> float:
        # What is added counts among the logits that are divided; the table is still zero.
        divisor = super().soften(share)
        self.start.assign(self.start / divisor)
        return divisor
