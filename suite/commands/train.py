"""placebench train: one policy from several graphs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from suite.commands._common import Subparsers, command, count, new_file

if TYPE_CHECKING:
    from suite.formats.policy_file import PolicyFile

EXAMPLES = """  placebench train gdp --placer gdp_tuned --output gdp.npz
  placebench train gdp --placer gdp_tuned --without gnmt_4 --gpus 4 --output without_gnmt_4.npz
  placebench train gdp --placer gdp_tuned --without gnmt_4 --variants 2 --output varied.npz
  placebench place gnmt_4 --machine p100 --placer gdp_tuned --policy without_gnmt_4.npz
  placebench place gnmt_4 --machine p100 --placer gdp_tuned --policy without_gnmt_4.npz \\
    --evaluations 100                          # the same policy, fine-tuned on the graph

A training that was stopped goes on when the command is given again.
"""


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "train",
        "Train one policy on the graphs of a grid, each with the evaluations of its cell, and write"
        " a file from which `place --policy` and grids start.",
        EXAMPLES,
    )
    parser.add_argument("grid", metavar="GRID", help="grid or TOML file: tasks, machine, budget")
    parser.add_argument(
        "--output", type=new_file, required=True, metavar="POLICY", help="file to write"
    )
    parser.add_argument(
        "--placer", help="which of the grid's placers, where several can be trained"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TASK",
        help="train on this task (repeatable)",
    )
    parser.add_argument(
        "--without", action="append", default=[], metavar="TASK", help="all tasks but this one"
    )
    parser.add_argument("--gpus", type=count, help="so many GPUs for every graph")
    parser.add_argument(
        "--evaluations",
        type=count,
        help="budget of each graph, instead of the grid's, which may have no seconds",
    )
    parser.add_argument(
        "--variants",
        type=count,
        default=0,
        metavar="N",
        help="train on N random variants beside each graph: cut, scaled and rewired (0)",
    )
    parser.add_argument("--seed", type=count, help="base seed, instead of the grid's")
    parser.add_argument("--machine", help="machine, instead of the grid's")
    parser.add_argument(
        "--checkpoint",
        type=count,
        default=60,
        metavar="SECONDS",
        help="save the training this often (60; 0: after every round of updates)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Train, or say that it is done; print what the policy is."""
    from suite.bench.grid import load_grid
    from suite.bench.lock import output_locked
    from suite.bench.train import lessons_of, train
    from suite.commands._display import Display
    from suite.commands._prepare import prepared
    from suite.core.compile_time import COMPILE_TIME, FIRST_USE
    from suite.core.quiet_tensorflow import allow_traces
    from suite.formats.atomic import remove_parts

    output: Path = arguments.output
    grid = load_grid(arguments.grid, arguments.seed, arguments.machine)
    tasks = arguments.only, arguments.without
    jobs = lessons_of(grid, arguments.placer, *tasks, arguments.gpus, arguments.evaluations)
    remove_parts(output.parent)
    allow_traces()
    with output_locked(output), prepared(list(jobs), output.parent, 0, here=True):
        COMPILE_TIME.announce(FIRST_USE)
        with Display() as display:
            policy, was_there = train(
                jobs, output, arguments.checkpoint, display.searching, arguments.variants
            )
    print(_as_text(policy))
    print(f"{'finished before:' if was_there else 'wrote'} {output}")
    return 0


def _as_text(policy: PolicyFile) -> str:
    """Each graph with the best of its placements, then the policy."""
    wide = max(20, *(len(one.task) for one in policy.lessons))
    head = f"{'trained on':{wide}} {'GPUs':>4} {'evaluations':>12} {'best step time':>15}"
    rows = [
        f"{one.task:{wide}} {one.gpus:4} {one.evaluations:12,} {_seconds(one.best_time):>15}"
        for one in policy.lessons
    ]
    weights = sum(array.size for array in policy.weights.values())
    about = f"{policy.planner}, {weights:,} weights, {len(policy.vocabulary)} operation types"
    return "\n".join([head, *rows, f"policy {policy.digest}: {about}, seed {policy.seed}"])


def _seconds(best: float | None) -> str:
    return "nothing fits" if best is None else f"{best:.6f} s"
