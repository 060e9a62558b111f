"""How placebench starts Python in a child process, and how it says what a child died of."""

from __future__ import annotations

import os
import signal
import sys

BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def python_command(*arguments: str) -> list[str]:
    """The command line of a child Python that finds modules by its PYTHONPATH alone.

    Without ``-P`` the working folder would come before it: a user's own folder named ``suite`` or
    ``models`` would be imported in place of ours, and a checkout that is compared with another one
    would run that other one's code.
    """
    return [sys.executable, "-P", *arguments]


def child_environment(**changes: str) -> dict[str, str]:
    """This process's environment with ``changes``; the child finds modules where this one does.

    numpy's BLAS has one thread there, unless the environment says otherwise. It would start a
    thread for each core when numpy is loaded, which takes a fifth of a partitioner's call.
    """
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {BLAS_THREADS: "1"} | os.environ | {"PYTHONPATH": path} | changes


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; real-time signals, which have no names of their own, by their number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
