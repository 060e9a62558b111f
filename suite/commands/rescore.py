"""placebench rescore: recorded placements under every semantics."""

from __future__ import annotations

import argparse
from pathlib import Path

from suite.commands._common import Subparsers, command, counted
from suite.core.errors import InputError


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "rescore",
        "Simulate recorded placements under every semantics (docs/simulator.md) where their"
        " records, made by earlier versions, do not say how they fare. Nothing else changes.",
        "  placebench rescore\n  placebench rescore results/quick",
    )
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"))


def run(arguments: argparse.Namespace) -> int:
    """Print what is left as it is; 1 when something is."""
    from suite.bench.verify import rescore

    counts = counted(rescore(arguments.results), "added", "there")
    if not counts:
        raise InputError(f"no records with placements below {arguments.results}; run bench first")
    added, there, left = (counts[outcome] for outcome in ("added", "there", "left"))
    print(
        f"{added} records scored under every semantics, {there} had been, {left} left as they are"
    )
    return 1 if left else 0
