"""placebench simulate: judge one placement."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from suite.commands._checks import refuse
from suite.commands._common import (
    MODELS,
    Subparsers,
    about,
    add_placement,
    add_problem_arguments,
    command,
    new_file,
    problem_of,
)
from suite.commands._placer import add_placer_arguments, placer_of, telling_failures
from suite.commands._verdict import as_json, as_text
from suite.commands._why import why_json, why_text
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.core.placement import Placement
    from suite.core.problem import Problem
    from suite.search.placer import Placer
    from suite.simulator.semantics import Semantics


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "simulate",
        "Simulate one training step under a placement.",
        "  placebench simulate --graph g.json --machine m.toml --placement p.json --json\n"
        "  placebench simulate nmt_4 --placer human_expert --trace trace.json\n"
        "  placebench simulate nmt_4 --placer metis --why\n"
        "  placebench simulate net.keras --machine workstation --placement net.json\n" + MODELS,
    )
    add_problem_arguments(parser)
    add_placement(parser)
    add_placer_arguments(parser, "in place of --placement")
    parser.set_defaults(seed=None)  # so that a seed is told from none
    parser.add_argument(
        "--policy",
        help="order of ready operations: fifo, priority, stack (default: the machine's)",
    )
    parser.add_argument(
        "--semantics",
        metavar="NAME",
        help="rules (docs/simulator.md): placebench, a peer's (placeto, baechi, grappler) or hetero"
        " (default: the machine's)",
    )
    parser.add_argument("--trace", type=new_file, metavar="FILE", help="write a Perfetto trace")
    parser.add_argument(
        "--why",
        action="store_true",
        help="say what the step waited for, and what a faster device or link would bring",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the verdict; write the trace if asked."""
    if (arguments.placement is None) == (arguments.placer is None):
        raise InputError("give one of --placement FILE and --placer NAME")
    if arguments.placement is not None:
        why = "is for a placer; leave it out, or give --placer NAME"
        refuse(arguments, ("set", "seed", "evaluations", "seconds"), why)
    from suite.core.compile_time import COMPILE_TIME, FIRST_USE
    from suite.formats.json_file import write_json
    from suite.simulator.judges import own_semantics
    from suite.simulator.result import check_policy
    from suite.simulator.semantics import preset
    from suite.simulator.timeline import timeline

    asked = None if arguments.semantics is None else preset(arguments.semantics)
    placer = None if arguments.placer is None else placer_of(arguments)
    loaded, problem = problem_of(arguments)
    semantics = asked or own_semantics(problem.machine)
    if arguments.policy is not None:
        check_policy(arguments.policy, semantics)

    COMPILE_TIME.announce(FIRST_USE)
    placement = _placement(arguments, problem, placer, semantics)
    line = timeline(problem, placement.devices, arguments.policy, semantics)
    if arguments.trace:
        write_json(line.to_chrome(), arguments.trace)
    verdict = as_json(problem, line.result, semantics)
    if arguments.why:
        verdict["why"] = why_json(line, semantics, arguments.policy)
    if arguments.json:
        print(json.dumps(verdict, indent=1))
    else:
        print(f"{about(loaded, problem)}\n{as_text(problem, verdict)}")
        if arguments.why:
            print(why_text(verdict["why"], verdict["step_time"], semantics))
    return 0


def _placement(
    arguments: argparse.Namespace, problem: Problem, placer: Placer | None, semantics: Semantics
) -> Placement:
    from suite.bench.ask import ask
    from suite.formats.interchange import read_placement
    from suite.search.placer import Search
    from suite.simulator.judges import make_simulator

    if placer is None:
        return read_placement(arguments.placement, problem)
    judge = make_simulator(problem, semantics, arguments.policy)
    budget = arguments.evaluations, arguments.seconds
    search = Search(problem, judge, arguments.seed or 0, *budget)
    with telling_failures(arguments.placer, placer):
        return ask(placer, problem, search)
