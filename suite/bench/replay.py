"""Runs recorded cells again with today's code, as far as that is asked, and stamps what agrees.

A search by evaluations is deterministic: with the same code, its first evaluations find the same
best times at the same places. So they vouch for the code without the hours that the whole search
took; the record says how many they were. A placer that does not search is run as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from suite.bench.ask import ask
from suite.bench.cell import SIMULATOR
from suite.bench.fingerprint import fingerprint
from suite.bench.load_problem import problem_of
from suite.bench.made_by import code_of
from suite.bench.record import Record, digest_of_code
from suite.bench.recorded import each_record, has_placement, recorded_job
from suite.bench.run_cell import search_of
from suite.bench.verify import difference
from suite.core.arrays import Ints
from suite.core.errors import BudgetExhausted, InputError, Unsupported
from suite.core.placement import Placement
from suite.core.scores import Scores
from suite.formats.json_file import write_json
from suite.formats.recorded_placement import read_devices
from suite.search.placer import Placer, Search
from suite.search.registry import failure, make_placer
from suite.search.subprocess_call import NativeCrash

STAMPED = "stamped"
SAME_CODE = "same code"


def replay(results: Path, evaluations: int) -> Iterator[tuple[Path, str]]:
    """Run cells of other or unknown code again, up to so many evaluations; stamp those that agree.

    Yields every simulated record and ``stamped`` (its field ``code`` is today's now, and says what
    was run again), ``same code``, or why it is left as it is.
    """

    def outcome(record: Record, path: Path) -> str:
        return _replayed(record, path, evaluations)

    yield from each_record(results, _can_be_run, outcome)


def _can_be_run(record: Record) -> bool:
    return has_placement(record) or (
        record["status"] == "skipped" and record.get("backend") == SIMULATOR
    )


def _replayed(record: Record, path: Path, evaluations: int) -> str:
    job = recorded_job(record, path)
    code = code_of(job)
    if digest_of_code(record) == code["digest"]:
        return SAME_CODE
    if fingerprint(job) != record["fingerprint"]:
        return "recorded under other settings; run bench"
    if job.max_seconds is not None and record.get("evaluations"):
        return f"bound by {job.max_seconds:g} seconds: it cannot be replayed, only run again"
    if has_placement(record) and (wrong := difference(record, path)):
        return wrong
    search = _Beginning.of(search_of(job, problem_of(job)), evaluations)
    placer: Placer = make_placer(job.placer, job.parameters)
    ended, again = _run(placer, search)
    if not ended and not search.evaluations:
        return "a search, of which nothing was run again; give --replay 1 or more"
    wrong = _disagreement(record, path, search, ended, again)
    if not wrong:
        again = "the whole run" if ended else f"the first {search.evaluations} evaluations"
        write_json(record | {"code": code | {"replayed": again}}, path)
    return wrong or STAMPED


class _Enough(BaseException):
    """Ends a placer from within; none catches it, since none is to go on."""


@dataclass
class _Beginning(Search):
    """A search that ends after its first evaluations. Its budget is the recorded one."""

    first: int = 0

    @classmethod
    def of(cls, search: Search, first: int) -> _Beginning:
        """The beginning of a search that has not begun."""
        limits = search.max_evaluations, search.max_seconds
        return cls(search.problem, search.judge, search.seed, *limits, first=first)

    def evaluate(
        self, placements: Sequence[Placement] | Ints, within: float = float("inf")
    ) -> Scores:
        """Score a batch, unless enough have been."""
        if self.evaluations >= self.first:
            raise _Enough
        return super().evaluate(placements, within)

    def inner(self, seed: int, evaluations: float) -> _Beginning:
        """The beginning of a search for a placer that this search's placer asks."""
        return _Beginning.of(super().inner(seed, evaluations), self.first - self.evaluations)


def _run(placer: Placer, search: _Beginning) -> tuple[bool, Placement | str]:
    """Whether the placer ended by itself; its placement, or why it gave none."""
    try:
        return True, ask(placer, search.problem, search)
    except _Enough:
        return False, ""
    except Unsupported as reason:
        return True, str(reason)
    except Exception as error:
        told = (BudgetExhausted, NativeCrash, InputError)
        return True, f"it fails now: {error if isinstance(error, told) else failure(error)}"


def _disagreement(
    record: Record, path: Path, search: Search, ended: bool, again: Placement | str
) -> str:
    """What a run that began, or was run as a whole, gave otherwise than the record; "": nothing."""
    recorded = [(n, best) for n, _, best in record.get("history", []) if n <= search.evaluations]
    history = [(n, best) for n, _, best in search.history]
    for now, then in zip(history, recorded, strict=False):
        if now != then:
            return f"the best is {_best(now)}, recorded {_best(then)}"
    if len(history) != len(recorded):
        found = f"{len(history)} improvements in {search.evaluations} evaluations"
        return f"{found}, recorded {len(recorded)}"
    if not ended:
        return ""
    if isinstance(again, str):
        same = record["status"] == "skipped" and record["reason"] == again
        return "" if same else f"recorded {record['status']}, but now: {again}"
    if record["status"] == "skipped":
        return "recorded as skipped, but now it gives a placement; run bench"
    if search.evaluations != record["evaluations"]:
        return f"{search.evaluations} evaluations, recorded {record['evaluations']}"
    moved = int(np.count_nonzero(again.devices != read_devices(path)))
    return f"another placement: {moved} operations are elsewhere" if moved else ""


def _best(point: tuple[int, float]) -> str:
    return f"{point[1]:.9g} s at evaluation {point[0]}"
