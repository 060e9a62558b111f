"""placebench rebound: recorded lower bounds, brought up to date."""

from __future__ import annotations

import argparse
from pathlib import Path

from suite.commands._common import RESULTS, Subparsers, command, counted
from suite.core.errors import InputError
from suite.core.units import format_count


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "rebound",
        "Compute the lower bound (docs/bounds.md) of recorded problems again, where it has become"
        " tighter since. Nothing is searched or simulated, nothing else changes.",
        "  placebench rebound\n  placebench rebound results/quick",
    )
    parser.add_argument("results", nargs="?", type=Path, default=RESULTS)


def run(arguments: argparse.Namespace) -> int:
    """Print what is left as it is; 1 when something is."""
    from suite.bench.lock import all_locked
    from suite.bench.rebound import rebound

    with all_locked(arguments.results):
        counts = counted(rebound(arguments.results), "changed", "same")
    if not counts:
        raise InputError(f"no records with a bound below {arguments.results}; run bench first")
    changed, same, left = (counts[outcome] for outcome in ("changed", "same", "left"))
    words = format_count(changed, "record")
    print(f"{words} bounded anew, {same} had the same bound, {left} left as they are")
    return 1 if left else 0
