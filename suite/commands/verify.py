"""placebench verify: re-simulate recorded placements, or run the cells again."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from suite.commands._common import RESULTS, Subparsers, command, count, counted
from suite.core.errors import InputError
from suite.core.units import format_count


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "verify",
        "Re-simulate every recorded placement and compare bit for bit, and count the records that"
        " other code made than today's. With --replay, run the cells of these again, searches in"
        " part, and where they agree stamp their records with today's code.",
        "  placebench verify\n  placebench verify results/quick\n"
        "  placebench verify results/paper --replay 200",
    )
    parser.add_argument("results", nargs="?", type=Path, default=RESULTS)
    parser.add_argument(
        "--replay",
        type=count,
        metavar="N",
        help="run up to N evaluations of each search again, and other placers as a whole (0: these"
        " alone)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what differs, 1 when something does; and how many records are of other code."""
    if arguments.replay is not None:
        return _replay(arguments.results, arguments.replay)
    from suite.bench.verify import OTHER_CODE, compare_code, verify

    counts = counted(verify(arguments.results), "")
    if not counts:
        raise InputError(f"no records with placements below {arguments.results}; run bench first")
    print(f"{format_count(counts.total(), 'record')} checked, {counts['left']} differ")
    others = [path for path, told in compare_code(arguments.results) if told == OTHER_CODE]
    if others:
        grids = Counter(path.absolute().parents[4].name for path in others)
        named = ", ".join(f"{count} of {grid}" for grid, count in sorted(grids.items()))
        print(
            f"{len(others)} made by other code than today's ({named}): the next bench makes them"
            " again; --replay N stamps those of simulated searches that come out the same"
        )
    return 1 if counts["left"] else 0


def _replay(results: Path, evaluations: int) -> int:
    from suite.bench.lock import all_locked
    from suite.bench.replay import SAME_CODE, STAMPED, replay

    with all_locked(results):
        counts = counted(replay(results, evaluations), STAMPED, SAME_CODE)
    if not counts:
        raise InputError(f"no simulated records below {results}; run bench first")
    stamped, same, left = (counts[outcome] for outcome in (STAMPED, SAME_CODE, "left"))
    words = format_count(stamped, "record")
    print(f"{words} replayed and stamped, {same} of today's code, {left} left as they are")
    return 1 if left else 0
