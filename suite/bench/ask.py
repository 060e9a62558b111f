"""Asking a placer: what it answers is checked before anything is made of it."""

from __future__ import annotations

from suite.core.errors import BudgetExhausted, InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Placer, Search
from suite.search.registry import failure


def ask(placer: Placer, problem: Problem, search: Search) -> Placement:
    """The answer of a placer.

    Raises InputError where it is no Placement, or none of this problem, and where the placer would
    end the program; BudgetExhausted says how a placer that lets it pass keeps what it has found.
    What else it raises passes through.
    """
    found: object
    name = f"{type(placer).__name__}.place"
    try:
        found = placer.place(problem, search)
    except SystemExit as error:
        said = failure(error, type(placer).__module__)
        raise InputError(f"{name} fails: {said}; mend it") from None
    except BudgetExhausted as error:
        if search.best is None:
            raise
        told = BudgetExhausted(f"{error}; let {name} catch BudgetExhausted and return search.best")
        # The traceback stays: it says where in the placer that was.
        raise told.with_traceback(error.__traceback__) from None
    if not isinstance(found, Placement):
        # As CONTRIBUTING.md has it, a placer ends with `return search.best`.
        nothing_fits = found is None and search.best is None
        also = ", also where nothing that it evaluated fits and search.best is None" * nothing_fits
        raise InputError(
            f"{name} returned {type(found).__name__}; let it return a Placement"
            f" (suite.Placement.of){also}"
        )
    return Placement.of(problem, found.devices)
