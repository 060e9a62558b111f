"""REINFORCE over placements: rewards, baseline and the search loop every learned placer shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from planners._settings import Settings
from suite.core.errors import BudgetExhausted
from suite.core.placement import Placement
from suite.core.scores import Scores
from suite.search.placer import Search

_NOTE_EVERY = 50
Vector = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Sample:
    """What a policy drew for one update."""

    devices: NDArray[np.int32]
    """int32[samples, ops]: the placements."""
    choices: Arrays
    """What the policy needs to score them again."""


@dataclass(frozen=True, eq=False)
class Credit:
    """How far to follow each log-probability's gradient."""

    samples: Vector
    """float64[samples]: weight of each placement's device choices."""
    shared: float
    """Weight of what all placements of the update share: their grouping."""


class Policy(Protocol):
    """A distribution over placements that learns."""

    def sample(self, rng: np.random.Generator, update: int) -> Sample:
        """Draw the placements of one update."""
        ...

    def learn(
        self, sample: Sample, credit: Credit, elite: NDArray[Any], update: int
    ) -> dict[str, float]:
        """Follow the policy gradient once; return scalars to log.

        ``elite`` is the row of ``sample.choices["chosen"]`` of the best placement so far.
        """
        ...

    def state(self) -> Arrays:
        """Everything that decides what comes next, as arrays."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Put a saved state back."""
        ...


def rewards(scores: Scores, memory: NDArray[np.int64], settings: Settings) -> Vector:
    """-sqrt(seconds) of each placement; less where it does not fit in ``memory``, int64[devices].

    Returns float64[samples].
    """
    speed = -np.sqrt(scores.step_time)
    if settings.failing == "constant":
        return np.where(scores.oom, settings.failing_reward, speed)
    missing = np.maximum(0, (scores.peak_memory / memory).max(axis=1) - 1)
    return np.asarray(speed - settings.overload_cost * missing)


@dataclass
class Baseline:
    """An exponential moving average of rewards, and the weights that follow from it."""

    settings: Settings
    value: float = np.nan
    """Not a number before the first reward, where the average starts from that."""

    def __post_init__(self) -> None:
        """Start from the failing reward where the settings say so."""
        if self.settings.baseline_start == "failing":
            self.value = self.settings.failing_reward

    def credit(self, rewards: Vector, valid: NDArray[np.bool_], update: int) -> Credit:
        """Turn the rewards of an update, float64[samples], into weights; move the average.

        From ``valid_only_after`` on, invalid placements have weight 0 and do not count in means.
        """
        counted = valid if update >= self.settings.valid_only_after else np.ones_like(valid)
        if not counted.any():
            return Credit(np.zeros(len(rewards)), 0.0)
        mean = float(rewards[counted].mean())
        if np.isnan(self.value):
            self.value = mean
        before, decay = self.value, self.settings.baseline_decay
        self.value = decay * before + (1 - decay) * mean
        if self.settings.advantage == "difference":
            advantages = np.where(counted, rewards - before, 0.0) / counted.sum()
            return Credit(advantages, float(advantages.sum()))
        spread = float(rewards[counted].std()) + 1e-6
        advantages = np.where(counted, rewards - mean, 0.0) / (spread * counted.sum())
        return Credit(advantages, float(np.clip((mean - before) / spread, -1, 1)))


class Reinforce:
    """One search: samples, scores, learns, and can be stopped and taken up again."""

    def __init__(self, policy: Policy, search: Search, settings: Settings) -> None:
        """Start afresh, or from the search's checkpoint."""
        self.policy, self.search, self.settings = policy, search, settings
        self.baseline = Baseline(settings)
        self.update = 0
        self.invalid = 0
        self.sample: Sample | None = None
        self.elite = np.zeros(0, np.int32)
        self.elite_reward = -np.inf
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
            while self.update < self.settings.updates and "diverged" not in self.search.notes:
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
        repeat = 0 < self.settings.stop_sampling <= self.update
        sample = self.sample if repeat else None
        if sample is None:
            sample = self.policy.sample(self.search.rng, self.update)
        before = self.search.best_time
        scores = self.search.evaluate(sample.devices)
        gained = rewards(scores, self.search.problem.machine.memory, self.settings)
        self._remember(sample, gained)
        credit = self.baseline.credit(gained, ~scores.oom, self.update)
        scalars = self.policy.learn(sample, credit, self.elite, self.update)
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

    def _remember(self, sample: Sample, gained: Vector) -> None:
        """Keep the choices that gained most."""
        best = int(np.argmax(gained))
        if gained[best] > self.elite_reward:
            self.elite_reward = float(gained[best])
            self.elite = sample.choices["chosen"][best]

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
            "loop/elite": self.elite,
            "loop/elite_reward": np.array(self.elite_reward),
            **{f"choices/{name}": array for name, array in self.sample.choices.items()},
            **{f"policy/{name}": array for name, array in self.policy.state().items()},
        }

    def _restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        self.update, self.invalid = int(saved["loop/update"]), int(saved["loop/invalid"])
        self.baseline.value = float(saved["loop/baseline"])
        self.elite, self.elite_reward = saved["loop/elite"], float(saved["loop/elite_reward"])
        self.sample = Sample(saved["loop/devices"], _below("choices/", saved))
        self.policy.restore(_below("policy/", saved))


def _below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
