"""Warnings as a user of the command line reads them."""

from __future__ import annotations

import warnings


def warn_on_one_line() -> None:
    """Have this process print its warnings without the line of code that they come from."""
    warnings.formatwarning = lambda message, *_, **__: f"placebench: warning: {message}\n"
