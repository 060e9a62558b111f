"""One policy on several graphs: the search loop of each, in turn."""

from __future__ import annotations

from collections.abc import Sequence

from planners.policy_gradient.reinforce import Reinforce
from suite.core.errors import BudgetExhausted, InputError
from suite.search.training import Training


class InTurn(Reinforce):
    """The search on one of the graphs, an update at a time."""

    def step(self) -> bool:
        """Make one update; False when there is nothing left to make it with."""
        if self.update >= self.updates:
            return False
        try:
            self._step()
        except BudgetExhausted:
            return False
        return True

    def save(self) -> None:
        """Hand the search's state to its checkpoint."""
        self.search.checkpoint(self._state)


def learn_in_turn(lessons: Sequence[InTurn], training: Training) -> None:
    """Update on one graph after the other until each has spent its budget or its updates.

    Raises BudgetExhausted when no budget allows one update, InputError when a gradient overflows.
    """
    learning = list(lessons)
    while learning := [lesson for lesson in learning if lesson.step()]:
        for lesson in learning:
            if "diverged" in lesson.search.notes:
                name = lesson.search.problem.graph.name
                raise InputError(f"the gradient overflowed on {name}; lower the learning_rate")
        training.checkpoint(lessons)
    if not any(lesson.update for lesson in lessons):
        raise BudgetExhausted("no graph's budget allows one update; give more evaluations")
    for lesson in lessons:
        lesson.search.note(updates=lesson.update, invalid=lesson.invalid)
