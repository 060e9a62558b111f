"""Asking a placer: what it answers is checked before anything is made of it."""

from __future__ import annotations

from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Placer, Search
from suite.search.registry import failure


def ask(placer: Placer, problem: Problem, search: Search) -> Placement:
    """The answer of a placer.

    Raises InputError where it is no Placement, or none of this problem, and where the placer would
    end the program. What else it raises passes through.
    """
    found: object
    try:
        found = placer.place(problem, search)
    except SystemExit as error:
        kind = type(placer)
        said = failure(error, kind.__module__)
        raise InputError(f"{kind.__name__}.place fails: {said}; mend it") from None
    if not isinstance(found, Placement):
        raise InputError(
            f"{type(placer).__name__}.place returned {type(found).__name__}; let it return a"
            " Placement (suite.Placement.of)"
        )
    return Placement.of(problem, found.devices)
