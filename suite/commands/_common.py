"""Arguments and look-ups that several subcommands share."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from suite.core.errors import InputError
from suite.formats.schema import LONGEST, LONGEST_DAYS

if TYPE_CHECKING:
    from suite.capture.load_model import Loaded
    from suite.capture.options import Options
    from suite.core.machine import Machine
    from suite.core.problem import Problem

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What subcommands are added to; argparse has no public name for it."""

RESULTS = Path("results")
"""Where records go, and are looked for, unless another folder is named."""
TASKS_MACHINE = "k40"
"""On which tasks are placed unless another machine is named: HDP's."""
MODELS = """
MODEL is one of
  nmt_4                     a task (placebench list)
  g.json, g.npz             a graph file (docs/formats.md)
  my_package.net:step       a tf.function with an input_signature, or a function without arguments
                            that returns one, or (tf.function, [tf.TensorSpec, ...]), or a Keras
                            model, or for inference a model of OpenVINO's or PyTorch's; from this
                            folder or installed
  net.keras, net.h5         a Keras model: one training step of it, as compiled
  saved/                    a SavedModel's folder: a call of one of its signatures
  net.pb, .pbtxt, .pb.gz    a GraphDef, frozen or with variables
  model.ckpt-99.meta        a MetaGraph, as TensorFlow 1 writes it beside a checkpoint
  net.onnx, net.xml         an inference, as OpenVINO reads it (docs/openvino.md)
"""


def counted(outcomes: Iterable[tuple[Path, str]], *known: str) -> Counter[str]:
    """Count the ``known`` outcomes of records; every other is a reason, printed and ``left``."""
    counts: Counter[str] = Counter()
    for path, outcome in outcomes:
        if outcome not in known:
            # What is wrong with a file names it.
            print(outcome if outcome.startswith(str(path)) else f"{path}: {outcome}")
        counts[outcome if outcome in known else "left"] += 1
    return counts


def command(parsers: Subparsers, name: str, summary: str, examples: str) -> argparse.ArgumentParser:
    """Add a subcommand with examples below its help."""
    return parsers.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def count(text: str) -> int:
    """Read a whole number >= 0 from the command line."""
    return _whole(text, 0)


def positive(text: str) -> int:
    """Read a whole number >= 1 from the command line."""
    return _whole(text, 1)


def several(text: str) -> int:
    """Read a whole number >= 2 from the command line."""
    return _whole(text, 2)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number >= {least}")
    return value


def new_file(text: str) -> Path:
    """Read a path that a file can be written to, before anything is computed for it."""
    from suite.formats.atomic import check_can_be_made, file_to_write

    try:
        check_can_be_made(file_to_write(Path(text)))
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return Path(text)


def duration(text: str) -> float:
    """Read a number of seconds > 0, of 24 days at most, from the command line."""
    return _time(text, "seconds", 1)


def minutes(text: str) -> float:
    """Read a number of minutes > 0, of 24 days at most, from the command line."""
    return _time(text, "minutes", 60)


