"""Fit what a transfer costs to HDP's Table 1, one hypothesis about the links after the other.

    python benchmarks/fit_links.py            # prints each hypothesis: constants and error
    python benchmarks/fit_links.py --write    # and writes records of grid `hypotheses`, and the
                                              # links of machines k40_tf13 and k80_tf13

The graphs are those of TensorFlow 1.3.0. Scotch and MinCut (the median of --seeds seeds) and the
human expert place each task of HDP's Table 1 and ColocRL's Table 2, told Placeto's links;
these placements stay. They are simulated with every latency and bandwidth of the grid below, under
every rule. A hypothesis is a rule and a part of the grid. Its constants are the point where HDP's
cells that need several devices come nearest to what was published: mean |ln ours/published|.
ColocRL's cells are held out. Intervals of the constants: the middle 80 % of those of --resamples
fits, each to cells drawn with replacement.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from suite.bench.cell import Cell
from suite.bench.load_problem import make_problem
from suite.bench.made_by import code_of_modules
from suite.bench.provenance import provenance
from suite.bench.record import FORMAT, Record, write_record
from suite.core.arrays import Bools, Ints
from suite.core.machine import Link
from suite.core.paths import MACHINES
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.report.load_records import load_published
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

PAPERS = {"HDP": ("1", "k40"), "ColocRL": ("2", "k80")}
"""Paper -> its table, and the machine with the links that Placeto's authors found."""
FITTED = "HDP"
CHOSEN = "both"
"""The hypothesis whose constants the machines take: among those that HDP's cells cannot tell apart,
the one that changes least of Placeto's links."""
PARTITIONERS = ("scotch", "mincut")
PLACERS = ("cpu_only", "gpu_only", "human_expert", *PARTITIONERS)
LATENCIES = (2.5e-5, 1e-4, 2.5e-4, 5e-4, 7e-4, 1e-3, 1.5e-3, 2e-3, 3e-3, 4e-3, 8e-3, 1.6e-2)
"""Seconds per transfer; the first is that of machines k40 and k80."""
BANDWIDTHS = (7.6e9, 4e9, 2e9, 1e9, 7e8, 5e8, 3.5e8, 2.5e8, 1.2e8)
"""Bytes per second; likewise."""


@dataclass(frozen=True)
class Rule:
    """Which channels a transfer occupies, whether its ends compute, what is on the CPU."""

    channel: str
    blocking: bool = False
    """Whether sender and receiver compute nothing for the latency and while bytes are copied."""
    on_cpu: str | None = None
    """Variables of a name that this pattern finds are on the CPU, where several devices work."""

    def link(self, latency: float, bandwidth: float) -> Link:
        """The one link of a machine."""
        link = Link(bandwidth, latency, self.channel)
        if not self.blocking:
            return link
        return replace(
            link, send_overhead=latency, receive_overhead=latency, copy_bandwidth=bandwidth
        )


ENGINES, SHARED = Rule("copy-engines"), Rule("shared")
FREE, KEPT = slice(None), slice(0, 1)
HYPOTHESES: dict[str, tuple[Rule, slice, slice]] = {
    "Placeto's": (ENGINES, KEPT, KEPT),
    "latency": (ENGINES, FREE, KEPT),
    "latency, one shared channel": (SHARED, FREE, KEPT),
    "bandwidth": (ENGINES, KEPT, FREE),
    "bandwidth, one shared channel": (SHARED, KEPT, FREE),
    "both": (ENGINES, FREE, FREE),
    "both, one shared channel": (SHARED, FREE, FREE),
    "both, blocking": (replace(ENGINES, blocking=True), FREE, FREE),
    "both, one shared channel, blocking": (replace(SHARED, blocking=True), FREE, FREE),
    "both, one shared channel, embeddings on the CPU": (
        replace(SHARED, on_cpu="embedding$"),
        FREE,
        FREE,
    ),
    "both, one shared channel, variables on the CPU": (replace(SHARED, on_cpu="."), FREE, FREE),
}
"""Name -> rule, latencies and bandwidths that it may choose from."""


