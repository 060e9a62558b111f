"""A package of somebody else's placers, none of which behaves."""

import os
import signal
import time
from dataclasses import dataclass

import numpy as np

from suite.core.errors import Unsupported
from suite.core.placement import Placement


@dataclass(frozen=True)
class Killed:
    """Dies of a signal, as native code does."""

    def place(self, problem, search):
        """Never return."""
        os.kill(os.getpid(), signal.SIGSEGV)


@dataclass(frozen=True)
class Leaves:
    """Ends the process."""

    def place(self, problem, search):
        """Never return."""
        os._exit(3)


@dataclass(frozen=True)
class Raises:
    """Raises."""

    def place(self, problem, search):
        """Never return."""
        raise ZeroDivisionError("over\nand out")


@dataclass(frozen=True)
class Hangs:
    """Starts a child and waits for ever."""

    def place(self, problem, search):
        """Never return."""
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "6543"])
        signal.pause()


@dataclass(frozen=True)
class Declines:
    """Handles nothing."""

    def place(self, problem, search):
        """Never return."""
        raise Unsupported("not today")


@dataclass(frozen=True)
class Nowhere:
    """Answers with a device that is not there."""

    def place(self, problem, search):
        """Return an invalid placement."""
        return Placement(np.full(problem.graph.n_ops, 99, np.int32))


@dataclass(frozen=True)
class Slow:
    """Sleeps, then draws one placement."""

    seconds: float = 0.2
    """How long."""

    def place(self, problem, search):
        """Return a random placement."""
        time.sleep(self.seconds)
        classes = [search.rng.choice(np.flatnonzero(row)) for row in problem.allowed]
        return Placement.of_classes(problem, np.array(classes))
