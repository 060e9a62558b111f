"""placebench rescore: what today's simulator says of recorded placements."""

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
        "rescore",
        "Simulate recorded placements under every semantics (docs/simulator.md) where their"
        " records, made by earlier versions, do not say how they fare, and those that ran for real"
        " anew, where simulations have changed since. Nothing else changes.",
        "  placebench rescore\n  placebench rescore results/quick",
    )
    parser.add_argument("results", nargs="?", type=Path, default=RESULTS)


def run(arguments: argparse.Namespace) -> int:
    """Print what is left as it is; 1 when something is."""
    from suite.bench.lock import all_locked
    from suite.bench.verify import rescore

    with all_locked(arguments.results):
        counts = counted(rescore(arguments.results), "changed", "same")
    if not counts:
        raise InputError(f"no records with placements below {arguments.results}; run bench first")
    changed, same, left = (counts[outcome] for outcome in ("changed", "same", "left"))
    words = format_count(changed, "record")
    print(f"{words} scored anew, {same} had the same scores, {left} left as they are")
    return 1 if left else 0
