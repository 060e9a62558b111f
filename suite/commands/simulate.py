"""placebench simulate: judge one placement."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.commands._common import (
    MODELS,
    about,
    add_placer_arguments,
    add_problem_arguments,
    command,
    placer_of,
    problem_of,
)
from suite.errors import InputError
from suite.units import format_bytes

if TYPE_CHECKING:
    from suite.placement import Placement
    from suite.problem import Problem
    from suite.simulator.result import StepResult
    from suite.simulator.semantics import Semantics


def add(parsers: Any) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "simulate",
        "Simulate one training step under a placement.",
        "  placebench simulate --graph g.json --machine m.toml --placement p.json --json\n"
        "  placebench simulate nmt_4 --placer human_expert --trace trace.json\n"
        "  placebench simulate net.keras --gpus 2 --placement net.json\n" + MODELS,
    )
    add_problem_arguments(parser)
    parser.add_argument("--placement", type=Path, metavar="FILE", help="placement as JSON")
    add_placer_arguments(parser, required=False)
    parser.add_argument(
        "--policy",
        help="order of ready operations: fifo, priority, stack (default: the machine's)",
    )
    parser.add_argument(
        "--semantics",
        default="placebench",
        metavar="NAME",
        help="rules: placebench, or a peer's (docs/simulator.md): placeto, baechi, grappler",
    )
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write a Perfetto trace")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the verdict; write the trace if asked."""
    if (arguments.placement is None) == (arguments.placer is None):
        raise InputError("give one of --placement FILE and --placer NAME")
    from suite.json_file import write_json
    from suite.simulator.result import check_policy
    from suite.simulator.semantics import preset
    from suite.simulator.timeline import timeline

    semantics = preset(arguments.semantics)
    if arguments.policy is not None:
        check_policy(arguments.policy, semantics)
    placer = None if arguments.placer is None else placer_of(arguments)
    loaded, problem = problem_of(arguments)

    placement = _placement(arguments, problem, placer, semantics)
    line = timeline(problem, placement.devices, arguments.policy, semantics)
    if arguments.trace:
        write_json(line.to_chrome(), arguments.trace)
    verdict = as_json(problem, line.result, semantics)
    if arguments.json:
        print(json.dumps(verdict, indent=1))
    else:
        print(f"{about(loaded, problem)}\n{as_text(problem, verdict)}")
    return 0


def _placement(
    arguments: argparse.Namespace, problem: Problem, placer: Any, semantics: Semantics
) -> Placement:
    from suite.interchange import read_placement
    from suite.placer import Search
    from suite.simulator.step import Simulator

    if placer is None:
        return read_placement(arguments.placement, problem)
    judge = Simulator(problem, semantics=semantics)
    budget = arguments.evaluations, arguments.seconds
    search = Search(problem, judge, arguments.seed, *budget)
    answer: Placement = placer.place(problem, search)
    return answer


def as_json(
    problem: Problem, result: StepResult, semantics: Semantics | None = None
) -> dict[str, Any]:
    """The verdict with device and channel names; seconds and bytes."""
    from suite.simulator.channels import channels_of
    from suite.simulator.semantics import PLACEBENCH

    channels = channels_of(problem.machine, semantics or PLACEBENCH)[0]
    names = [d.name for d in problem.machine.devices]
    return {
        "step_time": result.step_time,
        "peak_memory": dict(zip(names, result.peak_memory.tolist(), strict=True)),
        "oom": [name for name, full in zip(names, result.oom, strict=True) if full],
        "busy": {n: b / 1e9 for n, b in zip(names, result.busy.tolist(), strict=True)},
        "moved": dict(zip(channels, result.moved.tolist(), strict=True)),
    }


def as_text(problem: Problem, verdict: dict[str, Any]) -> str:
    """The verdict for people."""
    lines = [f"step time  {verdict['step_time']:.6f} s"]
    for device in problem.machine.devices:
        peak, busy = verdict["peak_memory"][device.name], verdict["busy"][device.name]
        share = busy / verdict["step_time"] if verdict["step_time"] else 0.0
        full = "  OUT OF MEMORY" if device.name in verdict["oom"] else ""
        room = f"{format_bytes(peak)} of {format_bytes(device.memory)}"
        lines.append(f"{device.name:10} busy {share:6.1%}, peak {room}{full}")
    lines += [f"{c:20} moved {format_bytes(b)}" for c, b in verdict["moved"].items() if b]
    return "\n".join(lines)
