"""placebench graph: how large a model's graph is; the graph in a file, or coarsened by blocks."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from suite.commands._checks import refuse, same_file
from suite.commands._common import (
    MODELS,
    Subparsers,
    add_problem_arguments,
    command,
    count,
    machine_name,
    model_of,
    new_file,
    problem_of,
)
from suite.core.errors import InputError
from suite.core.units import format_bytes, format_count, format_flop

if TYPE_CHECKING:
    from suite.capture.load_model import Loaded


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "graph",
        "Print a graph's size beside the paper's, write it to a file, or coarsened by its blocks.",
        "  placebench graph nmt_8\n  placebench graph rnnlm --json > rnnlm.json\n"
        "  placebench graph large.json --output large.npz\n"
        "  placebench graph rnnlm --cpus 0 --workload rnnlm_training.json\n"
        "  placebench graph nmt_2 --gpus 4 --workload nmt_2_inference.json --inference\n"
        "  placebench graph my_package.net:step\n" + MODELS,
    )
    add_problem_arguments(parser)
    parser.add_argument("--json", action="store_true", help="write the graph as JSON to stdout")
    parser.add_argument(
        "--output",
        type=new_file,
        metavar="FILE",
        help="write the graph, as .npz or else as JSON, and the GraphDef that runs it beside it, as"
        " .pb",
    )
    parser.add_argument(
        "--workload",
        type=new_file,
        metavar="FILE",
        help="write the blocks, with times on the machine, for placebench workload"
        " (docs/workloads.md)",
    )
    parser.add_argument(
        "--inference", action="store_true", help="of --workload: the forward pass alone"
    )
    parser.add_argument(
        "--cpus", type=count, help="of --workload: CPUs that may be used (the machine's)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the facts, or the graph."""
    if arguments.workload is not None:
        return _write_workload(arguments)
    refuse(arguments, ("inference", "cpus", "gpus", "machine"), "goes with --workload FILE; add it")
    _check_output(arguments)
    with tempfile.TemporaryDirectory(prefix="placebench-") as folder:
        return _run(arguments, Path(folder))


def _check_output(arguments: argparse.Namespace) -> None:
    """Raise InputError where the GraphDef beside the graph would replace that, or the model."""
    from suite.capture.load_model import graph_def_of

    if arguments.output is None:
        return
    beside = graph_def_of(arguments.output)
    if same_file(beside, arguments.output):
        raise InputError(f"--output {beside}: give the graph a name in .npz or .json")
    if any(same_file(beside, read) for read in (arguments.model, arguments.graph) if read):
        raise InputError(
            f"{beside} would be replaced by the GraphDef that goes beside --output"
            f" {arguments.output}; give another name"
        )


def _run(arguments: argparse.Namespace, folder: Path) -> int:
    """In ``folder`` lies the GraphDef of a capture that is not cached."""
    from suite.formats.graph_json import graph_to_json
    from suite.formats.json_file import json_lines

    loaded = model_of(arguments, folder)
    if arguments.output is not None and loaded.graph_def is None:
        _check_alone(arguments.output)
    written = [] if arguments.output is None else _write(loaded, arguments.output)
    if arguments.json:
        sys.stdout.write(json_lines(graph_to_json(loaded.graph)))
        return 0
    for label, value in _facts(loaded):
        print(f"{label:34} {value}")
    for words in written:
        print(f"wrote {words}")
    return 0


def _check_alone(output: Path) -> None:
    """Raise InputError where another graph's GraphDef would be taken for what runs this one."""
    from suite.capture.load_model import graph_def_of

    if (beside := graph_def_of(output)).exists():
        raise InputError(
            f"{beside} would be taken for what runs {output}, whose model has no GraphDef; remove"
            " it, or give another name"
        )


def _write(loaded: Loaded, path: Path) -> list[str]:
    """Write a graph and beside it, where there is one, what runs it; says what was written."""
    from suite.capture.load_model import graph_def_of
    from suite.capture.packed import unpacked
    from suite.formats.atomic import atomic
    from suite.formats.interchange import write_graph

    written = [str(path)]
    if loaded.graph_def is not None:
        beside = graph_def_of(path)
        content = unpacked(loaded.graph_def)
        with atomic(beside) as temporary:
            temporary.write_bytes(content)
        written.append(f"{beside}, what runs it")
    # Last: where it is, what runs it is whole.
    write_graph(loaded.graph, path)
    return written


def _write_workload(arguments: argparse.Namespace) -> int:
    from suite.formats.json_file import write_json
    from suite.tarnawski.workload import Origin
    from suite.tarnawski.writer import document

    for name in ("json", "output"):
        if getattr(arguments, name):
            raise InputError(f"--workload writes blocks, --{name} the graph; give one of them")
    loaded, problem = problem_of(arguments)
    read = arguments.graph or arguments.model
    again = loaded.task is not None or Path(read).suffix in (".json", ".npz")
    origin = Origin(
        loaded.task or (problem.graph.name if again else ""),
        "" if loaded.task is not None else str(read),
        machine_name(arguments),
        len(problem.machine.gpus),
        arguments.inference,
        problem.fingerprint,
    )
    there = len(problem.machine.cpus)
    if arguments.cpus is not None and arguments.cpus > there:
        name, has = problem.machine.name, format_count(there, "CPU")
        raise InputError(f"machine {name} has {has}; give --cpus {there} or less")
    data = document(problem, origin, arguments.cpus)
    write_json(data, arguments.workload)
    print(
        f"wrote {arguments.workload}: {problem.graph.n_ops:,} operations in"
        f" {len({node['colorClass'] for node in data['nodes']}):,} blocks,"
        f" {len(data['nodes']):,} nodes, {len(data['edges']):,} edges;"
        f" {data['maxFPGAs']} accelerators of {data['maxSizePerFPGA'] / 1e9:.2f} GB"
    )
    return 0


def _facts(loaded: Loaded) -> list[tuple[str, str]]:
    graph = loaded.graph
    known = graph.metadata
    facts = [
        ("graph", graph.name),
        ("from", loaded.origin),
        ("operations before pruning", f"{known.get('ops_unpruned', graph.n_ops):,}"),
        ("operations", f"{graph.n_ops:,}"),
        *_paper(loaded),
        ("tensors, control edges included", f"{graph.n_tensors:,}"),
        ("edges (tensor, consumer)", f"{len(graph.consumers):,}"),
        ("colocation classes", f"{graph.n_classes:,}"),
        ("operations without a GPU kernel", f"{int((~graph.gpu_kernel).sum()):,}"),
        ("work of one step", format_flop(graph.flops.sum())),
        ("bytes touched in one step", format_bytes(graph.bytes_touched.sum())),
        ("bytes of all tensors", format_bytes(graph.tensor_bytes.sum())),
        ("bytes of variables", format_bytes(graph.persistent_bytes.sum())),
    ]
    if "parameters" in known:
        facts.append(("trainable parameters", f"{known['parameters']:,}"))
    label = "chosen here" if loaded.task is None else "chosen here, not in the papers"
    return facts + [(label, choice) for choice in known.get("choices", ())]


def _paper(loaded: Loaded) -> list[tuple[str, str]]:
    if loaded.task is None:
        return []
    paper = loaded.graph.metadata.get("paper_ops")
    return [("operations in the paper", f"{paper:,}" if paper else "not given")]
