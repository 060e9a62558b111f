"""Post: Gao, Chen and Li, Device Placement with Cross-Entropy Minimization and PPO, NeurIPS 2018.

In the order of the paper's Algorithm 1. The paper's text was not at hand: what is called printed
comes from its abstract, its reviews and a published summary of Algorithm 1. The rest is chosen here
and said to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.parts import parts
from planners.features.class_graph import ClassGraph
from planners.policy_gradient.checks import check_counts, check_positive, check_words
from planners.policy_gradient.rewards import overload
from suite.core.arrays import Floats, Ints
from suite.core.errors import BudgetExhausted, InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search

MODES = ("both", "ce", "ppo", "pg")


@dataclass(frozen=True)
class Post:
    """A table of logits, groups x devices, that cross-entropy minimisation and PPO change in turn.

    Printed are the table, its start at zero, the order of the two rules, some 10 steps of ascent,
    the elite of 10 % and the 2,400 placements. Everything else is chosen here.
    """

    mode: str = "both"
    """``both``; ``ce`` or ``ppo``: one of the rules alone; ``pg``: the policy gradient, which is a
    single step of ascent where PPO takes several (Williams 1992)."""
    groups: int = 0
    """0: a decision for each co-location group of ColocRL; else for each of so many METIS parts.
    The paper's grouping is unknown."""
    samples: int = 10
    """K: placements per update. Not known of the paper."""
    period: int = 10
    """N / K: every so many updates cross-entropy takes PPO's place, with the placements since it
    last did. Not known of the paper; N is 100 here."""
    updates: int = 240
    """Updates: with 10 placements each, the 2,400 that a reviewer quotes."""
    elite: float = 0.1
    """Share of the placements that cross-entropy imitates."""
    epsilon: float = 0.02
    """Share of the uniform distribution that cross-entropy mixes in. Not known of the paper."""
    ascents: int = 10
    """Steps of gradient ascent per update by PPO."""
    clip: float = 0.2
    """How far a group's probability ratio may move to a gain. Not known of the paper: that of
    Schulman et al. 2017."""
    learning_rate: float = 0.1
    """Length of a step: plain gradient ascent. Not known of the paper; ten times as much oversteps
    the clip. The policy gradient, which takes one step, needs that."""
    overload_cost: float = 40.0
    """The reward is -sqrt(step time), as in HDP, less this times what memory is missing on the
    fullest device, as a multiple of its memory. Not known of the paper."""

    def __post_init__(self) -> None:
        """Refuse words and numbers that mean nothing (InputError)."""
        check_words(self, mode=MODES)
        check_counts(self, "period", "updates", "ascents")
        check_positive(self, "clip", "learning_rate", "elite", "epsilon", "overload_cost")
        if self.groups < 0:
            raise InputError(f"groups is {self.groups}; give 0 (ColocRL's groups) or METIS parts")
        if self.samples < 2:
            raise InputError(f"samples is {self.samples}; give >= 2, they are compared")
        for name in ("elite", "epsilon"):
            if getattr(self, name) > 1:
                raise InputError(f"{name} is {getattr(self, name)}; give a share of at most 1")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement found that fits in memory.

        Where none did, the last one drawn, which the judge will call out of memory. The last update
        draws what is left of the budget. Raises BudgetExhausted when that is nothing from the
        start; NativeCrash when METIS fails.
        """
        return _Algorithm(self, problem, search).run()

    def grouping(self, graph: ClassGraph, rng: np.random.Generator) -> NDArray[np.int64]:
        """The group of each class, int64[classes]; NativeCrash when METIS fails."""
        if self.groups:
            return parts(graph.problem, [self.groups], rng)[0]
        return np.asarray(graph.problem.groups[graph.leaders], np.int64)


class _Algorithm:
    """One search: Algorithm 1."""

    def __init__(self, settings: Post, problem: Problem, search: Search) -> None:
        """Start at zero, or from the search's checkpoint."""
        self.settings, self.search = settings, search
        self.graph = ClassGraph(problem)
        self.grouping = settings.grouping(self.graph, search.rng)
        count = int(self.grouping.max(initial=-1)) + 1
        self.logits = np.zeros((count, self.graph.devices))
        self.update = self.invalid = 0
        self.chosen = np.zeros((0, count), np.int64)
        self.rewards = np.zeros(0)
        self.last: NDArray[np.int32] | None = None
        saved = search.restore()
        if saved is not None:
            self._restore(saved)
        search.note(groups=count)

    def run(self) -> Placement:
        """Update until the updates or the budget are spent; return the best placement."""
        try:
            while self.update < self.settings.updates:
                self._step()
        except BudgetExhausted:
            if self.last is None:
                raise
        self.search.note(updates=self.update, invalid=self.invalid)
        if self.search.best is not None:
            return self.search.best
        assert self.last is not None
        return Placement.of(self.search.problem, self.last)

    def _step(self) -> None:
        """Draw K placements, have them judged, follow one of the two rules."""
        # At least one, with which the search says that its budget is spent.
        left = max(1, min(self.settings.samples, self.search.remaining))
        chosen = draw(softmax(self.logits), int(left), self.search.rng)
        placed = self.graph.placed(chosen[:, self.grouping])
        scores = self.search.evaluate(placed)
        rewards = self._reward(scores)
        self.last = placed[-1]
        self.invalid += int(scores.oom.sum())
        self.chosen = np.concatenate([self.chosen, chosen])
        self.rewards = np.concatenate([self.rewards, rewards])
        self.update += 1
        self._learn(chosen, rewards)
        width = entropy(softmax(self.logits))
        self.search.log(self.update, reward=float(rewards.mean()), entropy=width)
        self.search.checkpoint(self._state)

    def _reward(self, scores: Scores) -> Floats:
        missing = overload(scores, self.search.problem.machine.memory)
        return np.asarray(-np.sqrt(scores.step_time) - self.settings.overload_cost * missing)

    def _learn(self, chosen: Ints, rewards: Floats) -> None:
        """Every N placements cross-entropy, else PPO on the K just drawn (Algorithm 1)."""
        s = self.settings
        turn = self.update % s.period == 0
        if turn and s.mode in ("ce", "both"):
            best = best_of(self.rewards, s.elite)
            frequencies = elite_frequencies(self.chosen[best], self.graph.devices)
            self.logits = np.log(mixed(frequencies, s.epsilon))
        elif s.mode != "ce":
            self.logits = ascend(self.logits, chosen, normalised(rewards), s)
        if turn:
            self.chosen, self.rewards = self.chosen[:0], self.rewards[:0]

    def _state(self) -> dict[str, NDArray[np.generic]]:
        assert self.last is not None
        return {
            "logits": self.logits,
            "chosen": self.chosen,
            "rewards": self.rewards,
            "last": self.last,
            "counts": np.array([self.update, self.invalid]),
        }

    def _restore(self, saved: Mapping[str, NDArray[np.generic]]) -> None:
        self.logits = np.asarray(saved["logits"], np.float64)
        self.chosen = np.asarray(saved["chosen"], np.int64)
        self.rewards = np.asarray(saved["rewards"], np.float64)
        self.last = np.asarray(saved["last"], np.int32)
        self.update, self.invalid = (int(n) for n in np.asarray(saved["counts"], np.int64))


