"""How files, simulation, placers and the bound grow with a graph, up to a million operations.

Writes benchmarks/scaling.md. Each figure is taken once, in a process of its own, which has done the
same on a small graph before, so that nothing is compiled or imported within it. What is measured is
kept in benchmarks/scaling.json as soon as it is known: a run that was stopped goes on where it was,
and sizes and steps can be measured one by one.

    python benchmarks/scaling.py                            # what is missing, small graphs first
    python benchmarks/scaling.py --sizes 10000 --steps bound m_etf --again
    python benchmarks/scaling.py --sizes                    # the page alone, of what is there
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from large_graphs import GRAPHS, at_random, cluster, in_order

from suite.bounds.lower_bound import lower_bound
from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.atomic import atomic
from suite.formats.interchange import read_graph, read_placement, write_graph, write_placement
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator
from suite.simulator.reference import simulate

HERE = Path(__file__).parent
SIZES = (10_000, 100_000, 1_000_000)
CHECK = "reference.py"
"""The step that is for the smallest graphs alone: it takes quadratic time."""
SMALL = 3_000
"""Operations of the graph on which every step is done once before it is measured."""
SEARCH = 100
"""Evaluations of the short search."""

LEAD = f"""\
`python benchmarks/scaling.py`: graphs of `benchmarks/large_graphs.py` on 64 GPUs and a CPU (8 hosts
of 8, copy engines). Each cell: seconds (CPU seconds of all threads and children), and the most
memory that the process and its children had at once, with the problem that it works on in it. On a
host that does other things, CPU seconds are what counts; `growth` is theirs, per operation, each
size beside the one before: 1.00 is linear. Simulation: nanoseconds of CPU per operation and edge;
`in order` puts one stretch of the network on each GPU, `at random` every class on any. `annealing`
evaluates {SEARCH} placements, starts included. `reference.py` judges both placements and agrees to
the bit.
"""

Facts = dict[str, Any]


class Watch:
    """Looks how much memory this process and its children have: a partitioner runs in a child."""

    def __init__(self) -> None:
        """Nothing has been seen."""
        self.most, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        """Look twenty times a second from now on."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop looking."""
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.05):
            threads = Path("/proc/self/task").iterdir()
            children = [number for path in threads for number in words(path / "children")]
            sizes = [words(Path("/proc", number, "statm")) for number in ("self", *children)]
            pages = sum(int(size[1]) for size in sizes if size)
            self.most = max(self.most, pages * resource.getpagesize())


def words(path: Path) -> list[str]:
    """The words of a file; none where its process or thread has just ended."""
    try:
        return path.read_text().split()
    except OSError:
        return []


