"""REINFORCE over placements (Williams 1992): the search loop that the learned placers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from planners.nn.optimizer import Optimizer
from planners.policy_gradient.rewards import Baseline, Credit
from suite.core.arrays import Floats, Ints
from suite.core.errors import BudgetExhausted
from suite.core.placement import Placement
from suite.core.scores import Scores
from suite.search.placer import Search

_NOTE_EVERY = 50
Arrays = dict[str, NDArray[np.generic]]


@dataclass(frozen=True, eq=False)
class Sample:
    """What a policy drew for one update."""

    devices: NDArray[np.int32]
    """int32[samples, ops]: the placements."""
    chosen: Ints
    """int[samples, decisions]: the policy's own decisions that led to each."""
    shared: Arrays
    """What they have in common, such as their grouping."""


class Policy(Protocol):
    """A distribution over placements that learns."""

    def sample(self, rng: np.random.Generator, update: int) -> Sample:
        """Draw the placements of one update."""
        ...

    def learn(
        self, sample: Sample, credit: Credit, best_choices: Ints, update: int
    ) -> dict[str, float]:
        """Follow the policy gradient once; return scalars to log.

        ``best_choices``, int[decisions], is the row of ``sample.chosen`` that gained most so far.
        """
        ...

    @property
    def optimizer(self) -> Optimizer:
        """Holds everything that decides what comes next: weights and moments."""
        ...


class Reinforce:
    """One search: samples, scores, learns, and can be stopped and taken up again."""

    def __init__(
        self,
        policy: Policy,
        search: Search,
        updates: int,
        reward: Callable[[Scores, Ints], Floats],
        baseline: Baseline,
        stop_sampling: int = 0,
    ) -> None:
        """Start afresh, or from the search's checkpoint.

        ``reward`` turns scores and the devices' memory, int64[devices], into float64[samples].
        From update ``stop_sampling`` on the last placements are scored again instead of new ones
        (0: never).
        """
        self.policy, self.search, self.updates = policy, search, updates
        self.reward, self.baseline, self.stop_sampling = reward, baseline, stop_sampling
        self.update = 0
        self.invalid = 0
        self.sample: Sample | None = None
        self.best_choices: Ints = np.zeros(0, np.int32)
        self.best_reward = -np.inf
        saved = search.restore()
        if saved is not None:
            self._restore(saved)

    def run(self) -> Placement:
        """Update until the updates or the search's budget are spent; return the best placement.

        A policy whose gradient overflows has no weights left to go on with: the search ends there
        and notes the update as ``diverged``.
        Where nothing fitted in memory, the last placement drawn is returned, which the judge will
        call out of memory. Raises BudgetExhausted when the budget does not allow one update.
        """
        try:
            while self.update < self.updates and "diverged" not in self.search.notes:
                self._step()
        except BudgetExhausted:
            if self.sample is None:
                raise
        self.search.note(updates=self.update, invalid=self.invalid)
        if self.search.best is not None:
            return self.search.best
        assert self.sample is not None
        return Placement.of(self.search.problem, self.sample.devices[0])

    def _step(self) -> None:
        """Make one policy update."""
        repeat = 0 < self.stop_sampling <= self.update
        sample = self.sample if repeat else None
        if sample is None:
            sample = self.policy.sample(self.search.rng, self.update)
        before = self.search.best_time
        scores = self.search.evaluate(sample.devices)
        gained = self.reward(scores, self.search.problem.machine.memory)
        self._remember(sample, gained)
        credit = self.baseline.credit(gained, ~scores.oom, self.update)
        scalars = self.policy.learn(sample, credit, self.best_choices, self.update)
        self.sample = sample
        self.invalid += int(scores.oom.sum())
        self.update += 1
        if "groups" in scalars:
            self._note_groups(int(scalars["groups"]), self.search.best_time < before)
        means = {"reward": float(gained.mean()), "baseline": self.baseline.value}
        if not np.isfinite(scalars["gradient_norm"]):
            self.search.note(diverged=self.update)
        self.search.log(self.update, **means, **scalars)
        self.search.checkpoint(self._state)

    def _remember(self, sample: Sample, gained: Floats) -> None:
        """Keep the choices that gained most."""
        best = int(np.argmax(gained))
        if gained[best] > self.best_reward:
            self.best_reward = float(gained[best])
            self.best_choices = sample.chosen[best]

    def _note_groups(self, groups: int, improved: bool) -> None:
        """Note how many groups are in use: with the best placement, and now and then."""
        if improved:
            self.search.note(groups_used=groups)
        if self.update % _NOTE_EVERY == 0:
            history = self.search.notes.get("groups_used_history", [])
            self.search.note(groups_used_history=[*history, [self.update, groups]])

    def _state(self) -> Arrays:
        assert self.sample is not None
        return {
            "loop/update": np.array(self.update),
            "loop/invalid": np.array(self.invalid),
            "loop/baseline": np.array(self.baseline.value),
            "loop/devices": self.sample.devices,
            "loop/chosen": self.sample.chosen,
            "loop/best_choices": self.best_choices,
            "loop/best_reward": np.array(self.best_reward),
            **{f"shared/{name}": array for name, array in self.sample.shared.items()},
            **{f"policy/{name}": array for name, array in self.policy.optimizer.state().items()},
        }

    def _restore(self, saved: Mapping[str, NDArray[np.generic]]) -> None:
        self.update, self.invalid = int(saved["loop/update"]), int(saved["loop/invalid"])
        self.baseline.value = float(saved["loop/baseline"])
        self.best_choices = cast(Ints, saved["loop/best_choices"])
        self.best_reward = float(saved["loop/best_reward"])
        devices = np.asarray(saved["loop/devices"], np.int32)
        chosen = cast(Ints, saved["loop/chosen"])
        self.sample = Sample(devices, chosen, _below("shared/", saved))
        self.policy.optimizer.restore(_below("policy/", saved))


def _below(prefix: str, arrays: Mapping[str, NDArray[np.generic]]) -> Arrays:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
