"""placebench gate: compare the records of two commits."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from suite.commands._checks import refuse, same_file
from suite.commands._common import Subparsers, command, positive
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.gate.rule import Rule
    from suite.gate.verdict import Verdict

BASE, ROUNDS = "HEAD~1", 9
"""What is compared, and how often, where nothing else is asked for."""
AGAIN = "again"
"""Where the second runs of slower measured cells go, below each results folder."""


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "gate",
        "Compare two results folders and end with 0 (green), 3 (slower), 4 (missing) or 5 (nothing"
        " measured). Simulated cells must be equal; learned ones may differ within rank"
        " intervals plus a tolerance; measured ones are compared round by round.",
        "  placebench gate main/results results\n"
        "  placebench gate /tmp/base /tmp/head --commit origin/main --rounds 12 \\\n"
        '      --interleave "gpu --backend session"',
    )
    parser.add_argument("base", type=Path, help="results of what was before")
    parser.add_argument("head", type=Path, help="results of what is to be judged")
    parser.add_argument(
        "--tolerance", type=float, default=0.02, help="share a sampled median may lose (0.02)"
    )
    turns = parser.add_argument_group("to measure both sides in turn first")
    turns.add_argument("--interleave", metavar="BENCH", help="arguments of placebench bench")
    turns.add_argument("--commit", help=f"the base: commit or checkout ({BASE})")
    turns.add_argument("--rounds", type=positive, help=f"A B B A ...: of each side ({ROUNDS})")


def run(arguments: argparse.Namespace) -> int:
    """Print the summary, also to GitHub's; return the gravest red's code."""
    from suite.gate.rule import Rule
    from suite.gate.runs import read_runs
    from suite.gate.verdict import exit_code

    rule = Rule(arguments.tolerance)
    # In turn, the second side would keep the first one's records, and nothing of it would run.
    if same_file(arguments.base, arguments.head):
        raise InputError(
            f"{arguments.base} cannot be compared with itself, it is the base and the head; name"
            " another folder"
        )
    if arguments.interleave is None:
        refuse(arguments, ("commit", "rounds"), "goes with --interleave BENCH; add it")
        verdicts = rule.compare(read_runs(arguments.base), read_runs(arguments.head))
    else:
        verdicts = _in_turn(arguments, rule)
    _tell(verdicts)
    return exit_code(verdicts)


def _tell(verdicts: Sequence[Verdict]) -> None:
    """Print the summary, also to GitHub's."""
    from suite.report.gate_summary import summary

    text = summary(verdicts)
    print(text, end="", flush=True)
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
            file.write(text)


@contextmanager
def _told_if_stopped(verdicts: Sequence[Verdict]) -> Iterator[None]:
    """Print what is known so far where a second run, which is to confirm it, comes to no end."""
    try:
        yield
    except (InputError, KeyboardInterrupt):
        _tell(verdicts)
        raise


def _in_turn(arguments: argparse.Namespace, rule: Rule) -> list[Verdict]:
    """Measure base and head in turn; measure again what seems slower, and judge by both runs."""
    from suite.gate.interleave import HERE, Side, checkout, interleave
    from suite.gate.runs import read_runs
    from suite.gate.verdict import MEASURED, SLOWER, confirmed

    folders = arguments.base, arguments.head
    rounds = arguments.rounds or ROUNDS
    with checkout(arguments.commit or BASE) as base:
        sides = [Side(code, folder) for code, folder in zip((base, HERE), folders, strict=True)]
        interleave(sides, arguments.interleave, rounds)
        verdicts = rule.compare(*(read_runs(folder) for folder in folders))
        suspects = [v for v in verdicts if (v.kind, v.word) == (MEASURED, SLOWER)]
        for suspect in suspects:
            retried = [replace(s, results=s.results / AGAIN / suspect.name) for s in sides]
            only = f"{arguments.interleave} --only {shlex.quote(suspect.name)}"
            with _told_if_stopped(verdicts):
                interleave(retried, only, rounds)
                again = rule.compare(*(read_runs(side.results) for side in retried))
            verdicts = [confirmed(v, again) if v is suspect else v for v in verdicts]
    return verdicts
