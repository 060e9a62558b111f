"""placebench place: place one model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from suite.commands._common import (
    add_placer_arguments,
    add_problem_arguments,
    command,
    problem_of,
)


def add(parsers: Any) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "place",
        "Place a model, print how good the placement is, and write it.",
        "  placebench place nmt_2 --placer scotch --output nmt_2.json\n"
        "  placebench place g.json --machine m.toml --placer best_of_random --set k=500",
    )
    add_problem_arguments(parser)
    add_placer_arguments(parser, required=True)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the placement as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Place, judge, compare with one GPU and with the bound."""
    from suite.bounds import lower_bound
    from suite.commands.simulate import as_json, as_text, place
    from suite.interchange import write_placement
    from suite.placer import Search
    from suite.registry import make_placer
    from suite.simulator.step import Simulator

    problem = problem_of(arguments)
    simulator = Simulator(problem)
    placement = place(arguments, problem)
    print(as_text(problem, as_json(problem, simulator.run(placement.devices))))
    bound = lower_bound(problem)
    print(f"{'no placement is faster than':34} {bound.seconds:.6f} s ({bound.kind})")
    for name in ("cpu_only", "gpu_only") if problem.machine.gpus else ("cpu_only",):
        other = make_placer(name, {}).place(problem, Search(problem, simulator))
        result = simulator.run(other.devices)
        full = ", out of memory" if result.oom.any() else ""
        print(f"{name:34} {result.step_time:.6f} s{full}")
    if arguments.output:
        write_placement(placement, problem, arguments.output)
        print(f"wrote {arguments.output}")
    return 0
