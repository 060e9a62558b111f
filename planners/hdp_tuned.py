"""HDP with changes of ours, under which it learns faster and better.

Not from a paper. Each change can be undone by its field; reports/hdp_reasons.md shows what each of
them brings. In that order: 32 groups that start as the modules of the graph's repeated structure
instead of 256 that start at random; a learned table of logits beside the Placer's, in which fast
devices have a head start; running out of memory costs by what is missing instead of -10; Adam at
0.001 instead of 0.1; advantages within an update; the best placement so far is imitated, and
networks that have become certain start anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.parts import parts
from baselines.structure.cut import cut_structure
from planners.features.class_graph import ClassGraph
from planners.features.tables import Matrix
from planners.hdp import HDP, GroupEmbedding, Grouper, Grouping, JointPolicy, Placer, op_features
from planners.nn.backend import tf
from planners.nn.tensor import Tensor, Variable
from planners.nn.weights import zeros
from planners.policy_gradient.batch_baseline import BatchBaseline
from planners.policy_gradient.checks import check_words
from planners.policy_gradient.reinforce import Sample
from planners.policy_gradient.rewards import Baseline, Credit, overload
from suite.core.arrays import Floats, Ints
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.core.scores import Scores


@dataclass(frozen=True)
class HDPTuned(HDP):
    """Groups start as parts of the graph, memory costs by what is missing, the best is imitated."""

    groups: int = 32
    """Groups offered to the Grouper; the paper has 256."""
    grouper_start: str = "structure"
    """``structure``: the graph's modules, the heaviest cut until there are so many groups
    (baselines/structure/cut.py); ``metis``: METIS' balanced partition; either has a bonus on its
    logits. Or ``random``."""
    prior: float = 16.0
    """The bonus: a grouping that is good from the first update, which the Grouper may leave."""
    table: float = 25.0
    """Factor on a learned table of logits, groups x devices, added to the Placer's; 0: none. A
    table learns at once what the network must first tell its groups apart for."""
    head_start: float = 2.0
    """A group starts on a device with a probability in proportion to how fast that runs it, as far
    as its logit, in the table, differs by no more than this from the devices' mean; 0: all alike.
    Where transfers are dear, most of what is drawn at random is slower than all on the CPU, and one
    search in two ends there."""
    tanh_constant: float = 4.0
    """C of softmax(C tanh(logits / T)); the paper has 5."""
    learning_rate: float = 0.001
    """Adam's; at the paper's 0.1 a policy keeps what it drew in its first updates."""
    adam_epsilon: float = 1e-8
    """TensorFlow's default, which suits this rate."""
    noise_updates: int = 0
    """Updates with noise; entropy is enough at this learning rate."""
    advantage: str = "batch"
    """``batch``: difference to the mean of the update's samples, over their deviation; or
    ``difference``: to the moving average, as in the paper."""
    imitation: float = 0.1
    """Weight of the log-probability of the best placement so far in the objective; 0.3 makes it the
    only one drawn within a hundred updates."""
    certain: float = 0.05
    """Mean entropy of a device's choice, in nats, below which both networks start anew: they would
    draw the same placements again and again, and one search in five is certain of a slow one. The
    best placement is still imitated, so that they come back to it, but from another side."""
    failing: str = "overload"
    """``overload``: -sqrt(step time), less what is missing on the fullest device, as a multiple of
    its memory, times ``overload_cost``: a placement that nearly fits is better than one that does
    not at all; or ``constant``: the failing reward."""
    overload_cost: float = 40.0
    """See ``failing``. At 4, a fast placement that lacks a twentieth of a GPU's memory gains more
    than any that fits, and the search ends there."""
    valid_only_after: int = 1_000_000
    """Never: where memory is tight, invalid placements are what there is to learn from."""

    def __post_init__(self) -> None:
        """Refuse words and numbers that mean nothing (InputError)."""
        super().__post_init__()
        check_words(self, grouper_start=("structure", "metis", "random"))
        check_words(self, advantage=("difference", "batch"))
        check_words(self, failing=("constant", "overload"))
        if self.head_start and not self.table:
            raise InputError(f"head_start is {self.head_start} without a table; give one, or 0")
        if not 0 <= self.head_start < (self.tanh_constant or np.inf):
            raise InputError(
                f"head_start is {self.head_start}; give >= 0 and less than tanh_constant, the most"
                " that a logit can be"
            )

    def grouper(self, graph: ClassGraph, rng: np.random.Generator) -> Grouper:
        """Create the Grouper; NativeCrash when METIS fails."""
        features = op_features(graph, self)
        if self.grouper_start == "random":
            return Grouper(features, graph.types, self.groups, self, rng)
        groups = min(graph.count, self.groups)
        if self.grouper_start == "metis":
            [partition] = parts(graph.problem, [groups], rng)
        else:
            partition = cut_structure(graph.problem, groups, rng)
        return _Grouper(features, graph.types, partition, groups, self, rng)

    def placer(self, embed: GroupEmbedding, devices: int, rng: np.random.Generator) -> Placer:
        """Create the Placer, with its table."""
        network = _Placer if self.table else Placer
        return network(embed, devices, self, rng)

    def joint(self, graph: ClassGraph, grouper: Grouping, placer: Placer) -> JointPolicy:
        """Join the networks."""
        if self.head_start and isinstance(grouper, _Grouper) and isinstance(placer, _Placer):
            placer.favour(seconds_of_groups(graph.problem, grouper.partition), self.head_start)
        return _JointPolicy(graph, grouper, placer, self)

    def reward(self, scores: Scores, memory: Ints) -> Floats:
        """-sqrt(seconds), less what memory is missing: float64[samples]."""
        if self.failing == "constant":
            return super().reward(scores, memory)
        return -np.sqrt(scores.step_time) - self.overload_cost * overload(scores, memory)

    def baseline(self) -> Baseline:
        """The moving average at its start."""
        plain = super().baseline()
        if self.advantage == "difference":
            return plain
        return BatchBaseline(plain.decay, plain.valid_only_after, plain.value)


