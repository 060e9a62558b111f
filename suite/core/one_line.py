"""Warnings and errors as a user of the command line reads them."""

from __future__ import annotations

import sys
import warnings


def warn_on_one_line() -> None:
    """Have this process print its warnings without the line of code that they come from."""
    warnings.formatwarning = lambda message, *_, **__: f"placebench: warning: {message}\n"


def say_on_one_line(message: str) -> None:
    """Print it on stderr; a path within may have a line break in its name."""
    print(f"placebench: {message}".replace("\n", "\\n"), file=sys.stderr)
