"""What the operating system says of processes: which live, how one ended, and their cores."""

from __future__ import annotations

import os

from suite.core.child_python import signal_name


def is_running(number: int) -> bool:
    """Whether there is a process of this number, of whatever user."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def how_it_ended(code: int | None) -> str:
    """An exit code in words, such as ``died of SIGKILL`` or ``ended with exit code 3``."""
    if code is None or code >= 0:
        return f"ended with exit code {code}"
    return f"died of {signal_name(-code)}"
