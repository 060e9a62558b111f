"""--policy: a trained policy as the start of a placer, and what it was trained on, in words."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.commands._placer import placer_of
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.core.graph import OpGraph

STEPS = ("updates", "episodes")
"""What placers call their steps of learning: with none, a policy is applied as it is."""


def add_policy(parser: argparse.ArgumentParser) -> None:
    """--policy."""
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help="policy of `placebench train` that the placer starts from: without a budget, every"
        " operation goes to its likeliest device, in one pass; with one, it is fine-tuned",
    )


def placer_with_policy(arguments: argparse.Namespace) -> Any:
    """Make the placer that the arguments name; InputError where it takes no policy file."""
    from dataclasses import replace

    from suite.formats.policy_file import PolicyFile
    from suite.search.training import policy_field

    placer = placer_of(arguments)
    if arguments.policy is None:
        return placer
    field = policy_field(placer)
    if field is None:
        raise InputError(
            f"{arguments.placer} starts from no policy; name the placer that it was trained for"
        )
    PolicyFile.load(arguments.policy)  # a bad one is told before the model is captured: minutes
    budget = arguments.evaluations is not None or arguments.seconds is not None
    asked = any(pair.partition("=")[0].strip() in STEPS for pair in arguments.set)
    none = {} if budget or asked else {name: 0 for name in STEPS if hasattr(placer, name)}
    return replace(placer, **{field: str(arguments.policy)}, **none)


def policy_json(placer: object, graph: OpGraph, task: str | None) -> dict[str, Any] | None:
    """What the placer's policy is, and whether it was trained on the graph; None without one."""
    from suite.formats.policy_file import PolicyFile
    from suite.search.training import policy_path

    path = policy_path(placer)
    return None if path is None else PolicyFile.load(path).about(graph.fingerprint, task)


def policy_text(found: dict[str, Any]) -> str:
    """The same on one line."""
    names = ", ".join(f"{one['task']} ({one['gpus']} GPUs)" for one in found["trained_on"])
    seen = "**this graph is one of them**" if found["seen"] else "this graph is none of them"
    return f"policy     {found['digest']}, trained on {names}: {seen}"
