"""How many placements a second are judged here, and by Placeto's released simulator.

Writes benchmarks/placeto_simulator.md. It needs a checkout of Placeto's code (Addanki et al. 2019),
which is Python and needs nothing but Python:

    git clone https://github.com/aravic/generalizable-device-placement ../placeto
    python benchmarks/placeto_simulator.py ../placeto --tasks rnnlm nmt_8

Both judge the same placements of the same graph, time and peak memory. An operation takes as long
on every device there, since Placeto's simulator knows one time for each.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from simulator import MACHINE, TASKS, commit, random_classes, size_of

from baselines.annealing import Annealing
from suite.bench.load_problem import make_problem
from suite.core.arrays import Ints
from suite.core.cores import my_share
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.search.registry import task
from suite.simulator.compiled.judge import Simulator
from suite.simulator.control_edges import with_control
from suite.simulator.semantics import PRESETS

HERE = Path(__file__).parent
KINDS = ("human", "annealing", "random")
BATCH = 64
"""Placements judged at a time here: a search's neighbours of one step, eight times over."""


class Placeto:
    """Placeto's simulator of one problem, which judges one placement at a time."""

    def __init__(self, checkout: Path, problem: Problem) -> None:
        """Give it the metagraph, the times and the sizes that it would read from TensorFlow."""
        # Its control edges carry what their producer's first output does.
        graph, _ = with_control(problem.graph, "output")
        sizes: list[list[int]] = [[] for _ in graph.op_names]
        inputs: list[list[str]] = [[] for _ in graph.op_names]
        for tensor, producer in enumerate(graph.producer):
            name = f"{graph.op_names[producer]}:{len(sizes[producer])}"
            sizes[producer].append(int(graph.tensor_bytes[tensor]))
            for reader in graph.consumers[slice(*graph.consumer_offsets[tensor : tensor + 2])]:
                inputs[reader].append(name)
        nodes, memory, stats = [], [], []
        for op, name in enumerate(graph.op_names):
            nodes.append(SimpleNamespace(name=name, op="", device="", input=inputs[op]))
            outputs = SimpleNamespace(output_memory=sizes[op])
            memory.append(SimpleNamespace(node=name, op_memory=outputs))
            took = SimpleNamespace(node_name=name, output=(), all_start_micros=0.0)
            took.op_start_rel_micros = 0.0
            took.all_end_rel_micros = 1e6 * float(problem.seconds[op].min())
            stats.append(took)
        self._released: Any = _released(checkout)(
            SimpleNamespace(graph_def=SimpleNamespace(node=nodes)),
            memory,
            SimpleNamespace(dev_stats=[SimpleNamespace(device="all", node_stats=stats)]),
            [device.name for device in problem.machine.devices],
        )
        self._names = graph.op_names

    def __call__(self, devices: Ints) -> float:
        """Seconds of a step: int[operations]."""
        places = dict(zip(self._names, devices.tolist(), strict=True))
        microseconds, _ = self._released.simulate(places, sim_mem_usage=True)
        return float(microseconds) * 1e-6


