"""placebench verify: re-simulate recorded placements."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from suite.commands._common import command
from suite.core.errors import InputError


def add(parsers: Any) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "verify",
        "Re-simulate every recorded placement and compare bit for bit.",
        "  placebench verify\n  placebench verify results/quick",
    )
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"))


def run(arguments: argparse.Namespace) -> int:
    """Print what differs; 1 when something does."""
    from suite.bench.verify import verify

    checked, wrong = 0, 0
    for path, difference in verify(arguments.results):
        checked += 1
        if difference:
            wrong += 1
            print(f"{path}: {difference}")
    if not checked:
        raise InputError(f"no records with placements below {arguments.results}; run bench first")
    print(f"{checked} records checked, {wrong} differ")
    return 1 if wrong else 0
