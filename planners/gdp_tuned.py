"""GDP with changes of ours, under which it learns more from as many placements.

Not from a paper. In the order of what they bring: the placer decides on METIS parts, of which it
sees the mean of their classes' embeddings; advantages within an update; running out of memory costs
by what is missing; logits are scaled up; the best placement so far is imitated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.parts import parts
from planners.features.class_graph import ClassGraph
from planners.gdp import GDP
from planners.nn.backend import tf
from planners.nn.tensor import Tensor
from planners.policy_gradient.batch_baseline import BatchBaseline
from planners.policy_gradient.checks import check_counts, check_positive
from planners.policy_gradient.rewards import Baseline, overload
from suite.core.arrays import Floats, Ints
from suite.core.scores import Scores


@dataclass(frozen=True)
class GDPTuned(GDP):
    """Decides on parts, compares the samples of an update, imitates the best."""

    parts: int = 64
    """METIS parts, each a decision."""
    factor: float = 4.0
    """Of the logits: a policy that can become certain within a hundred updates."""
    imitation: float = 0.3
    """Weight of the log-probability of the best placement so far in the objective."""
    overload_cost: float = 40.0
    """The reward is -sqrt(seconds), less this times what memory is missing on the fullest device,
    as a multiple of its memory."""
    learning_rate: float = 0.001
    """Adam's: parts are few, and certain soon enough."""
    epochs: int = 4
    """Steps of gradient ascent per update, which are cheap on so few nodes."""
    NETWORK: ClassVar[tuple[str, ...]] = (*GDP.NETWORK, "parts", "factor")

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing (InputError)."""
        super().__post_init__()
        check_counts(self, "parts")
        check_positive(self, "factor", "overload_cost")

    def nodes(self, graph: ClassGraph, rng: np.random.Generator) -> NDArray[np.int64]:
        """int64[classes]: its METIS part; NativeCrash when METIS fails."""
        [part] = parts(graph.problem, [min(graph.count, self.parts)], rng)
        # METIS may leave parts empty.
        return np.asarray(np.unique(part, return_inverse=True)[1], np.int64)

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
