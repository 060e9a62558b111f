"""What annealing gains by breaking off steps that have become too slow to be accepted, and by
counting memory only where it might not suffice.

    python benchmarks/deadline.py [EVALUATIONS]

On one core. The outcome is in docs/baselines.md; its shares are the same on every machine.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from baselines.annealing import Annealing
from suite.bench.load_problem import make_problem
from suite.core.arrays import Floats, Ints
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search
from suite.search.registry import task
from suite.simulator.compiled.judge import Simulator
from suite.simulator.compiled.kernel import kernels
from suite.simulator.timeline import record

TASKS = ("inception_v3", "resnet_152", "rnnlm", "nmt_2", "nmt_4", "nmt_8")
EVERY = 160
"""One in so many placements that were broken off is looked at again."""


class Patient:
    """A judge that finishes every step, on one core."""

    def __init__(self, problem: Problem) -> None:
        """Prepare the simulator."""
        self.simulator = Simulator(problem)

    def __call__(self, devices: Ints) -> Scores:
        """Score a batch."""
        return self.simulator.batch(devices, threads=1)


class Impatient(Patient):
    """A judge that breaks off slow steps and counts them."""

    def __init__(self, problem: Problem) -> None:
        """Start counting."""
        super().__init__(problem)
        self.timed_out = 0
        self.kept: list[tuple[Ints, float]] = []

    def within(self, devices: Ints, seconds: Floats) -> Scores:
        """Score a batch, up to the deadlines."""
        scores = self.simulator.batch(devices, 1, seconds)
        for row in np.flatnonzero(scores.timed_out):
            if self.timed_out % EVERY == 0:
                self.kept.append((devices[row].copy(), float(seconds[row])))
            self.timed_out += 1
        return scores


class Counting(Impatient):
    """The same, with the memory of every step counted."""

    def __init__(self, problem: Problem) -> None:
        """Compile for it."""
        super().__init__(problem)
        self.simulator._bounded = False
        self.simulator._timed = kernels(self.simulator.rules._replace(timed=True))


def begun(simulator: Simulator, devices: Ints, seconds: float) -> float:
    """Share of the operations' time that a step had begun when it was broken off."""
    times = record(simulator, devices)
    order = np.argsort(times.end, kind="stable")
    spent = (times.end - times.start)[order]
    least = np.zeros(len(order))
    for device in range(simulator.problem.machine.n_devices):
        here = devices[order] == device
        rest = np.sum(spent[here]) - np.cumsum(spent[here])
        least[here] = times.end[order][here] + rest
    done = np.cumsum(spent) / spent.sum()
    return float(done[np.argmax(least > 1e9 * seconds)])


def search(problem: Problem, judge: Patient, evaluations: int) -> tuple[float, float]:
    """Best step time, and evaluations per second of processor time once all is compiled."""
    Annealing(evaluations=100).place(problem, Search(problem, judge))
    found, start = Search(problem, judge), time.process_time()
    Annealing(evaluations=evaluations).place(problem, found)
    return found.best_time, found.evaluations / (time.process_time() - start)


def main(evaluations: int) -> None:
    """Print a row per task."""
    print(
        "| | broken off | after | evaluations / s, all finished | some broken off, memory counted"
        " | memory counted where it might not suffice |"
    )
    print("|---" * 6 + "|")
    for name in TASKS:
        problem = make_problem(name, "k40", task(name).gpus)
        judge = Impatient(problem)
        best, before = search(problem, Patient(problem), evaluations)
        same, counted = search(problem, Counting(problem), evaluations)
        again, after = search(problem, judge, evaluations)
        assert best == same == again
        broken_off = judge.timed_out / (evaluations + 100)
        share = np.mean([begun(judge.simulator, *asked) for asked in judge.kept])
        print(
            f"| {name} | {broken_off:.0%} | {share:.0%}"
            f" | {before:.0f} | {counted:.0f} | {after:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