def softmax(logits: Floats) -> Floats:
    """f(d | u) of each group: float64[groups, devices], rows of sum 1."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def draw(probabilities: Floats, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw ``count`` placements of the groups: int64[count, groups], devices."""
    below = probabilities.cumsum(axis=1)[:, :-1]
    points = rng.random((count, len(probabilities), 1))
    return np.asarray((points >= below).sum(axis=2), np.int64)


def entropy(probabilities: Floats) -> float:
    """Mean entropy of a group's device, as a share of the largest: 1 undecided, 0 decided."""
    groups, devices = probabilities.shape
    if groups == 0 or devices == 1:
        return 0.0
    safe = np.where(probabilities > 0, probabilities, 1.0)
    return float(-(safe * np.log(safe)).sum() / groups / np.log(devices))


def normalised(rewards: Floats) -> Floats:
    """Advantages: differences to the mean of the K placements, in standard deviations.

    Not known of the paper. float64[K].
    """
    return np.asarray((rewards - rewards.mean()) / (rewards.std() + 1e-6))


def ascend(logits: Floats, chosen: Ints, advantages: Floats, settings: Post) -> Floats:
    """Follow PPO's objective (the paper's Eq. 11) for some steps; return the new logits.

    ``chosen`` is int[K, groups], drawn from ``logits``; ``advantages`` float64[K].
    """
    old = softmax(logits)
    for _ in range(1 if settings.mode == "pg" else settings.ascents):
        step = clipped_gradient(softmax(logits), old, chosen, advantages, settings.clip)
        logits = logits + settings.learning_rate * step
    return logits


def clipped_gradient(
    new: Floats, old: Floats, chosen: Ints, advantages: Floats, clip: float
) -> Floats:
    """Gradient of PPO's clipped objective (Schulman et al. 2017) by the logits of ``new``.

    The objective is the mean over placements, and the sum over groups, of min(ratio A, clipped
    ratio A). Each group has its own ratio f(d_m | new) / f(d_m | old): the ratio of whole
    placements would be clipped at once. At new = old it is the policy gradient.

    ``new`` and ``old`` are float64[groups, devices], ``chosen`` int[K, groups], ``advantages``
    float64[K]. Returns float64[groups, devices].
    """
    groups = np.arange(len(new))
    ratio = new[groups, chosen] / old[groups, chosen]
    gains = advantages[:, None]
    follows = np.where(gains > 0, ratio < 1 + clip, ratio > 1 - clip)
    weights = np.where(follows, gains * ratio, 0.0) / len(chosen)
    gradient = -weights.sum(axis=0)[:, None] * new
    np.add.at(gradient, (groups, chosen), weights)
    return np.asarray(gradient)


def best_of(rewards: Floats, share: float) -> NDArray[np.int64]:
    """Indices of the elite: this share of the placements, at least one; of equals the first."""
    count = max(1, round(share * len(rewards)))
    return np.argsort(-rewards, kind="stable")[:count]


def elite_frequencies(chosen: Ints, devices: int) -> Floats:
    """The minimum of the cross-entropy to the elite in closed form (the paper's Eq. 10).

    How often each group is on each device among the elite, ``chosen`` (int[elite, groups]).
    Returns float64[groups, devices].
    """
    counts = np.zeros((chosen.shape[1], devices))
    np.add.at(counts, (np.arange(chosen.shape[1]), chosen), 1.0)
    return np.asarray(counts / len(chosen))


def mixed(frequencies: Floats, epsilon: float) -> Floats:
    """(1 - epsilon) f + epsilon / D: what no elite placement did stays possible (Algorithm 1)."""
    return np.asarray((1 - epsilon) * frequencies + epsilon / frequencies.shape[1])
