"""What a policy meets on its way from random placements to all groups on one device.

HDP starts near-uniform: 256 groups of operations, each on a device drawn at random. Learning makes
a device a favourite, and its groups move there bit by bit. This script draws placements along that
way, a new random grouping each time: a share of the groups is on the favourite, the rest anywhere
else. It tells what HDP's reward (section 4.2: minus the root of the seconds, -10 where memory is
exceeded) is on average at each point. No planner takes part, so what is shown holds for every
learner that follows the expected reward: where the curve falls, it turns back.

    python benchmarks/exploration.py [DRAWS [TASK ...]]

Writes benchmarks/exploration.md.
"""

from __future__ import annotations

import sys

import numpy as np
from page import write_page

from planners.features.class_graph import ClassGraph
from planners.hdp import HDP
from suite.bench.load_problem import make_problem
from suite.core.arrays import Floats
from suite.report.table import Section
from suite.search.registry import task
from suite.simulator.compiled.judge import Simulator

TASKS = [
    f"{name}_tf13" for name in ("inception_v3", "resnet_152", "rnnlm", "nmt_2", "nmt_4", "nmt_8")
]
MACHINES = ("k40_tf13", "k40")
SHARES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
"""Chance of a group to be on the favourite; the first column is what all devices alike gives."""


class Way:
    """Random placements of one task on one machine."""

    def __init__(self, name: str, machine: str) -> None:
        """Prepare the simulator."""
        problem = make_problem(name, machine, task(name).gpus)
        self.graph, self.judge = ClassGraph(problem), Simulator(problem)
        self.memory = problem.machine.memory

    def rewards(self, chances: Floats, draws: int) -> tuple[Floats, Floats]:
        """(reward, whether it is out of memory) of ``draws`` placements.

        ``chances``, float64[devices], is how likely a group is on each device.
        """
        settings, rng = HDP(), np.random.default_rng(0)
        found = []
        for _ in range(draws):
            grouping = rng.integers(0, settings.groups, self.graph.count)
            devices = rng.choice(len(chances), settings.groups, p=chances)
            scores = self.judge(self.graph.placed(devices[None, grouping]))
            found.append((settings.reward(scores, self.memory)[0], float(scores.oom[0])))
        rewards, failed = np.array(found).T
        return rewards, failed

    def toward(self, favourite: int, draws: int) -> list[str]:
        """Mean reward and share out of memory at each of SHARES."""
        cells = []
        for share in SHARES:
            others = (1 - share) / (self.graph.devices - 1)
            chances = np.full(self.graph.devices, others)
            chances[favourite] = share
            rewards, failed = self.rewards(chances / chances.sum(), draws)
            cells.append(shown(rewards, failed))
        return cells


def shown(rewards: Floats, failed: Floats) -> str:
    """A cell: the mean reward, and how many placements are out of memory if any are."""
    lost = f" ({failed.mean():.0%} OOM)" if failed.any() else ""
    return f"{rewards.mean():.2f}{lost}"


def main() -> None:
    """Draw, and write the page."""
    draws = int(sys.argv[1]) if sys.argv[1:] else 60
    rows = []
    for machine in MACHINES:
        for name in sys.argv[2:] or TASKS:
            way = Way(name, machine)
            devices = way.graph.devices
            start = shown(*way.rewards(np.full(devices, 1 / devices), draws))
            for label, favourite in (("CPU", 0), ("GPU 0", 1)):
                cells = [machine, name, label, start, *way.toward(favourite, draws)]
                rows.append(tuple(cells))
                print(*cells, sep=" | ", file=sys.stderr, flush=True)
    head = ("machine", "task", "favourite", "all alike", *(f"{share:.0%}" for share in SHARES))
    lead = (
        f"`python benchmarks/exploration.py {draws}`: HDP's mean reward, -sqrt(seconds) or -10 out"
        f" of memory, over {draws} random groupings into {HDP().groups} groups, each group on the"
        " favourite with the chance at the head of the column and otherwise on any other device."
    )
    grid = Section("The way from random placements to one device", head, tuple(rows), lead)
    write_page(__file__, grid)


if __name__ == "__main__":
    main()
