"""What a search cost until a step was as fast as something else: placements, or seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf, isinf, isnan, nan
from statistics import median_low

History = list[tuple[int, float, float]]
"""Of a search: placements evaluated, seconds passed, best step time in seconds, as it fell."""
NEVER = (inf, inf)


def until(history: History, wanted: float) -> float:
    """The number of placements until a step took at most ``wanted`` seconds; infinite if never."""
    return reached(history, wanted)[0]


def reached(history: History, wanted: float) -> tuple[float, float]:
    """The placements, and the seconds that had passed, until then; both infinite if never."""
    return next(((number, passed) for number, passed, best in history if best <= wanted), NEVER)


def seconds_until(history: History, wanted: float) -> float:
    """The seconds until a step took at most ``wanted`` seconds; infinite if never."""
    return reached(history, wanted)[1]


def median_until(
    histories: Iterable[History],
    wanted: float,
    cost: Callable[[History, float], float] = until,
) -> float:
    """The ``cost`` at which half of the searches were as fast; infinite where fewer ever were.

    NaN without a search, or where ``wanted`` is NaN.
    """
    numbers = [cost(history, wanted) for history in histories]
    return nan if not numbers or isnan(wanted) else median_low(numbers)


def printed(number: float) -> str:
    """A number of placements as tables print it."""
    if isnan(number):
        return "missing"
    return "not reached" if isinf(number) else f"{number:,.0f}"
