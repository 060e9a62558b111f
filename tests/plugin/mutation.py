"""A placer that searches: it moves one colocation class at a time and keeps what is no slower."""

import time
from dataclasses import dataclass

import numpy as np

from suite.core.errors import BudgetExhausted
from suite.core.placement import Placement


@dataclass(frozen=True)
class Mutation:
    """Stochastic, a checkpoint every few steps."""

    updates: int = 200
    """How many moves."""
    every: int = 1
    """Steps from one checkpoint to the next."""
    seconds: float = 0.0
    """How long a step takes at least."""

    def place(self, problem, search):
        """Return the best placement met."""
        step, current = 0, {"devices": draw(problem, search), "time": np.inf, "kept": 0}
        saved = search.restore()
        if saved is not None:
            step, current = int(saved.pop("step")), dict(saved)
        while step < self.updates:
            try:
                move(problem, search, current)
            except BudgetExhausted:
                break
            step += 1
            time.sleep(self.seconds)
            search.note(kept=int(current["kept"]))
            search.log(step, reward=-float(current["time"]), entropy=search.rng.random())
            if step % self.every == 0:
                now = {"step": step} | current
                search.checkpoint(lambda now=now: {k: np.asarray(v) for k, v in now.items()})
        return search.best or Placement.of_classes(problem, current["devices"])


def draw(problem, search):
    """A random device for every colocation class."""
    return np.array([search.rng.choice(np.flatnonzero(row)) for row in problem.allowed])


def move(problem, search, current):
    """Try one change."""
    moved = int(search.rng.integers(len(problem.allowed)))
    devices = current["devices"].copy()
    devices[moved] = search.rng.choice(np.flatnonzero(problem.allowed[moved]))
    taken = float(search.evaluate([Placement.of_classes(problem, devices)]).step_time[0])
    if taken <= current["time"]:
        current |= {"devices": devices, "time": taken, "kept": current["kept"] + 1}
