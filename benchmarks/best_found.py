"""What HDP's own cells say of the links: a machine must allow what the paper's planner found on it.

The links of `k40_tf13` are fitted to placements of partitioners and experts. HDP's planner found
faster ones, on the same machine. So under a true hypothesis about the links there is a placement
at least as fast as each of HDP's cells. Here annealing, with as many placements as the paper's
planner, looks for it under every hypothesis of reports/hypotheses.md, with its fitted constants.

    python benchmarks/best_found.py [TASK ...]

Writes benchmarks/best_found.md.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from fit_links import HYPOTHESES
from page import write_page

from suite.bench.load_problem import make_problem
from suite.bench.record import read_record, records_below
from suite.core.machine import Link
from suite.core.problem import Problem
from suite.report.hdp import TF13, printed_table
from suite.report.load_records import load_published
from suite.report.table import Section
from suite.search.placer import Search
from suite.search.registry import make_placer, task
from suite.simulator.compiled.judge import Simulator

TASKS = ("nmt_2_tf13", "nmt_4_tf13")
EVALUATIONS = 4000
RECORDS = Path(__file__).parents[1] / "results/hypotheses/k40_tf13"


def hypotheses() -> dict[str, Link]:
    """Name -> the fitted link; without those that put variables on the CPU."""
    fitted = read_record(records_below(RECORDS)[0])["planner"]
    return {
        name: rule.link(fitted[name]["latency"], fitted[name]["bandwidth"])
        for name, (rule, *_) in HYPOTHESES.items()
        if rule.on_cpu is None
    }


def found(problem: Problem) -> float:
    """Seconds of annealing's placement."""
    search = Search(problem, Simulator(problem), 0, max_evaluations=EVALUATIONS)
    make_placer("annealing", {}).place(problem, search)
    return search.best_time


def main() -> None:
    """Search, and write the page."""
    names = sys.argv[1:] or TASKS
    printed = printed_table(load_published(), "1", TF13)
    theirs = printed[printed["column"] == "hdp"].set_index("task")["value"]
    rows = []
    for hypothesis, link in hypotheses().items():
        cells = []
        for name in names:
            problem = make_problem(name, "k40_tf13", task(name).gpus)
            machine = replace(problem.machine, links=(link,))
            seconds = found(replace(problem, machine=machine))
            cells.append(f"{seconds:.2f} (x{seconds / theirs[name]:.2f})")
        rows.append((hypothesis, f"{1e3 * link.latency:g}", f"{link.bandwidth / 1e9:g}", *cells))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    heads = (f"{name}, s (/ HDP's {theirs[name]:g})" for name in names)
    lead = (
        f"`python benchmarks/best_found.py {' '.join(names)}`: annealing, one seed,"
        f" {EVALUATIONS:,} evaluated placements; in brackets the ratio to the time of HDP's own"
        " placement, which on a true machine is at most 1 for a perfect search."
    )
    head = ("hypothesis", "latency, ms", "bandwidth, GB/s", *heads)
    title = "The fastest placement under each hypothesis about the links"
    write_page(__file__, Section(title, head, tuple(rows), lead))


if __name__ == "__main__":
    main()
