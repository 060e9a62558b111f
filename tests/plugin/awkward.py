"""A package of somebody else's placers, none of which behaves."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from suite.core.errors import InputError, Unsupported
from suite.core.placement import Placement
from suite.search.subprocess_call import call


@dataclass(frozen=True)
class Killed:
    """Dies of a signal, as native code does."""

    def place(self, problem, search):
        """Never return."""
        os.kill(os.getpid(), signal.SIGSEGV)


@dataclass(frozen=True)
class Crashes:
    """Draws one placement by native code that crashes now and then."""

    share: float = 0.5
    """How often it crashes."""

    def place(self, problem, search):
        """Return a random placement; NativeCrash."""
        if search.rng.random() < self.share:
            call("native code", "faulthandler:_sigsegv", {})
        return Slow(0).place(problem, search)


@dataclass(frozen=True)
class Leaves:
    """Ends the process."""

    def place(self, problem, search):
        """Never return."""
        os._exit(3)


@dataclass(frozen=True)
class Exits:
    """Ends as a script does, which says that all went well."""

    def place(self, problem, search):
        """Never return."""
        sys.exit(0)


@dataclass(frozen=True)
class Raises:
    """Has placements judged that are none, so that what it calls raises."""

    def place(self, problem, search):
        """Never return."""
        return search.evaluate(["over\nand out"])


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
class Empty:
    """Forgets to answer."""

    def place(self, problem, search):
        """Return nothing."""


@dataclass(frozen=True)
class Endless:
    """Has one placement judged for ever, whatever the budget."""

    def place(self, problem, search):
        """Return nothing: the budget ends it."""
        one = Placement.of_classes(problem, problem.allowed.argmax(axis=1))
        while True:
            search.evaluate([one])


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


@dataclass(frozen=True)
class Blocks:
    """Answers, once it has made a file where a folder was to be."""

    path: str = ""
    """Of that file."""

    def place(self, problem, search):
        """Return a random placement."""
        Path(self.path).touch()
        return Slow(0).place(problem, search)


@dataclass(frozen=True)
class Stopped:
    """Has random placements judged, and is stopped before it can answer."""

    by: str = "an interrupt"
    """What stops it: that, the name of a signal, or the words of an InputError."""
    evaluations: int = 20
    """How many it has judged before."""
    inner: bool = False
    """Whether that is done by an inner search, which is not counted any more."""

    def place(self, problem, search):
        """Never return."""
        judging = search.inner(search.seed, self.evaluations) if self.inner else search
        for _ in range(self.evaluations):
            judging.evaluate([Slow(0).place(problem, judging)])
        if self.by in signal.Signals.__members__:
            signal.raise_signal(signal.Signals[self.by])
        raise KeyboardInterrupt if self.by == "an interrupt" else InputError(self.by)


@dataclass(frozen=True)
class Parting:
    """Answers; once its record is written, the process dies or hangs before it can say so."""

    hangs: bool = False
    """Whether it hangs."""

    def place(self, problem, search):
        """Return everything on the first device that allows it."""
        sys.addaudithook(self.watch)
        return Placement.of_classes(problem, np.argmax(problem.allowed, axis=1))

    def watch(self, event, arguments):
        """Act when the checkpoint is removed, which comes right after the record."""
        if event == "os.remove" and str(arguments[0]).endswith(".checkpoint.npz"):
            if self.hangs:
                signal.pause()
            os.kill(os.getpid(), signal.SIGKILL)
