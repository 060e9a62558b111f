"""placebench graph: how large a model's graph is."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.commands._common import command, is_file

if TYPE_CHECKING:
    from suite.graph import OpGraph


def add(parsers: Any) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "graph",
        "Print a graph's size beside the paper's, or write it as JSON.",
        "  placebench graph nmt_8\n  placebench graph rnnlm --json > rnnlm.json",
    )
    parser.add_argument("model", metavar="MODEL", help="task name or graph file")
    parser.add_argument("--json", action="store_true", help="write the graph as JSON to stdout")


def run(arguments: argparse.Namespace) -> int:
    """Print the facts, or the graph."""
    from suite.cache import load_graph
    from suite.graph_json import graph_to_json
    from suite.interchange import read_graph

    model = arguments.model
    graph = read_graph(Path(model)) if is_file(model) else load_graph(model)
    if arguments.json:
        json.dump(graph_to_json(graph), sys.stdout, indent=1)
        print()
        return 0
    for label, value in _facts(graph):
        print(f"{label:34} {value}")
    return 0


def _facts(graph: OpGraph) -> list[tuple[str, str]]:
    known = graph.metadata
    paper = known.get("paper_ops")
    facts = [
        ("graph", graph.name),
        ("operations before pruning", f"{known.get('ops_unpruned', graph.n_ops):,}"),
        ("operations", f"{graph.n_ops:,}"),
        ("operations in the paper", f"{paper:,}" if paper else "not given"),
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
    facts += [("chosen here, not in the papers", choice) for choice in known.get("choices", ())]
    return facts
