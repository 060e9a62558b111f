"""HDP with changes of ours, under which it learns faster and better.

Not from a paper. Each change can be undone by its field: 32 groups that start as the modules of the
graph's repeated structure instead of 256 that start at random; a learned table of logits beside the
Placer's, in which fast devices have a head start; running out of memory costs by what is missing
instead of -10, and such placements count to the end; Adam at 0.001 and with an epsilon of 1e-8
instead of 0.1 and 0.1; advantages within an update; the best placement so far is imitated, and
networks start anew near it when they find nothing better; C = 4 instead of 5; no noise.
reports/hdp_reasons.md adds one after the other, the last four together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.parts import parts
from baselines.structure.cut import cut_structure
from planners.features.class_graph import ClassGraph
from planners.features.fast_devices import as_fast
from planners.features.tables import Matrix
from planners.hdp import HDP, GroupEmbedding, Grouper, Grouping, JointPolicy, Placer, op_features
from planners.nn.backend import tf
from planners.nn.optimizer import Optimizer
from planners.nn.tensor import Tensor, Variable
from planners.nn.weights import zeros
from planners.policy_gradient.batch_baseline import BatchBaseline
from planners.policy_gradient.checks import check_words
from planners.policy_gradient.reinforce import Sample
from planners.policy_gradient.rewards import Baseline, Credit, overload
from suite.core.arrays import Floats, Ints
from suite.core.errors import InputError
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
    patience: int = 25
    """Updates without a better placement after which both networks start anew, and the table near
    the best so far; after as many again in vain, it starts anew as well, and so on. A policy that
    has become certain of a slow placement draws the same again and again, and near the best there
    often is a better one. 0: endless."""
    kept: float = 0.9
    """Probability that the table then gives to the best placement's device for a group."""
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
        if self.patience < 0:
            raise InputError(f"patience is {self.patience}; give updates, or 0 for endless")
        if not 0 < self.kept < 1:
            raise InputError(f"kept is {self.kept}; give a probability between 0 and 1")
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
            placer.begin(as_fast(graph.problem, grouper.partition, self.head_start))
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

    def begin_near(self, choices: Ints, kept: float) -> None:
        """Let each group's device in ``choices``, int[groups], have the probability ``kept``."""
        rest = (1 - kept) / max(1, self.devices - 1)
        logits = np.log(np.where(np.arange(self.devices) == choices[:, None], kept, rest))
        self.begin(logits - logits.mean(axis=1, keepdims=True))

    def begin(self, logits: Floats) -> None:
        """Let the table alone amount to these logits, float64[groups, devices], within bounds."""
        constant = self.settings.tanh_constant
        most = 0.99 * constant or np.inf
        logits = np.clip(logits, -most, most)
        before = np.arctanh(logits / constant) if constant else logits
        self.table.assign((before / self.factor).astype(np.float32))

    @property
    def variables(self) -> list[Variable]:
        return [self.table, *super().variables]

    def adjusted(self, logits: Tensor, group: object) -> Tensor:
        return logits + (self.factor * self.table)[group]


class _Patient(Optimizer):
    """Remembers, beside what Adam does, for how long no better placement was found."""

    def __init__(self, variables: Sequence[Variable], epsilon: float) -> None:
        super().__init__(variables, epsilon)
        self.waited, self.best = 0, np.zeros(0, np.int32)

    def waited_for(self, best: Ints) -> int:
        """Updates since the best placement's devices, int[groups], were others."""
        self.waited = self.waited + 1 if np.array_equal(self.best, best) else 0
        self.best = np.asarray(best, np.int32)
        return self.waited

    def begin(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Start from these weights; what was waited for is still waited for."""
        super().restore(state)

    def state(self) -> dict[str, NDArray[np.generic]]:
        return super().state() | {"waited": np.array(self.waited), "best": self.best}

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        super().restore(state)
        self.waited, self.best = int(state["waited"]), np.asarray(state["best"], np.int32)


class _JointPolicy(JointPolicy):
    """Imitates the best placement so far, and starts anew near it."""

    def __init__(
        self,
        graph: ClassGraph,
        grouper: Grouping,
        placer: Placer,
        settings: HDPTuned,
    ) -> None:
        super().__init__(graph, grouper, placer, settings)
        self.settings: HDPTuned = settings
        self.fresh = self.optimizer.state()
        self.patient = _Patient(self.optimizer.variables, settings.adam_epsilon)
        self.optimizer = self.patient

    def learn(
        self, sample: Sample, credit: Credit, best_choices: Ints, update: int
    ) -> dict[str, float]:
        if self.settings.imitation:
            # The best placement's devices are learned for the groups as they are now: exact with
            # fixed groups, close where the Grouper has a prior.
            sample = replace(sample, chosen=np.concatenate([sample.chosen, best_choices[None]]))
            credit = replace(credit, samples=np.append(credit.samples, self.settings.imitation))
        scalars = super().learn(sample, credit, best_choices, update)
        turns, inside = divmod(self.patient.waited_for(best_choices), self.settings.patience or 1)
        anew = self.settings.patience > 0 and turns > 0 and inside == 0
        if anew:
            self.patient.begin(self.fresh)
            if turns % 2 and isinstance(self.placer, _Placer):
                self.placer.begin_near(best_choices, self.settings.kept)
        return scalars | {"anew": float(anew)}
