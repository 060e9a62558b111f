"""Brings the lower bounds in records up to date, when they have become tighter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from suite.bench.record import Record, read_record, records_below
from suite.bench.run_cell import bound_of
from suite.bench.verify import recorded_problem
from suite.core.errors import InputError
from suite.formats.json_file import write_json


def rebound(results: Path) -> Iterator[tuple[Path, str]]:
    """Bound the problem of every record that has a bound anew; nothing else in a record changes.

    ``results`` is a folder with records somewhere below it, or one record. Yields each such record
    and ``changed``, ``same``, or why it is left as it is.
    """
    for path in records_below(results):
        try:
            record = read_record(path)
            if record.get("lower_bound") is not None:
                yield path, _bounded_again(record, path)
        except InputError as error:
            yield path, str(error)


def _bounded_again(record: Record, path: Path) -> str:
    bound = bound_of(recorded_problem(record, path))
    now = {"lower_bound": bound.seconds, "bound_kind": bound.kind}
    if record | now == record:
        return "same"
    write_json(record | now, path)
    return "changed"