def _released(checkout: Path) -> Any:
    """The class of the checkout's simulator."""
    folder = str((checkout / "sim").resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    with warnings.catch_warnings():
        # It compares with literals by identity.
        warnings.simplefilter("ignore", SyntaxWarning)
        return importlib.import_module("tf_placement_sim.tf_pl_simulator").ImportantOpsSimulator


@dataclass
class Cell:
    """One task and kind of placement: seconds for each placement, round by round."""

    task: str
    kind: str
    size: int
    apart: float
    """Largest difference between the two step times, under Placeto's rules, relative."""
    theirs: list[float] = field(default_factory=list)
    theirs_on_all: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    ours_on_all: list[float] = field(default_factory=list)
    ours_by_their_rules: list[float] = field(default_factory=list)

    @property
    def row(self) -> str:
        """Of the fastest rounds: theirs, in milliseconds, and how many times as many are judged."""
        one, every = min(self.theirs), min(self.theirs_on_all)
        times = (
            one / min(self.ours),
            every / min(self.ours_on_all),
            one / min(self.ours_on_all),
            one / min(self.ours_by_their_rules),
        )
        shown = " | ".join(f"{figure:.0f}" for figure in times)
        milliseconds = f"{1e3 * one:.0f} | {1e3 * min(self.ours):.2f}"
        return f"| {self.task} | {self.kind} | {self.size:,} | {milliseconds} | {shown} |"


HEAD = (
    "task",
    "placement",
    "operations + edges",
    "Placeto, ms",
    "here, ms",
    "one core each",
    "all cores each",
    "all cores here, one there",
    "one core each, Placeto's rules",
)


def even(name: str) -> Problem:
    """A task whose operations take as long on every device as on a GPU, or else on the CPU."""
    problem = make_problem(name, MACHINE, task(name).gpus)
    gpu, possible = problem.seconds[:, -1:], np.isfinite(problem.seconds)
    seconds = np.where(np.isfinite(gpu), gpu, problem.seconds[:, :1])
    return replace(problem, seconds=np.where(possible, seconds, np.inf))


def placement(kind: str, problem: Problem) -> Ints:
    """A placement of this kind, int32[operations]: annealing's is what 1,000 evaluations find."""
    if kind == "annealing":
        found = Annealing(evaluations=1000).place(problem, Search(problem, Simulator(problem)))
        return np.asarray(found.devices, np.int32)
    row = problem.expert if kind == "human" else random_classes(problem, 1)[0]
    return np.asarray(row, np.int32)


def seconds(judge: Callable[..., object], *asked: object) -> float:
    """Seconds that a judge takes for what it is asked."""
    begun = time.perf_counter()
    judge(*asked)
    return time.perf_counter() - begun


_placeto: Placeto
"""The simulator of a process that helps to measure."""


def _prepare(checkout: Path, name: str) -> None:
    global _placeto
    _placeto = Placeto(checkout, even(name))


def _judge(devices: Ints) -> float:
    return _placeto(devices)


def measured(name: str, checkout: Path, rounds: int) -> list[Cell]:
    """Time both on a task, in turn within each round."""
    problem, cores = even(name), my_share().threads
    placeto, here = Placeto(checkout, problem), Simulator(problem)
    by_their_rules = Simulator(problem, semantics=PRESETS["placeto"])
    cells = []
    with ProcessPoolExecutor(
        cores, get_context("spawn"), initializer=_prepare, initargs=(checkout, name)
    ) as others:

        def in_processes(rows: list[Ints]) -> list[float]:
            return list(others.map(_judge, rows))

        for kind in KINDS:
            row = placement(kind, problem)
            same = by_their_rules.batch(row[None], threads=1).step_time[0]
            cell = Cell(name, kind, size_of(problem), abs(placeto(row) / same - 1))
            batch = np.repeat(row[None], BATCH, axis=0)
            here.batch(batch, threads=cores)
            in_processes([row] * cores)
            for _ in range(rounds):
                cell.theirs.append(seconds(placeto, row))
                few = [row] * 4 * cores
                cell.theirs_on_all.append(seconds(in_processes, few) / len(few))
                cell.ours.append(seconds(here.batch, batch, 1) / BATCH)
                cell.ours_on_all.append(seconds(here.batch, batch, cores) / BATCH)
                cell.ours_by_their_rules.append(seconds(by_their_rules.batch, batch, 1) / BATCH)
            cells.append(cell)
            print(cell.row, file=sys.stderr, flush=True)
    return cells


def page(cells: list[Cell], checkout: Path, rounds: int) -> str:
    """What is written."""
    apart = max(cells, key=lambda cell: cell.apart)
    lines = [
        "# Placements judged a second, here and by Placeto's simulator",
        "",
        f"`python benchmarks/placeto_simulator.py`, {rounds} rounds in turn, the fastest of each;"
        f" machine `{MACHINE}`, {my_share().threads} cores, Placeto's code at commit"
        f" {commit(checkout)} under Python {sys.version.split()[0]}. Milliseconds are for one"
        " placement on one core; the columns after them say how many times as many placements are"
        " judged here in the same time. Placeto's simulator uses one core; on all cores it runs in"
        " several processes. Both count memory. Annealing's placement is what 1,000 evaluations"
        " find.",
        "",
        f"| {' | '.join(HEAD)} |",
        "|---" * len(HEAD) + "|",
        *(cell.row for cell in cells),
        "",
        "Under Placeto's rules the two step times of a placement are at most"
        f" {apart.apart:.2%} apart ({apart.task}, {apart.kind}).",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("placeto", type=Path, help="folder of Placeto's code")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--output", type=Path, default=HERE / "placeto_simulator.md", metavar="FILE"
    )
    arguments = parser.parse_args()
    cells = [
        cell
        for name in arguments.tasks
        for cell in measured(name, arguments.placeto, arguments.rounds)
    ]
    written = page(cells, arguments.placeto, arguments.rounds)
    arguments.output.write_text(written)
    print(written, end="")


if __name__ == "__main__":
    main()