def seconds_of_groups(problem: Problem, partition: NDArray[np.int64]) -> Floats:
    """float64[groups, devices]: what the classes of each group take together.

    A class that a device cannot run takes what it does on the fastest that can.
    """
    seconds = problem.class_seconds
    seconds = np.where(np.isfinite(seconds), seconds, seconds.min(axis=1, keepdims=True))
    columns = [np.bincount(partition, column) for column in seconds.T]
    return np.stack(columns, axis=1)


class _Grouper(Grouper):
    """Starts near a partition."""

    def __init__(
        self,
        features: Matrix,
        types: Ints,
        partition: NDArray[np.int64],
        groups: int,
        settings: HDPTuned,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(features, types, groups, settings, rng)
        self.partition, self.prior = partition, settings.prior

    def logits(self) -> Tensor:
        bonus: Tensor = self.prior * tf.one_hot(self.partition, self.groups)
        return super().logits() + bonus


class _Placer(Placer):
    """Adds a learned number for every group and device to its logits."""

    def __init__(
        self, embed: GroupEmbedding, devices: int, settings: HDPTuned, rng: np.random.Generator
    ) -> None:
        super().__init__(embed, devices, settings, rng)
        self.factor = settings.table
        self.table = zeros("table", embed.groups, devices)

    def favour(self, seconds: Floats, most: float) -> None:
        """Let devices be as likely as they are fast, within a logit of ``most``.

        ``seconds``: float64[groups, devices].
        """
        logits = -np.log(np.maximum(seconds, 1e-9))
        logits = np.clip(logits - logits.mean(axis=1, keepdims=True), -most, most)
        constant = self.settings.tanh_constant
        before = np.arctanh(logits / constant) if constant else logits
        self.table.assign((before / self.factor).astype(np.float32))

    @property
    def variables(self) -> list[Variable]:
        return [self.table, *super().variables]

    def adjusted(self, logits: Tensor, group: object) -> Tensor:
        return logits + (self.factor * self.table)[group]


class _JointPolicy(JointPolicy):
    """Imitates the best placement so far, and starts anew when it is certain."""

    def __init__(
        self,
        graph: ClassGraph,
        grouper: Grouping,
        placer: Placer,
        settings: HDPTuned,
    ) -> None:
        super().__init__(graph, grouper, placer, settings)
        self.imitation, self.certain = settings.imitation, settings.certain
        self.fresh = self.optimizer.state()

    def learn(
        self, sample: Sample, credit: Credit, best_choices: Ints, update: int
    ) -> dict[str, float]:
        if self.imitation:
            # The best placement's devices are learned for the groups as they are now: exact with
            # fixed groups, close where the Grouper has a prior.
            sample = replace(sample, chosen=np.concatenate([sample.chosen, best_choices[None]]))
            credit = replace(credit, samples=np.append(credit.samples, self.imitation))
        scalars = super().learn(sample, credit, best_choices, update)
        anew = scalars["entropy"] < self.certain
        if anew:
            self.optimizer.restore(self.fresh)
        return scalars | {"anew": float(anew)}
