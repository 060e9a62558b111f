"""What the steps of recorded placements wait for.

    python benchmarks/critical_paths.py results/race results/strong > benchmarks/critical_paths.md

Goes back through the simulated step of each recorded placement, from its end to the input that came
last, as ``placebench simulate --why`` does. Prints a Markdown table for each task, on as many GPUs
as it is meant for: the shares of the step that its critical path computes, sends and waits, and
what the step would be if transfers took no time. Of several seeds the fastest. A placer that stands
in several folders is taken from the first.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from times_off import placements, tasks_of

from suite.bench.what_if import faster_parts
from suite.core.arrays import Ints
from suite.core.problem import Problem
from suite.simulator.critical_path import critical_path
from suite.simulator.judges import own_semantics
from suite.simulator.timeline import timeline

FREE = "transfers that take no time"
LEAD = """\
# What the steps of placements wait for

`python benchmarks/critical_paths.py {folders}`: recorded placements, of several
seeds the fastest. The critical path goes back from the end of a step, from each operation to the
input that came last (docs/simulator.md). Its operations compute; their last inputs are under way,
or wait behind other transfers (behind them); or they wait behind other operations of their device.
Last: by how much the step would change if transfers took no time."""
HEAD = """
| placer | step (s) | computes | in transfers | behind them | behind operations | free transfers |
|---|---|---|---|---|---|---|"""


def row(problem: Problem, placer: str, devices: Ints) -> tuple[float, str]:
    """Seconds of the step, and the line of the table."""
    rules = own_semantics(problem.machine)
    line = timeline(problem, devices, semantics=rules)
    path, step = critical_path(line, rules), line.result.nanoseconds
    parts = path.computing, path.sending, path.behind_transfers, path.behind_operations
    shares = [f"{sum(part.values()) / step:.0%}" for part in parts]
    free = {one.change: one.step_time for one in faster_parts(problem, devices, rules)}.get(FREE)
    change = "-" if free is None else f"{free * 1e9 / step - 1:+.0%}"
    return step / 1e9, f"| {placer} | {step / 1e9:.3f} | {' | '.join(shares)} | {change} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    folders = parser.parse_args().folders
    print(LEAD.format(folders=" ".join(map(str, folders))))
    for name in tasks_of(folders):
        problem, found = placements(folders, name)
        print(f"\n## {name}, {len(problem.machine.gpus)} GPUs\n{HEAD}")
        fastest = (min(row(problem, placer, of) for of in some) for placer, some in found.items())
        for _, text in sorted(fastest):
            print(text)


if __name__ == "__main__":
    main()
