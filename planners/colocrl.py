"""ColocRL (Mirhoseini et al., Device Placement Optimization with Reinforcement Learning, 2017)."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from planners.features.class_graph import ClassGraph
from planners.hdp import HDP
from planners.policy_gradient.fixed_grouping import FixedGrouping
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class ColocRL:
    """An attentional sequence-to-sequence policy over hand-made co-location groups.

    The groups come with the problem (suite/core/colocation.py); the policy is HDP's Placer, which
    is this paper's with other features. The paper sums the operations' learned type embeddings, a
    linear map of the groups' type counts. Here the encoder's input weights map these counts, by
    default their logarithms (``group_scale``): a type counts for less the more it is there.

    Settings are those of sections 3.1 to 3.3, but for what is said not to be in the paper. One
    controller learns; the paper has up to 20.
    """

    outputs: int = 1
    """Outputs of an operation whose shapes are features. Not in the paper."""
    dimensions: int = 4
    """Dimensions of each of them. Not in the paper."""
    group_scale: str = "log"
    """``raw``, ``log`` or ``row_max``: scale of the features of a group; see HDP. Not in the paper:
    HDP's here."""
    hidden: int = 256
    """Units of the decoder; each direction of the encoder has half: it reads both ways, as HDP's
    does. Not in the paper: HDP's."""
    forget_bias: float = 1.0
    """Added to the forget gates. Not in the paper: HDP's."""
    temperature: float = 1.0
    """T of softmax(C tanh(logits / T))."""
    tanh_constant: float = 0.0
    """C of softmax(C tanh(logits / T)); 0: softmax(logits / T), the paper's."""
    samples: int = 4
    """Placements per update (K)."""
    updates: int = 1000
    """Policy updates. Not in the paper: HDP's."""
    learning_rate: float = 0.001
    """Adam's. Not in the paper; at HDP's 0.1 the policy collapses."""
    adam_epsilon: float = 1e-8
    """Added to the root of Adam's second moment: TensorFlow's default. Not in the paper."""
    clip: float = 1.0
    """Largest global norm of the gradient. Not in the paper: HDP's."""
    noise_size: float = 0.1
    """Largest value of the noise on the logits; see ``noise_updates``."""
    noise_updates: int = 0
    """Updates with noise: none in the paper."""
    failing_reward: float = -10.0
    """Reward of a placement that does not fit in memory. Not in the paper: HDP's."""
    baseline_decay: float = 0.9
    """Of the moving average of rewards. Not in the paper: HDP's released code's."""
    baseline_start: str = "failing"
    """``first``: the first mean reward; ``failing``: the reward of an invalid placement."""
    valid_only_after: int = 5000
    """Updates after which policy and baseline learn from valid placements only."""

    def __post_init__(self) -> None:
        """Refuse words and numbers that mean nothing (InputError)."""
        self._settings()

    def _settings(self) -> _Colocated:
        return _Colocated(**asdict(self))

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement found that fits in memory, or one that does not if none did.

        Raises BudgetExhausted when the budget does not allow one update.
        """
        return self._settings().place(problem, search)


@dataclass(frozen=True)
class _Colocated(HDP):
    """HDP with the groups of the problem in the Grouper's place."""

    def grouper(self, graph: ClassGraph, rng: np.random.Generator) -> FixedGrouping:
        grouping = graph.problem.groups[graph.leaders].astype(np.int64)
        return FixedGrouping(grouping, int(grouping.max()) + 1)
