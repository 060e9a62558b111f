"""The records of one side, by cell and round."""

from __future__ import annotations

import re
from pathlib import Path

from suite.bench.cell import Cell
from suite.bench.record import RECORDS, Record, cell_of, check_results, read_record
from suite.core.errors import InputError

Runs = dict[Cell, dict[int, Record]]
"""Cell -> round -> record; records outside a round's folder are of round 0."""


def round_folder(results: Path, number: int) -> Path:
    """Where the records of a round lie: a results folder of its own below ``results``."""
    return results / f"round{number}"


def read_runs(results: Path) -> Runs:
    """Read every record of a step below ``results`` and below the folders of its rounds.

    InputError when there is no such folder, or when a file in it is not a whole record, not where
    its cell's is, or of a round of which there is another.
    """
    check_results(results)
    runs: Runs = {}
    for number, folder in [(0, results), *_rounds(results)]:
        for path in sorted(folder.glob(RECORDS)):
            record = read_record(path)
            if record["status"] == "ok" and record.get("step_time") is None:
                if "backend" in record:
                    raise InputError(f"{path} is ok and has no step_time; run it again")
                continue  # a fit's, of which no step is judged
            rounds = runs.setdefault(cell_of(record, path, folder), {})
            if number in rounds:
                raise InputError(
                    f"{path} is a second record of round {number} of its cell (those outside a"
                    " round's folder are of round 0); delete one of them"
                )
            rounds[number] = record
    return runs


def _rounds(results: Path) -> list[tuple[int, Path]]:
    named = [(re.fullmatch(r"round(\d+)", path.name), path) for path in results.glob("round*")]
    return sorted((int(match[1]), path) for match, path in named if match)
