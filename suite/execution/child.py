"""Child processes that hear their parent: each ends when the parent does, however it ends."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import Any

from suite.core.child_python import child_environment, python_command, signal_name


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
        self.process = subprocess.Popen(
            python_command("-c", _COMMAND, str(there.fileno())),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[there.fileno()],
            env=_environment(dict(setup.environment)),
        )
        there.close()
        self.send(setup)

    def send(self, message: object) -> None:
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
            return f"died of {signal_name(-code)}"
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
_ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "2",
    # Its graph pass merges operations, so that what runs would not be what was placed.
    "TF_ENABLE_ONEDNN_OPTS": "0",
    # Else TensorFlow loads Keras, a third of its start. Nothing here uses it, nor what it loads
    # instead where that is installed.
    "TF_USE_LEGACY_KERAS": "1",
}

_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
"""What a planner in this process, or its user, set for itself: a step's threads are the machine's
to say (:mod:`suite.execution.driver`, :mod:`suite.execution.server`)."""


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    inherited = child_environment(**_ENVIRONMENT)
    return {k: v for k, v in inherited.items() if k not in _THREADS} | dict(changes)


def memory_limit(size: int) -> tuple[tuple[str, str], ...]:
    """Environment in which TensorFlow's CPU allocator hands out ``size`` bytes, and keeps count."""
    megabytes = str(max(1, size // 2**20))
    return (("TF_CPU_ALLOCATOR_USE_BFC", "true"), ("TF_CPU_BFC_MEM_LIMIT_IN_MB", megabytes))