def _time(text: str, unit: str, worth: int) -> float:
    """A number of units that are ``worth`` so many seconds each."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of {unit} > 0")
    if value * worth > LONGEST:
        most = f"{LONGEST / worth:,.0f} {unit} ({LONGEST_DAYS} days)"
        raise argparse.ArgumentTypeError(f"{text} {unit} are too long; give {most} at most")
    return value


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """--cluster and --expose."""
    parser.add_argument("--cluster", type=Path, metavar="FILE", help="the cluster's servers (TOML)")
    parser.add_argument(
        "--expose",
        action="store_true",
        help="go on where the cluster's servers, which ask for no password, can be reached from"
        " other hosts (docs/execution.md)",
    )


def backend_of(arguments: argparse.Namespace, machine: Machine, otherwise: str) -> str:
    """The backend asked for, else the one that the machine was profiled with, else ``otherwise``.

    InputError for one that there is not, or whose servers are given and which has none.
    """
    from suite.execution.backends import check_backend

    name: str = arguments.backend or machine.backend or otherwise
    check_backend(name)
    if arguments.cluster is not None and name != "cluster":
        raise InputError("--cluster is for --backend cluster; leave it out, or name that backend")
    return name


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """MODEL or --graph, and what a model file may leave open."""
    parser.add_argument("model", nargs="?", metavar="MODEL", help="see below")
    parser.add_argument("--graph", metavar="FILE", help="graph as JSON or npz, instead of MODEL")
    add_open_arguments(parser)


def add_open_arguments(parser: argparse.ArgumentParser) -> None:
    """What a model file may leave open."""
    opened = parser.add_argument_group("for models in files")
    opened.add_argument(
        "--batch",
        type=count,
        metavar="N",
        help="batch size of inputs that leave it open and have no --input (32; of OpenVINO's models"
        " 1)",
    )
    opened.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=[TYPE:]SIZE,...",
        help="whole shape of an input (NAME= for a scalar), with its type, as in ids=int32:8,128,"
        " or its type alone, as in ids=int32, where the model does not say it",
    )
    opened.add_argument(
        "--fetch",
        action="append",
        default=[],
        metavar="NAME",
        help="operation of a GraphDef that the step runs (default: a MetaGraph's train_op, else all"
        " that nothing reads), or signature of a SavedModel (serving_default, or the only one)",
    )
    opened.add_argument(
        "--trust",
        action="store_true",
        help="run the Python code that a Keras model carries: needed for .h5 and Lambda layers",
    )


def add_problem_arguments(parser: argparse.ArgumentParser) -> None:
    """MODEL (or --graph), --machine, --gpus."""
    add_model_arguments(parser)
    parser.add_argument(
        "--machine",
        help="machine name or TOML file (a task's is k40, any other model's the profiled host)",
    )
    parser.add_argument(
        "--gpus", type=count, help="use the first N GPUs (default: the task's, else all)"
    )


def add_placement(parser: argparse.ArgumentParser, required: bool = False) -> None:
    """--placement, which :func:`suite.formats.interchange.read_placement` reads."""
    parser.add_argument(
        "--placement",
        type=Path,
        required=required,
        metavar="FILE",
        help="placement as JSON or npz, or a record",
    )


def model_of(arguments: argparse.Namespace, folder: Path | None = None) -> Loaded:
    """Load the model that the arguments name; InputError says what is missing or wrong.

    ``folder`` is where the GraphDef of a capture that is not cached is kept.
    """
    from suite.capture.load_model import check_options, load, load_file

    _check_one_model(arguments)
    if arguments.graph is not None:
        check_options(arguments.graph, "graph", options_of(arguments))
        return load_file(Path(arguments.graph))
    return load(arguments.model, options_of(arguments), folder)


def _check_one_model(arguments: argparse.Namespace) -> None:
    if (arguments.model is None) == (arguments.graph is None):
        raise InputError("name one model: a task, a file, package.module:function, or --graph FILE")


def options_of(arguments: argparse.Namespace) -> Options:
    """What the arguments say of a model that leaves something open."""
    from suite.capture.options import Options

    shapes, types = {}, {}
    for text in arguments.input:
        said = re.fullmatch(r"([^=]+)=(?:([a-z]\w*)(:|$))?(-?\d+(?:,-?\d+)*)?", text)
        if said is None:
            raise InputError(
                f"--input {text}: write NAME=SIZE,SIZE,... with whole numbers, NAME=TYPE:SIZE,..."
                " or NAME=TYPE"
            )
        name, dtype, colon, sizes = said.groups()
        if dtype:
            types[name] = dtype
        if colon or not dtype:
            shapes[name] = tuple(map(int, sizes.split(","))) if sizes else ()
    return Options(arguments.batch, shapes, types, tuple(arguments.fetch), arguments.trust)


def machine_of(arguments: argparse.Namespace) -> Machine:
    """Load the machine that is named, or the usual one of the model, with the GPUs asked for.

    That is before the model is captured, which may take minutes. InputError for a file that names a
    backend that there is not, although none is needed yet.
    """
    from suite.execution.backends import check_backend
    from suite.formats.machine_toml import load_machine

    name = machine_name(arguments)
    machine = load_machine(name)
    if machine.backend:
        check_backend(machine.backend, f"{name}: ")
    return machine if arguments.gpus is None else machine.with_gpus(arguments.gpus)


def problem_of(arguments: argparse.Namespace, folder: Path | None = None) -> tuple[Loaded, Problem]:
    """Build the problem that the arguments name; InputError says what is missing or unknown.

    ``folder`` is where the GraphDef of a capture that is not cached is kept.
    """
    from suite.bench.load_problem import expert, rule_of
    from suite.core.problem import Problem
    from suite.formats.measured_costs import as_measured, times_name, with_op_times
    from suite.search.registry import task

    machine = machine_of(arguments)
    loaded = model_of(arguments, folder)
    graph = with_op_times(loaded.graph, machine, times_name(loaded.graph, loaded.task))
    machine = as_measured(machine, graph)
    if loaded.task is None:
        return loaded, Problem.create(graph, machine)
    if arguments.gpus is None:
        machine = machine.with_gpus(min(task(loaded.task).gpus, len(machine.gpus)))
    experts = expert(graph, machine, loaded.task)
    return loaded, Problem.create(graph, machine, experts, rule_of(loaded.task))


def machine_name(arguments: argparse.Namespace) -> str:
    """The name or file of the machine that is named, or of the usual one of the model.

    That is HDP's for a task, this host for other models; InputError if it has not one profile.
    """
    from suite.capture.load_model import kind_of
    from suite.formats.machine_toml import known_machines, known_profiles

    _check_one_model(arguments)
    if arguments.machine is not None:
        return str(arguments.machine)
    if arguments.model is not None and kind_of(arguments.model) == "task":
        return TASKS_MACHINE
    profiles = known_profiles()
    if len(profiles) == 1:
        return profiles[0]
    raise InputError(
        f"{arguments.model or arguments.graph} is no task of a paper: say for which machine,"
        f" --machine NAME with one of {', '.join(known_machines())}; or profile this host"
        " (placebench profile NAME)"
    )


def about(loaded: Loaded, problem: Problem) -> str:
    """The model and the machine in words, with all that was chosen for the user."""
    graph, machine = loaded.graph, problem.machine
    lines = [f"model      {loaded.origin}: {graph.n_ops:,} operations"]
    if loaded.task is None:
        lines += [f"chosen     {choice}" for choice in graph.metadata.get("choices", ())]
    devices = f"{len(machine.cpus)} CPU, {len(machine.gpus)} GPU"
    lines.append(f"machine    {machine.name}: {devices}")
    if problem.graph is not graph:  # it was given the machine's times
        lines.append("times      of its operations: measured there")
    elif machine.op_times is not None:
        lines.append(
            "times      of its operations: from the machine's figures;"
            " placebench profile --task MODEL measures them"
        )
    return "\n".join(lines)
