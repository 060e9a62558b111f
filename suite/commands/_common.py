"""Arguments and look-ups that several subcommands share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.errors import InputError

if TYPE_CHECKING:
    from suite.problem import Problem


def command(parsers: Any, name: str, summary: str, examples: str) -> argparse.ArgumentParser:
    """Add a subcommand with examples below its help."""
    added: argparse.ArgumentParser = parsers.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return added


def count(text: str) -> int:
    """Read a whole number >= 0 from the command line."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number >= 0")
    return value


def add_problem_arguments(parser: argparse.ArgumentParser) -> None:
    """MODEL (or --graph), --machine, --gpus."""
    parser.add_argument("model", nargs="?", metavar="MODEL", help="task name or graph file")
    parser.add_argument("--graph", metavar="FILE", help="graph as JSON or npz, instead of MODEL")
    parser.add_argument("--machine", default="k40", help="machine name or TOML file (k40)")
    parser.add_argument("--gpus", type=count, help="use the first N GPUs (default: the task's)")


def is_file(model: str) -> bool:
    """Whether a MODEL argument names a file rather than a task."""
    return Path(model).suffix in (".json", ".npz")


def problem_of(arguments: argparse.Namespace) -> Problem:
    """Build the problem that the arguments name; InputError says what is missing or unknown."""
    from suite.interchange import read_graph
    from suite.machine import Machine
    from suite.problem import Problem
    from suite.registry import task
    from suite.run import expert, load_task_graph

    if (arguments.model is None) == (arguments.graph is None):
        raise InputError("name one model: a task, a graph file, or --graph FILE")
    model = arguments.graph or arguments.model
    machine = Machine.load(arguments.machine)
    if arguments.graph or is_file(model):
        chosen = machine if arguments.gpus is None else machine.with_gpus(arguments.gpus)
        return Problem.create(read_graph(Path(model)), chosen)
    gpus = arguments.gpus
    if gpus is None:
        gpus = min(task(model).gpus, len(machine.gpus))
    chosen = machine.with_gpus(gpus)
    graph = load_task_graph(model, None)
    return Problem.create(graph, chosen, expert(graph, chosen, model))


def parameters_of(pairs: list[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs, values as TOML (numbers, true, "text")."""
    import tomllib

    values: dict[str, Any] = {}
    for pair in pairs:
        try:
            values |= tomllib.loads(pair)
        except tomllib.TOMLDecodeError:
            name, equals, text = pair.partition("=")
            if not equals:
                raise InputError(f"--set {pair}: write name=value") from None
            values[name.strip()] = text.strip()
    return values


def add_placer_arguments(parser: argparse.ArgumentParser, required: bool) -> None:
    """--placer, --set, --seed, --evaluations."""
    parser.add_argument("--placer", required=required, help="placer (placebench list)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="parameter of the placer"
    )
    parser.add_argument("--seed", type=count, default=0, help="random seed (0)")
    parser.add_argument("--evaluations", type=count, help="budget of evaluated placements")
