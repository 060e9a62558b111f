"""How fast the simulator is, per operation and edge, also against that of another checkout.

Writes benchmarks/simulator.md. All figures come from one run on one machine. With ``--base``, the
simulator of another checkout is timed in turn with this one, round by round.

    python benchmarks/simulator.py --tasks rnnlm nmt_8 --base ../before
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from suite.bench.load_problem import make_problem
from suite.core.arrays import Ints
from suite.core.problem import Problem
from suite.formats.graph_npz import save_graph
from suite.search.registry import task
from suite.simulator.compiled.judge import Simulator
from suite.simulator.reference import simulate
from suite.simulator.semantics import PRESETS

HERE = Path(__file__).parent
TASKS = ("inception_v3", "resnet_152", "rnnlm", "nmt_2", "nmt_4", "nmt_8")
PLACEMENTS = ("human", "random")
MACHINE = "k40"


@dataclass
class Cell:
    """One task, semantics and placement: nanoseconds per operation and edge, round by round."""

    task: str
    semantics: str
    placement: str
    here: list[float] = field(default_factory=list)
    base: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> tuple[float, float]:
        """This checkout / the other: of the fastest rounds, and the median over rounds."""
        least = min(self.here) / min(self.base)
        return least, float(np.median(np.array(self.here) / np.array(self.base)))


class Worker:
    """A simulator of one checkout, in a process of its own."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        """Start it."""
        environment = os.environ | {"PYTHONPATH": str(checkout.resolve())}
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "simulator_worker.py"), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, *question: str) -> float:
        """Nanoseconds of a step."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(question), file=self.process.stdin, flush=True)
        return float(json.loads(self.process.stdout.readline()))


@contextmanager
def started(checkout: Path, folder: Path) -> Iterator[Worker]:
    """A worker that is ended afterwards."""
    worker = Worker(checkout, folder)
    try:
        yield worker
    finally:
        worker.process.kill()
        worker.process.wait()


def random_classes(problem: Problem, count: int) -> Ints:
    """Random placements of whole colocation classes, int32[count, ops]."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(count):
        scores = np.where(problem.allowed, rng.random(problem.allowed.shape), -1.0)
        rows.append(scores.argmax(axis=1)[problem.graph.colocation])
    return np.array(rows, np.int32)


def write(problem: Problem, name: str, folder: Path) -> None:
    """Write a problem and two placements of it, for workers."""
    save_graph(problem.graph, folder / f"{name}.npz")
    np.savez(
        folder / f"{name}.problem.npz",
        machine=MACHINE,
        gpus=task(name).gpus,
        seconds=problem.seconds,
        human=np.asarray(problem.expert, np.int32),
        random=random_classes(problem, 1)[0],
    )


def measured(names: list[str], base: Path | None, rounds: int, folder: Path) -> list[Cell]:
    """Time all cells, the checkouts in turn within each round."""
    cells = []
    with ExitStack() as stack:
        here = stack.enter_context(started(HERE.parent, folder))
        other = stack.enter_context(started(base, folder)) if base is not None else None
        for name in names:
            problem = make_problem(name, MACHINE, task(name).gpus)
            write(problem, name, folder)
            size = size_of(problem)
            for semantics in PRESETS:
                for placement in PLACEMENTS:
                    cell = Cell(name, semantics, placement)
                    for _ in range(rounds):
                        cell.here.append(here.ask(name, semantics, placement) / size)
                        if other is not None:
                            cell.base.append(other.ask(name, semantics, placement) / size)
                    cells.append(cell)
            print(f"{name}: timed", file=sys.stderr, flush=True)
    return cells


def size_of(problem: Problem) -> int:
    """Operations and edges."""
    return problem.graph.n_ops + len(problem.graph.consumers)


def speed_table(cells: list[Cell]) -> list[str]:
    """Nanoseconds per operation and edge: the fastest round, and the median round."""
    lines = [f"| task | placement | {' | '.join(PRESETS)} |", "|---" * (2 + len(PRESETS)) + "|"]
    for row in zip(*[iter(sorted(cells, key=order))] * len(PRESETS), strict=True):
        shown = [f"{min(c.here):.1f} ({np.median(c.here):.1f})" for c in row]
        lines.append(f"| {row[0].task} | {row[0].placement} | {' | '.join(shown)} |")
    return lines


def base_table(cells: list[Cell]) -> list[str]:
    """Time here / time of the other checkout: fastest rounds, and the median of the rounds."""
    lines = [f"| task | placement | {' | '.join(PRESETS)} |", "|---" * (2 + len(PRESETS)) + "|"]
    for row in zip(*[iter(sorted(cells, key=order))] * len(PRESETS), strict=True):
        shown = ["{:.3f} ({:.3f})".format(*c.ratios) for c in row]
        lines.append(f"| {row[0].task} | {row[0].placement} | {' | '.join(shown)} |")
    worst = max(cells, key=lambda c: min(c.ratios))
    lines += ["", f"Slowest beside it: {worst.task}, {worst.semantics}, {worst.placement},"]
    lines[-1] += " {:.3f} ({:.3f}).".format(*worst.ratios)
    return lines


def order(cell: Cell) -> tuple[int, str, int]:
    """Rows by task and placement, columns by semantics."""
    return TASKS.index(cell.task), cell.placement, list(PRESETS).index(cell.semantics)


def fastest(call: Callable[[], object], repeats: int = 7) -> float:
    """Seconds of the fastest of several calls, after one that is not counted."""
    call()
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return min(times)


def ratio_row(name: str) -> str:
    """A random placement: reference.py, the policy ``priority`` and two threads beside it."""
    problem = make_problem(name, MACHINE, task(name).gpus)
    simulator, ordered = Simulator(problem), Simulator(problem, "priority")
    batch = random_classes(problem, 32)
    seconds = fastest(lambda: simulator.run(batch[0]))
    begun = time.perf_counter()
    reference = simulate(problem, batch[0])
    slow = time.perf_counter() - begun
    assert reference.same_as(simulator.run(batch[0]))
    priority = fastest(lambda: ordered.run(batch[0]))
    one = fastest(lambda: simulator.batch(batch, threads=1), 3)
    two = fastest(lambda: simulator.batch(batch, threads=2), 3)
    return (
        f"| {name} | {size_of(problem):,} | {seconds * 1e3:.2f} | {slow / seconds:.0f}"
        f" | {priority / seconds:.2f} | {one / two:.2f} |"
    )


def commit(checkout: Path) -> str:
    """Its short name."""
    question = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(question, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--base", type=Path, metavar="FOLDER", help="another checkout")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, default=HERE / "simulator.md", metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cells = measured(arguments.tasks, arguments.base, arguments.rounds, Path(folder))
    lines = [
        "# How fast the simulator is",
        "",
        f"`python benchmarks/simulator.py`, {arguments.rounds} rounds, machine `{MACHINE}`."
        " Nanoseconds per operation and edge on one core: the fastest round (the median round).",
        "",
        *speed_table(cells),
    ]
    if arguments.base is not None:
        lines += [
            "",
            f"Time here / time of commit {commit(arguments.base)}, measured in turn, round by"
            " round: of the fastest rounds (the median of all rounds).",
            "",
            *base_table(cells),
        ]
    lines += [
        "",
        "A random placement beside other ways to run it:",
        "",
        "| task | ops + edges | ms | times reference.py | priority / fifo | 1 thread / 2 |",
        "|---" * 6 + "|",
        *(ratio_row(name) for name in arguments.tasks),
    ]
    arguments.output.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
