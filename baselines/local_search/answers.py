"""What other placers answer, as candidates and starting points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.errors import BudgetExhausted, Unsupported
from suite.core.problem import Problem
from suite.search.placer import Placer, Search
from suite.search.subprocess_call import NativeCrash


def answer(placer: Placer, problem: Problem, search: Search) -> NDArray[np.int64] | str:
    """Return the class devices, int64[n_classes], that a placer answers with, or why it does not.

    It does not where it has no answer for the problem or needs more than the search's budget.
    """
    try:
        devices = placer.place(problem, search).devices
    except (Unsupported, NativeCrash, BudgetExhausted) as error:
        return str(error)
    classes = np.zeros(problem.graph.n_classes, np.int64)
    classes[problem.graph.colocation] = devices
    return classes
