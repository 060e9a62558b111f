"""Runs the bench command of two checkouts in turn, A B B A, on one machine in one job."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from suite.bench.record import RECORDS
from suite.core.child_python import python_command
from suite.core.errors import InputError
from suite.core.paths import ROOT
from suite.gate.runs import round_folder

HERE = ROOT
_FAILED_CELLS = 1
"""bench's exit code when a cell ended in an error or a time-out: the records tell which."""


@dataclass(frozen=True)
class Side:
    """A commit and where its records go."""

    code: Path
    """Folder of a checkout."""
    results: Path
    """Results folder; each round has its own below it."""


@contextmanager
def checkout(base: str) -> Iterator[Path]:
    """Yield the folder ``base`` or, if it is a commit, a checkout of it that is removed after.

    InputError when it is neither, and when there is no placebench in it: then the installed one
    would run in its place.
    """
    if Path(base).is_dir():
        yield _with_code(Path(base).resolve(), base)
        return
    with TemporaryDirectory(prefix="placebench-base-") as folder:
        code = Path(folder) / "code"
        _git(f"{base} is no folder and no commit", "worktree", "add", "--detach", str(code), base)
        try:
            yield _with_code(code, base)
        finally:
            _git("cannot remove the checkout", "worktree", "remove", "--force", str(code))


def _with_code(folder: Path, base: str) -> Path:
    if not (folder / "suite" / "cli.py").is_file():
        raise InputError(
            f"{base} is no checkout of placebench, it has no suite/cli.py; give --commit a commit"
            " or a checkout's folder"
        )
    return folder


def _git(trouble: str, *arguments: str) -> None:
    command = ["git", "-C", str(HERE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"{trouble}: {' '.join(done.stderr.split()) or 'git failed'}")


def interleave(sides: Sequence[Side], bench: str, rounds: int) -> None:
    """Run ``placebench bench BENCH`` of each side in turn, ``rounds`` times.

    Every other round begins with the other side: the second of two runs may be the faster one, or
    the slower, whichever code it runs.

    InputError when a results folder holds records, since those of another run would be kept, and
    when bench refuses its arguments.
    """
    for side in sides:
        if any(side.results.rglob(RECORDS)):
            raise InputError(f"{side.results} holds records already; remove it or name another")
    words = _words(bench)
    for number in range(rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            _bench(side, words, number)


def _words(bench: str) -> list[str]:
    try:
        words = shlex.split(bench)
    except ValueError as error:
        raise InputError(f"--interleave {bench}: {error}; check its quotes") from None
    if any(word.startswith("--ou") for word in words):  # argparse takes abbreviations
        raise InputError(
            f"--interleave {bench}: each round has a folder of its own below BASE and HEAD; leave"
            " out --output"
        )
    return words


def _bench(side: Side, words: Sequence[str], number: int) -> None:
    output = round_folder(side.results, number).absolute()
    command = python_command("-m", "suite.cli", "bench", *words)
    # The checkout's own packages win over the installed ones.
    paths = [str(side.code), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    print(f"round {number}: {side.code}", file=sys.stderr, flush=True)
    done = subprocess.run(
        [*command, "--output", str(output)], env=environment, stdout=sys.stderr, check=False
    )
    if done.returncode not in (0, _FAILED_CELLS):
        bench = shlex.join(words)
        raise InputError(f"bench {bench} ended with {done.returncode} in {side.code}; see above")
