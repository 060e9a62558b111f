"""Which links agree with HDP's Table 2: how fast random groupings can be under either kind.

HDP's Table 2 gives the step time of a Placer trained on random groupings: 256 groups, the group of
each operation drawn uniformly. Here a local search, which needs no training and evaluates about as
many placements as the paper's 4,000, looks for the fastest placement of such groups that fits in
memory, under Placeto's links (`k40`) and under those fitted to the baselines of HDP's
Table 1 (`k40_tf13`).

    python benchmarks/random_groupings.py [GROUPINGS [TASK ...]]

Writes benchmarks/random_groupings.md.
"""

from __future__ import annotations

import sys

import numpy as np
from page import write_page

from planners.features.class_graph import ClassGraph
from planners.policy_gradient.rewards import overload
from suite.bench.load_problem import make_problem
from suite.core.arrays import Floats, Ints
from suite.report.hdp import TF13, printed_table
from suite.report.load_records import load_published
from suite.report.table import Section
from suite.search.registry import task
from suite.simulator.compiled.judge import Simulator

TASKS = ["nmt_2_tf13"]
"""Which are searched unless others are named: four layers take five times as long."""
MACHINES = ("k40", "k40_tf13")
GROUPS = 256
SWEEPS = 3
"""How often each start tries every group on every other device, at most."""
MISSING = 100.0
"""Seconds that memory costs which is missing, as a multiple of the device's: the way from one full
GPU to a placement that fits must not go uphill."""


class Groups:
    """Placements of one random grouping, and what they cost."""

    def __init__(self, task_name: str, machine: str) -> None:
        """Prepare the problem's simulator."""
        self.problem = make_problem(task_name, machine, task(task_name).gpus)
        self.graph, self.judge = ClassGraph(self.problem), Simulator(self.problem)
        self.evaluated = 0

    def draw(self, seed: int) -> None:
        """Draw a grouping."""
        self.rng = np.random.default_rng(seed)
        self.grouping = self.rng.integers(0, GROUPS, self.graph.count)

    def cost(self, devices: Ints, limit: float = np.inf) -> tuple[Floats, Floats]:
        """(cost, seconds or infinite where it does not fit) of int[batch, groups].

        Both are infinite where a step takes longer than ``limit``: it need not be simulated to the
        end to see that it is no better.
        """
        self.evaluated += len(devices)
        placed = self.graph.placed(devices[:, self.grouping])
        scores = self.judge.within(placed, np.full(len(devices), limit))
        cost = scores.step_time + MISSING * overload(scores, self.problem.machine.memory)
        return cost, np.where(scores.oom, np.inf, scores.step_time)

    def best_from(self, start: Ints) -> float:
        """The fastest placement that fits on a descent from ``start``, in seconds."""
        current = start.copy()
        [cost], [best] = self.cost(current[None])
        for _ in range(SWEEPS):
            before = cost
            for group in self.rng.permutation(GROUPS):
                others = np.delete(np.arange(self.graph.devices), current[group])
                tried = np.repeat(current[None], len(others), axis=0)
                tried[:, group] = others
                costs, seconds = self.cost(tried, cost)
                best = min(best, float(seconds.min()))
                if costs.min() < cost:
                    cost, current = float(costs.min()), tried[int(costs.argmin())]
            if cost == before:
                break
        return float(best)

    def best(self) -> float:
        """The fastest from all on the CPU, all on a GPU, and a random mix, in seconds."""
        cpu, gpu, *_ = range(self.graph.devices)
        mixed = self.rng.integers(0, self.graph.devices, GROUPS)
        return min(self.best_from(s) for s in (np.full(GROUPS, cpu), np.full(GROUPS, gpu), mixed))


def published(name: str) -> tuple[float, ...]:
    """Best, median and worst of the paper's ten groupings, in seconds."""
    printed = printed_table(load_published(), "2", TF13)
    mine = printed[printed["task"] == name].set_index("column")["value"]
    return tuple(float(mine[which]) for which in ("best", "median", "worst"))


def shown(seconds: tuple[float, ...]) -> str:
    """Best, median and worst as a cell."""
    return " / ".join(f"{value:.2f}" for value in seconds)


def main() -> None:
    """Search, and write the page."""
    groupings = int(sys.argv[1]) if sys.argv[1:] else 4
    rows = []
    for name in sys.argv[2:] or TASKS:
        cells = []
        for machine in MACHINES:
            groups, found = Groups(name, machine), []
            for seed in range(groupings):
                groups.draw(seed)
                found.append(groups.best())
            cells.append(shown((min(found), float(np.median(found)), max(found))))
            cells.append(f"{groups.evaluated // groupings:,}")
            print(name, machine, *cells[-2:], file=sys.stderr, flush=True)
        rows.append((name, shown(published(name)), *cells))
    heads = [head for machine in MACHINES for head in (f"{machine}, s", "placements each")]
    lead = (
        f"`python benchmarks/random_groupings.py {groupings}`: best / median / worst of {groupings}"
        f" random groupings into {GROUPS} groups; a local search over the groups' devices, not a"
        " learned Placer."
    )
    title = "Random groupings under either kind of links"
    write_page(__file__, Section(title, ("task", "published, s", *heads), tuple(rows), lead))


if __name__ == "__main__":
    main()
