"""Child processes that hear their parent: each ends when the parent does, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import Any


class ChildDied(RuntimeError):
    """A child process ended before it answered; the message says how."""


@dataclass(frozen=True)
class Setup:
    """What a child does before it loads anything large."""

    function: str
    """``module:name``, called with (receive, send, *arguments)."""
    arguments: tuple[Any, ...] = ()
    cores: tuple[int, ...] = ()
    """Cores it is pinned to; none: any."""
    environment: tuple[tuple[str, str], ...] = field(default=())
    """Variables set on top of the parent's."""
    network_of: int | None = None
    """Process whose network it joins (:mod:`suite.execution.network`); None: the parent's."""


class Child:
    """One child process and a pipe to it. Its output goes to a file that is shown when it dies."""

    def __init__(self, name: str, setup: Setup) -> None:
        """Start it. ``name`` stands for it in messages."""
        self.name = name
        self.pipe, there = Pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in stop()
        command = [sys.executable, "-P", "-c", _COMMAND, str(there.fileno())]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[there.fileno()],
            env=_inherited() | _ENVIRONMENT | {"PYTHONPATH": _path()} | dict(setup.environment),
        )
        there.close()
        self.send(setup)

    def send(self, message: Any) -> None:
        """Send any picklable message; what a dead child does not hear shows in receive."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(message)

    def receive(self) -> Any:
        """Wait for its next message; ChildDied when there will be none."""
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            raise ChildDied(f"{self.name} {self._death()}") from None

    def stop(self) -> None:
        """Kill it and wait until it is gone; harmless when it is."""
        self.process.kill()
        self.process.wait()
        self.pipe.close()
        self._log.close()

    def _death(self) -> str:
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            return "closed its pipe"
        if code < 0:
            return f"died of {signal.Signals(-code).name}"
        return f"ended with exit code {code}: {self._last_line()}"

    def _last_line(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "no message"


def await_any(children: Sequence[Child], seconds: float) -> tuple[Child, Any] | None:
    """The first message of any child, or None after ``seconds``; ChildDied when one is gone."""
    ready = wait([child.pipe for child in children], timeout=max(0.0, seconds))
    for child in children:
        if child.pipe in ready:
            return child, child.receive()
    return None


def await_all(children: Sequence[Child], seconds: float) -> list[Any]:
    """The next message of each child; ChildDied when one is gone or silent for ``seconds``."""
    answers: dict[Child, Any] = {}
    deadline = time.monotonic() + seconds
    while len(answers) < len(children):
        silent = [child for child in children if child not in answers]
        answer = await_any(silent, deadline - time.monotonic())
        if answer is None:
            raise ChildDied(f"{silent[0].name} said nothing for {seconds:g} s")
        answers[answer[0]] = answer[1]
    return [answers[child] for child in children]


Receive = Callable[[], Any]
Send = Callable[[Any], None]

_COMMAND = "from suite.execution.entry import main; main()"
_ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0"}
"""oneDNN's graph pass merges operations, so that what runs would not be what was placed."""


_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
"""Where these are set, by whomever, they would decide how fast a step runs."""


def _inherited() -> dict[str, str]:
    """The parent's variables, without TensorFlow's threads: those are the backend's to set."""
    return {name: value for name, value in os.environ.items() if name not in _THREADS}


def memory_limit(size: int) -> tuple[tuple[str, str], ...]:
    """Environment in which TensorFlow's CPU allocator hands out ``size`` bytes, and keeps count."""
    megabytes = str(max(1, size // 2**20))
    return (("TF_CPU_ALLOCATOR_USE_BFC", "true"), ("TF_CPU_BFC_MEM_LIMIT_IN_MB", megabytes))


def _path() -> str:
    return os.pathsep.join(p for p in sys.path if p)