@dataclass
class Clock:
    """Seconds of what is measured, the rest of a step being preparation."""

    seconds: float = 0.0
    processor: float = 0.0
    """CPU seconds, of all threads and of children: what a busy host leaves alone."""
    peak: int = 0
    """Bytes of memory that this process and its children had at once, up to the end of it."""
    facts: Facts = field(default_factory=dict)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what happens within."""
        begun, used = time.perf_counter(), self._used()
        with Watch() as watch:
            yield
        self.seconds += time.perf_counter() - begun
        self.processor += self._used() - used
        # Linux counts kilobytes.
        alone = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.peak = max(self.peak, watch.most, alone)

    def _used(self) -> float:
        return sum(usage.ru_utime + usage.ru_stime for usage in self._usages())

    @staticmethod
    def _usages() -> list[resource.struct_rusage]:
        return [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]


@dataclass(frozen=True)
class Case:
    """One graph, in files."""

    graph: str
    size: int
    folder: Path

    def file(self, end: str) -> Path:
        """Where this graph is kept in one format."""
        return self.folder / f"{self.graph}_{self.size}{end}"

    def made(self) -> OpGraph:
        """The graph, from its file where there is one."""
        path = self.file(".npz")
        if not path.exists():
            write_graph(GRAPHS[self.graph](self.size, 0), path)
        return read_graph(path)

    def problem(self) -> Problem:
        """The graph on the machine that all steps are measured on."""
        return Problem.create(self.made(), cluster())


def _write(case: Case, clock: Clock, end: str) -> None:
    graph = case.made()
    with clock.running():
        write_graph(graph, case.file(f".written{end}"))
    clock.facts["bytes"] = case.file(f".written{end}").stat().st_size


def _read(case: Case, clock: Clock, end: str) -> None:
    path = case.file(f".written{end}")
    if not path.exists():
        write_graph(case.made(), path)
    with clock.running():
        graph = read_graph(path)
    # The name alone may differ, which the fingerprint does not cover.
    assert graph.fingerprint == case.made().fingerprint


def _placement(case: Case, clock: Clock, end: str) -> None:
    problem = case.problem()
    placement = Placement.of(problem, at_random(problem))
    with clock.running():
        write_placement(placement, problem, case.file(f".placement{end}"))
        again = read_placement(case.file(f".placement{end}"), problem)
    assert again.hash == placement.hash


def _make_problem(case: Case, clock: Clock) -> None:
    graph, machine = case.made(), cluster()
    with clock.running():
        problem = Problem.create(graph, machine)
        _ = problem.class_seconds, problem.class_persistent_bytes


def _simulate(case: Case, clock: Clock, devices: Callable[[Problem], Ints]) -> None:
    problem = case.problem()
    with clock.running():
        simulator = Simulator(problem)
    clock.facts["prepared"] = clock.seconds
    row = devices(problem)
    simulator.run(row)
    runs = [Clock() for _ in range(3)]
    for once in runs:
        with once.running():
            result = simulator.run(row)
    best = min(runs, key=lambda once: once.processor)
    clock.seconds, clock.processor, clock.peak = best.seconds, best.processor, best.peak
    clock.facts |= {"step_time": result.step_time, "oom": bool(result.oom.any())}
    size = problem.graph.n_ops + len(problem.graph.consumers)
    clock.facts["nanoseconds"] = 1e9 * clock.processor / size


def _check(case: Case, clock: Clock) -> None:
    problem = case.problem()
    simulator = Simulator(problem)
    for devices in in_order(problem), at_random(problem):
        with clock.running():
            expected = simulate(problem, devices)
        assert expected.same_as(simulator.run(devices))


def _place(case: Case, clock: Clock, placer: str, parameters: Mapping[str, Any]) -> None:
    problem = case.problem()
    simulator = Simulator(problem)
    search = Search(problem, simulator)
    with clock.running():
        placement = make_placer(placer, parameters).place(problem, search)
    result = simulator.run(placement.devices)
    clock.facts |= {"step_time": result.step_time, "oom": bool(result.oom.any())}
    clock.facts |= {"evaluations": search.evaluations, **search.notes}


def _bound(case: Case, clock: Clock) -> None:
    problem = case.problem()
    with clock.running():
        bound = lower_bound(problem)
    clock.facts |= {"step_time": bound.seconds, "kind": bound.kind, "parts": bound.parts}


STEPS: Mapping[str, Callable[[Case, Clock], None]] = {
    "write npz": lambda case, clock: _write(case, clock, ".npz"),
    "read npz": lambda case, clock: _read(case, clock, ".npz"),
    "write JSON": lambda case, clock: _write(case, clock, ".json"),
    "read JSON": lambda case, clock: _read(case, clock, ".json"),
    "placement npz": lambda case, clock: _placement(case, clock, ".npz"),
    "placement JSON": lambda case, clock: _placement(case, clock, ".json"),
    "problem": _make_problem,
    "simulate in order": lambda case, clock: _simulate(case, clock, in_order),
    "simulate at random": lambda case, clock: _simulate(case, clock, at_random),
    CHECK: _check,
    "metis": lambda case, clock: _place(case, clock, "metis", {}),
    "scotch": lambda case, clock: _place(case, clock, "scotch", {}),
    "mincut": lambda case, clock: _place(case, clock, "mincut", {}),
    "m_etf": lambda case, clock: _place(case, clock, "m_etf", {}),
    "annealing": lambda case, clock: _place(case, clock, "annealing", {"evaluations": SEARCH}),
    "bound": _bound,
}
"""What is measured, by name."""


def child(step: str, graph: str, size: int, folder: Path) -> None:
    """Take one figure, and print it as JSON."""
    STEPS[step](Case(graph, SMALL, folder), Clock())
    clock, case = Clock(), Case(graph, size, folder)
    STEPS[step](case, clock)
    made = case.made()
    sizes = {"ops": made.n_ops, "edges": len(made.consumers), "classes": made.n_classes}
    taken = {"seconds": clock.seconds, "processor": clock.processor, "peak": clock.peak}
    print(json.dumps(taken | sizes | clock.facts))


def measured(step: str, graph: str, size: int, folder: Path, limit: float) -> Facts:
    """One figure, by a process of its own; what went wrong, where something did."""
    command = [sys.executable, __file__, "--child", step, graph, str(size), str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"more than {limit:g} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": f"exit code {done.returncode}: {last}"}
    facts: Facts = json.loads(done.stdout.splitlines()[-1])
    return facts


def shown(facts: Facts | None) -> str:
    """A cell of the page: seconds, CPU seconds and peak memory; of simulation nanoseconds, too."""
    if facts is None:
        return ""
    if "error" in facts:
        return str(facts["error"])
    each = f"{facts['nanoseconds']:.0f} ns: " if "nanoseconds" in facts else ""
    seconds = f"{facts['seconds']:.3g} ({facts['processor']:.3g}) s"
    return f"{each}{seconds}, {facts['peak'] / 1e9:.2f} GB"


def growth(cells: list[Facts | None]) -> str:
    """CPU seconds per operation, each size beside the one before."""
    known = [None if c is None or "error" in c else c["processor"] / c["ops"] for c in cells]
    return ", ".join("-" if a is None or b is None else f"{b / a:.2f}" for a, b in pairwise(known))


def head(cells: Iterable[Facts | None]) -> str:
    """How large the graph of a column is."""
    made = next((cell for cell in cells if cell and "ops" in cell), None)
    return f"{made['ops']:,} ops, {made['edges']:,} edges" if made else ""


def page(found: dict[str, Facts]) -> str:
    """The page of all that is known."""
    lines = ["# How everything grows with the graph", "", LEAD.strip()]
    for graph in GRAPHS:
        rows = {s: [found.get(f"{graph}/{n}/{s}") for n in SIZES] for s in STEPS}
        heads = [head(column) for column in zip(*rows.values(), strict=True)]
        lines += ["", f"## `{graph}`", "", f"| | {' | '.join(heads)} | growth |", "|---" * 5 + "|"]
        for step, cells in rows.items():
            if any(cells):
                shown_ = " | ".join(map(shown, cells))
                lines.append(f"| {step} | {shown_} | {growth(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure what is asked for and missing, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", nargs="*", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--sizes", nargs="*", type=int, choices=SIZES, default=SIZES)
    parser.add_argument("--steps", nargs="*", choices=STEPS, default=list(STEPS))
    parser.add_argument("--again", action="store_true", help="measure anew what is known")
    parser.add_argument("--limit", type=float, default=1800.0, metavar="SECONDS", help="of a step")
    parser.add_argument("--results", type=Path, default=HERE / "scaling.json", metavar="FILE")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        step, graph, size, folder = arguments.child
        child(step, graph, int(size), Path(folder))
        return
    results: Path = arguments.results
    found: dict[str, Facts] = json.loads(results.read_text()) if results.exists() else {}
    for size in arguments.sizes:
        for graph in arguments.graphs:
            with tempfile.TemporaryDirectory() as folder:
                for step in arguments.steps:
                    key = f"{graph}/{size}/{step}"
                    if (key in found and not arguments.again) or (
                        step == CHECK and size > SIZES[0]
                    ):
                        continue
                    found[key] = measured(step, graph, size, Path(folder), arguments.limit)
                    print(f"{key}: {shown(found[key])}", file=sys.stderr, flush=True)
                    with atomic(results) as temporary:
                        temporary.write_text(json.dumps(found, indent=1) + "\n")
    results.with_suffix(".md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
