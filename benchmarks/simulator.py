"""How fast the simulator is: against reference.py, per operation and edge, per core.

All figures of one table come from one run on one machine, as ratios where they can be.

    python benchmarks/simulator.py --tasks rnnlm nmt_8
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from suite.bench.load_problem import make_problem
from suite.core.arrays import Ints
from suite.core.problem import Problem
from suite.search.registry import task
from suite.simulator.reference import simulate
from suite.simulator.semantics import PRESETS
from suite.simulator.step import Simulator

REPEATS = 7


def fastest(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """Seconds of the fastest of several calls, after one that is not counted."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def random_classes(problem: Problem, count: int) -> Ints:
    """Random placements of whole colocation classes, int32[count, ops]."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(count):
        scores = np.where(problem.allowed, rng.random(problem.allowed.shape), -1.0)
        rows.append(scores.argmax(axis=1)[problem.graph.colocation])
    return np.array(rows, np.int32)


def rows(name: str) -> list[str]:
    """Markdown rows of one task: the human expert's placement and a random one."""
    problem = make_problem(name, "k40", task(name).gpus)
    simulator, ordered = Simulator(problem), Simulator(problem, "priority")
    batch = random_classes(problem, 32)
    assert problem.expert is not None
    size = problem.graph.n_ops + len(problem.graph.consumers)
    lines = []
    for kind, devices in (("human", problem.expert), ("random", batch[0])):
        seconds = fastest(lambda d=devices: simulator.run(d))  # type: ignore[misc]
        start = time.perf_counter()
        reference = simulate(problem, devices)
        slow = time.perf_counter() - start
        assert reference.same_as(simulator.run(devices))
        priority = fastest(lambda d=devices: ordered.run(d))  # type: ignore[misc]
        many = batch if kind == "random" else np.tile(devices, (64, 1))
        one = fastest(lambda m=many: simulator.batch(m, threads=1), 3)  # type: ignore[misc]
        two = fastest(lambda m=many: simulator.batch(m, threads=2), 3)  # type: ignore[misc]
        lines.append(
            f"| {name} | {kind} | {size:,} | {seconds * 1e3:.2f} | {seconds / size * 1e9:.1f}"
            f" | {slow / seconds:.0f} | {priority / seconds:.2f} | {one / two:.2f}"
            f" | {peers(problem, devices, seconds)} |"
        )
    return lines


def peers(problem: Problem, devices: Ints, seconds: float) -> str:
    """Time under each other semantics / ``seconds``."""
    ratios = []
    for rules in list(PRESETS.values())[1:]:
        simulator = Simulator(problem, semantics=rules)
        ratios.append(fastest(lambda s=simulator: s.run(devices)) / seconds)  # type: ignore[misc]
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


def main() -> None:
    """Print one Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    everything = ["inception_v3", "resnet_152", "rnnlm", "nmt_2", "nmt_4", "nmt_8"]
    parser.add_argument("--tasks", nargs="+", default=everything)
    print("| task | placement | ops + edges | ms | ns per op + edge | times reference.py", end="")
    print(f" | priority / fifo | 2 threads / 1 | {', '.join(list(PRESETS)[1:])} / placebench |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in parser.parse_args().tasks:
        print("\n".join(rows(name)), flush=True)


if __name__ == "__main__":
    main()