@dataclass(frozen=True)
class Published:
    """A published number of seconds, the problem behind it and our placements."""

    paper: str
    task: str
    gpus: int
    placer: str
    seconds: float
    """NaN where the paper gives none."""
    problem: Problem
    placements: NDArray[np.int32]
    """int32[seeds, ops]."""

    @property
    def several(self) -> bool:
        """Whether it needs several devices: partitioners, and experts that use several GPUs."""
        return self.placer in PARTITIONERS or len({*np.unique(self.placements[0])} - {0}) > 1

    def simulated(self, rule: Rule, latency: float, bandwidth: float) -> tuple[float, bool]:
        """Median step time over seeds in seconds, and whether most placements fit in memory."""
        machine = replace(self.problem.machine, links=(rule.link(latency, bandwidth),))
        placements = self.placements
        if rule.on_cpu is not None and self.several:
            moved = _classes(self.problem, rule.on_cpu)[self.problem.graph.colocation]
            placements = np.where(moved, 0, placements).astype(np.int32)
        scores = Simulator(replace(self.problem, machine=machine)).batch(placements)
        return float(np.median(scores.step_time)), float(np.median(scores.oom)) < 1


def _classes(problem: Problem, pattern: str) -> Bools:
    """bool[n_classes]: those with a variable whose name the pattern finds."""
    graph = problem.graph
    found = np.zeros(graph.n_classes, np.bool_)
    held = np.flatnonzero(graph.persistent_bytes)
    named = [i for i in held if re.search(pattern, graph.op_names[i])]
    found[graph.colocation[named]] = True
    return found


def published(paper: str, seeds: int) -> Iterator[Published]:
    """The cells of a paper's table that do not learn, with our placements."""
    table, machine = PAPERS[paper]
    numbers = load_published()
    printed = numbers[(numbers["paper"] == paper) & (numbers["table"] == table)]
    rows = printed[printed["gpus"] > 0][["task", "gpus"]].drop_duplicates()
    for task, gpus in rows.itertuples(index=False):
        problem = make_problem(f"{task}_tf13", f"{machine}_tf13", int(gpus))
        told = replace(problem, machine=replace(problem.machine, links=load_machine(machine).links))
        of_row = printed[(printed["task"] == task) & printed["gpus"].isin([0, gpus])]
        for placer in PLACERS:
            seconds = float(of_row[of_row["column"] == placer]["value"].iloc[0])
            n = seeds if placer in PARTITIONERS else 1
            placements = np.stack([_place(told, placer, seed) for seed in range(n)])
            yield Published(paper, str(task), int(gpus), placer, seconds, problem, placements)


def _place(problem: Problem, placer: str, seed: int) -> Ints:
    search = Search(problem, Simulator(problem), seed)
    return make_placer(placer, {}).place(problem, search).devices


Times = dict[Rule, NDArray[np.float64]]
"""float64[cells, latencies, bandwidths] of each rule: seconds."""


def simulate(cells: list[Published]) -> tuple[Times, dict[Rule, NDArray[np.bool_]]]:
    """Every cell at every point that a hypothesis may choose: seconds, and whether it fits."""
    shape = (len(cells), len(LATENCIES), len(BANDWIDTHS))
    rules = dict.fromkeys(rule for rule, _, _ in HYPOTHESES.values())
    times = {rule: np.full(shape, np.nan) for rule in rules}
    fits = {rule: np.zeros(shape, np.bool_) for rule in rules}
    for number, cell in enumerate(cells):
        for rule in rules:
            for i, j in product(range(shape[1]), range(shape[2])) if cell.several else [(0, 0)]:
                if any(_may(h, rule, i, j) for h in HYPOTHESES):
                    where = number, i, j
                    times[rule][where], fits[rule][where] = cell.simulated(
                        rule, LATENCIES[i], BANDWIDTHS[j]
                    )
            if not cell.several:
                times[rule][number], fits[rule][number] = (
                    times[rule][number, 0, 0],
                    fits[rule][number, 0, 0],
                )
        print(f"{cell.paper} {cell.task} {cell.gpus} GPUs {cell.placer}", flush=True)
    return times, fits


def _may(name: str, rule: Rule, i: int, j: int) -> bool:
    """Whether a hypothesis may choose the point (i, j) of a rule."""
    own, latencies, bandwidths = HYPOTHESES[name]
    return (
        own == rule
        and i in range(*latencies.indices(len(LATENCIES)))
        and j in range(*bandwidths.indices(len(BANDWIDTHS)))
    )


