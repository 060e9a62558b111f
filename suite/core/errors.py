"""The two kinds of trouble a user meets: bad input, and a placer that declines."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Input that cannot be used: one line says what is wrong and how to mend it (exit code 2)."""


class Unsupported(Exception):
    """A placer declines a problem; the reason goes into the record (status ``skipped``)."""


class BudgetExhausted(Exception):
    """The search has spent its budget of evaluated placements or of seconds."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ask about the name that is most like one that is not there: "did you mean 'x'? ", or ""."""
    close = get_close_matches(name, sorted(known), 1)
    return f"did you mean {close[0]!r}? " if close else ""
