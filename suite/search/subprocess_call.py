"""Call native code in a child process, so that a crash there is an exception here.

The child is a plain subprocess (works inside pool workers too); arrays travel as npz over pipes.
"""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suite.core.child_python import child_environment, python_command, signal_name


class NativeCrash(RuntimeError):
    """The child died of a signal, hung, or raised; the message says which and how."""


def call(
    what: str, function: str, arguments: Mapping[str, ArrayLike], timeout: float = 600.0
) -> dict[str, NDArray[Any]]:
    """Run ``function`` ("module:name") in a child process and return its arrays.

    The function gets ``arguments`` by keyword, each as a numpy array (numbers and strings as
    0-dimensional ones), and returns a mapping of names to arrays. ``what`` names the library in
    messages. Raises NativeCrash when the child dies of a signal, raises an exception, or has not
    answered after ``timeout`` seconds.
    """
    child = "from suite.search.subprocess_call import _child; _child()"
    command = python_command("-c", child, function)
    try:
        done = subprocess.run(
            command,
            input=_pack(arguments),
            capture_output=True,
            timeout=timeout,
            env=child_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NativeCrash(f"{what} gave no answer within {timeout:g} s") from None
    if done.returncode == 0:
        return _unpack(done.stdout)
    words = done.stderr.decode("utf-8", "replace").strip().splitlines()
    last = words[-1] if words else "no message"
    if done.returncode > 0:
        raise NativeCrash(f"{what} failed: {last}")
    number = -done.returncode
    raise NativeCrash(f"{what} died with signal {number} ({signal_name(number)}): {last}")


def _pack(arrays: Mapping[str, ArrayLike]) -> bytes:
    buffer = io.BytesIO()
    plain: dict[str, Any] = {name: np.asarray(value) for name, value in arrays.items()}
    np.savez(buffer, **plain)
    return buffer.getvalue()


def _unpack(data: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)


def _child() -> None:
    """Read arrays on stdin, call the function named on the command line, answer on stdout."""
    with _answer_pipe() as pipe:
        module, name = sys.argv[1].split(":")
        function = getattr(importlib.import_module(module), name)
        pipe.write(_pack(function(**_unpack(sys.stdin.buffer.read()))))


def _answer_pipe() -> IO[bytes]:
    """Keep stdout for the answer: whatever native code prints goes to stderr instead."""
    answer = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(answer, "wb")
