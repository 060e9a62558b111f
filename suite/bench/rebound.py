"""Brings the lower bounds in records up to date, when they have become tighter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from suite.bench.judge import bound_of, is_bounded
from suite.bench.record import Record
from suite.bench.recorded import (
    check_same_settings,
    each_record,
    recorded_problem,
    recorded_semantics,
)
from suite.formats.json_file import write_json


def rebound(results: Path) -> Iterator[tuple[Path, str]]:
    """Bound the problem of every record that has a bound anew, or that should have one.

    Nothing else in a record changes.
    ``results`` is a folder with records somewhere below it, or one record. Yields each such record
    and ``changed``, ``same``, or why it is left as it is.
    """
    yield from each_record(results, _has_bound, _bounded_again)


def _has_bound(record: Record) -> bool:
    simulated = record.get("simulated", {}).get("semantics", record.get("semantics"))
    owed = is_bounded(str(simulated)) and "lower_bound" in record
    return owed or record.get("lower_bound") is not None


def _bounded_again(record: Record, path: Path) -> str:
    problem = recorded_problem(record, path)
    bound = bound_of(problem, recorded_semantics(record, problem))
    now = {"lower_bound": bound.seconds, "bound_kind": bound.kind}
    if record | now == record:
        return "same"
    check_same_settings(record, path)
    write_json(record | now, path)
    return "changed"
