"""placebench graph: how large a model's graph is."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from suite.commands._common import MODELS, Subparsers, add_model_arguments, command, model_of

if TYPE_CHECKING:
    from suite.capture.load_model import Loaded


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "graph",
        "Print a graph's size beside the paper's, or write it as JSON.",
        "  placebench graph nmt_8\n  placebench graph rnnlm --json > rnnlm.json\n"
        "  placebench graph my_package.net:step\n" + MODELS,
    )
    add_model_arguments(parser)
    parser.add_argument("--json", action="store_true", help="write the graph as JSON to stdout")


def run(arguments: argparse.Namespace) -> int:
    """Print the facts, or the graph."""
    from suite.formats.graph_json import graph_to_json

    loaded = model_of(arguments)
    if arguments.json:
        json.dump(graph_to_json(loaded.graph), sys.stdout, indent=1)
        print()
        return 0
    for label, value in _facts(loaded):
        print(f"{label:34} {value}")
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
        ("work of one step", f"{graph.flops.sum() / 1e9:,.1f} GFLOP"),
        ("bytes touched in one step", f"{graph.bytes_touched.sum() / 1e9:,.2f} GB"),
        ("bytes of all tensors", f"{graph.tensor_bytes.sum() / 1e9:,.2f} GB"),
        ("bytes of variables", f"{graph.persistent_bytes.sum() / 1e9:,.3f} GB"),
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
