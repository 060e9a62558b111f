"""What HDP's own cells say of the links: a machine must allow what the paper's planner found on it.

The links of `k40_tf13` are fitted to placements of partitioners and experts. HDP's planner found
faster ones, on the same machine. So under a true hypothesis about the links there is a placement
at least as fast as each of HDP's cells. Here annealing, with as many placements as the paper's
planner, looks for it under every hypothesis of reports/hypotheses.md, with its fitted constants.

    python benchmarks/best_found.py [TASK ...]

Writes benchmarks/best_found.md.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from suite.bench.load_problem import make_problem
from suite.core.machine import Link
from suite.core.problem import Problem
from suite.report.load_records import load_published
from suite.search.placer import Search
from suite.search.registry import make_placer, task
from suite.simulator.compiled.judge import Simulator

TASKS = ("nmt_2", "nmt_4")
EVALUATIONS = 4000
RECORDS = Path(__file__).parents[1] / "results/hypotheses/k40_tf13"


def hypotheses() -> dict[str, Link]:
    """Name -> the fitted link; without those that put variables on the CPU."""
    record = json.loads(next(iter(sorted(RECORDS.rglob("*.json")))).read_text(encoding="utf-8"))
    known = {}
    for name, fitted in record["planner"].items():
        if "CPU" in name:
            continue
        link = Link(fitted["bandwidth"], fitted["latency"], fitted["channel"])
        if fitted["blocking"]:
            link = replace(
                link,
                send_overhead=fitted["latency"],
                receive_overhead=fitted["latency"],
                copy_bandwidth=fitted["bandwidth"],
            )
        known[name] = link
    return known


def found(problem: Problem) -> float:
    """Seconds of annealing's placement."""
    search = Search(problem, Simulator(problem), 0, max_evaluations=EVALUATIONS)
    make_placer("annealing", {}).place(problem, search)
    return search.best_time


def main() -> None:
    """Search, and write the page."""
    names = sys.argv[1:] or TASKS
    printed = load_published()
    printed = printed[(printed["paper"] == "HDP") & (printed["table"] == "1")]
    theirs = printed[printed["column"] == "hdp"].set_index("task")["value"]
    rows = []
    for hypothesis, link in hypotheses().items():
        cells = []
        for name in names:
            problem = make_problem(f"{name}_tf13", "k40_tf13", task(f"{name}_tf13").gpus)
            machine = replace(problem.machine, links=(link,))
            seconds = found(replace(problem, machine=machine))
            cells.append(f"{seconds:.2f} (x{seconds / theirs[name]:.2f})")
        constants = f"{1e3 * link.latency:g} | {link.bandwidth / 1e9:g}"
        rows.append(f"| {hypothesis} | {constants} | {' | '.join(cells)} |")
        print(rows[-1], file=sys.stderr, flush=True)
    heads = " | ".join(f"{name}_tf13, s (/ HDP's {theirs[name]:g})" for name in names)
    lines = [
        "# The fastest placement under each hypothesis about the links",
        "",
        f"`python benchmarks/best_found.py {' '.join(names)}`: annealing, one seed,"
        f" {EVALUATIONS:,} evaluated placements; in brackets the ratio to the time of HDP's own"
        " placement, which on a true machine is at most 1 for a perfect search.",
        "",
        f"| hypothesis | latency, ms | bandwidth, GB/s | {heads} |",
        "|---" * (3 + len(names)) + "|",
        *rows,
    ]
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