def fit(name: str, errors: NDArray[np.float64]) -> tuple[int, int]:
    """The point of least mean error, float64[cells, latencies, bandwidths], for a hypothesis."""
    _, latencies, bandwidths = HYPOTHESES[name]
    mean = errors.mean(axis=0)
    allowed = np.full(mean.shape, np.inf)
    allowed[latencies, bandwidths] = mean[latencies, bandwidths]
    i, j = np.unravel_index(np.argmin(allowed), allowed.shape)
    return int(i), int(j)


def intervals(
    name: str, errors: NDArray[np.float64], resamples: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Latencies in seconds and bandwidths in bytes per second: middle 80 % of fits to resamples."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(errors), size=(resamples, len(errors)))
    points = np.array([fit(name, errors[draw]) for draw in draws])
    found = (np.array(LATENCIES)[points[:, 0]], np.array(BANDWIDTHS)[points[:, 1]])
    low, high = zip(*(np.quantile(v, [0.1, 0.9], method="nearest") for v in found), strict=True)
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


def write_links(latency: float, bandwidth: float, channel: str) -> None:
    """Put the constants into the TOML files of the machines."""
    for _, machine in PAPERS.values():
        path = MACHINES / f"{machine}_tf13.toml"
        text = path.read_text(encoding="utf-8").partition("[[link]]")[0]
        link = f'bandwidth = {bandwidth:g}\nlatency = {latency:g}\nchannel = "{channel}"\n'
        path.write_text(f"{text}[[link]]\n{link}", encoding="utf-8")
        print(f"wrote {path}")


def main() -> None:
    """Fit every hypothesis; print constants, and errors where fitted and where held out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="of each partitioner (default: 3)")
    parser.add_argument("--resamples", type=int, default=1000, help="default: 1000")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--write", action="store_true", help="write records and machines")
    arguments = parser.parse_args()
    cells = [cell for paper in PAPERS for cell in published(paper, arguments.seeds)]
    times, fits = simulate(cells)
    several = np.array([cell.several for cell in cells])
    fitted = several & np.array([cell.paper == FITTED for cell in cells])
    theirs = np.array([cell.seconds for cell in cells])[:, None, None]
    notes: list[Record] = [{} for _ in cells]
    for name, (rule, _, _) in HYPOTHESES.items():
        errors = np.abs(np.log(times[rule] / theirs))
        i, j = fit(name, errors[fitted])
        latencies, bandwidths = intervals(name, errors[fitted], arguments.resamples)
        constants = {
            "channel": rule.channel,
            "blocking": rule.blocking,
            "latency": LATENCIES[i],
            "latency_interval": latencies,
            "bandwidth": BANDWIDTHS[j],
            "bandwidth_interval": bandwidths,
        }
        for number, note in enumerate(notes):
            where = number, i, j
            ours = {"step_time": times[rule][where], "fits": bool(fits[rule][where])}
            note[name] = {**constants, **ours, "several": bool(several[number])}
        held_out = several & ~fitted
        means = (np.exp(errors[part, i, j].mean()) for part in (fitted, held_out))
        print(
            f"{name}: {LATENCIES[i]:g} s {latencies}, {BANDWIDTHS[j]:g} B/s {bandwidths};"
            f" error, fitted and held out: x{', x'.join(f'{mean:.2f}' for mean in means)}"
        )
        if arguments.write and name == CHOSEN:
            write_links(LATENCIES[i], BANDWIDTHS[j], rule.channel)
    if arguments.write:
        code = code_of_modules(Path(__file__).stem)
        for cell, note in zip(cells, notes, strict=True):
            write(cell, note, code, arguments.results)


def write(cell: Published, note: Record, code: Record, results: Path) -> None:
    """Write the record of a cell: its seconds under every hypothesis are among its ``planner``."""
    machine = f"{PAPERS[cell.paper][1]}_tf13"
    key = Cell("hypotheses", machine, cell.gpus, f"{cell.task}_tf13", cell.placer, 0)
    record = {
        "format": FORMAT,
        "cell": key.as_dict(),
        "status": "ok",
        "planner": note,
        "code": code,
        "provenance": provenance(),
    }
    write_record(record, None, key.path(results))


if __name__ == "__main__":
    main()
