"""The two kinds of trouble a user meets: bad input, and a placer that declines."""


class InputError(ValueError):
    """Input that cannot be used: one line says what is wrong and how to mend it (exit code 2)."""


class Unsupported(Exception):
    """A placer declines a problem; the reason goes into the record (status ``skipped``)."""


class BudgetExhausted(Exception):
    """The search has spent its budget of evaluated placements or of seconds."""
