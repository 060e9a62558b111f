"""Checks of a planner's settings."""

from __future__ import annotations

from suite.core.errors import InputError


def check_words(settings: object, **known: tuple[str, ...]) -> None:
    """Raise InputError unless each field named is one of the words known for it."""
    for name, words in known.items():
        value = getattr(settings, name)
        if value not in words:
            raise InputError(f"{name} is {value!r}; known: {', '.join(words)}")


def check_counts(settings: object, *names: str) -> None:
    """Raise InputError unless each field named is at least 1."""
    for name in names:
        value = getattr(settings, name)
        if value < 1:
            raise InputError(f"{name} is {value}; give a number >= 1")


def check_positive(settings: object, *names: str) -> None:
    """Raise InputError unless each field named is more than 0."""
    for name in names:
        value = getattr(settings, name)
        if not value > 0:
            raise InputError(f"{name} is {value}; give a number > 0")
