"""The page of all grids that no table is of, as a user's own: step times, bounds, what it took."""

from __future__ import annotations

from math import isnan, nan

import pandas as pd

from suite.report.metrics import SECONDS, metric
from suite.report.outcome import JUDGED, Outcome, best_of
from suite.report.policies import seen_mark
from suite.report.table import PrintedCell, Section, Table
from suite.report.tables._notes import code_note, failures, hosts, machines, provenance

TITLE = "Grids that no other table is of"
LEAD = """\
Such as your own. A page that says more of a grid is one file more (CONTRIBUTING.md)."""
STEP_TIMES = """\
Seconds of one step, lower is better: the median over seeds and their range. Bold: every seed has a
placement that runs, each by 0.1 % or more faster than all of any other placer."""
TAKEN = "Placements evaluated and seconds of wall time, the medians over seeds."


def other_grids(records: pd.DataFrame) -> Table:
    """Build the page from rows of :func:`suite.report.load_records.load_records`."""
    sections: list[Section] = []
    outcomes: list[str] = []
    for (grid, machine), mine in records.groupby(["grid", "machine"], sort=True):
        name = f"{grid} on {machine}"
        sections += _sections(name, mine)
        outcomes += [f"{name}: {line}" for line in failures(mine)]
    columns = ["grid", "machine", "gpus", "task", "placer", "seed", "status", "step_time"]
    columns += ["lower_bound", "evaluations", "wall_seconds"]
    return Table(
        TITLE,
        LEAD,
        tuple(sections),
        (
            *outcomes,
            *machines(records),
            *hosts(records),
            *provenance(records),
            *code_note(records),
        ),
        records[columns],
        len(records),
        len(records),
    )


def _sections(name: str, records: pd.DataFrame) -> tuple[Section, Section]:
    """Of one grid: its step times, beside the lower bounds where there are any; what it took."""
    placers = sorted(set(records["placer"]))
    bounded = bool(records["lower_bound"].notna().any())
    times, taken = [], []
    for (task, gpus), mine in records.groupby(["task", "gpus"], sort=True):
        cells = {placer: mine[mine["placer"] == placer] for placer in placers}
        outcomes = {placer: Outcome.of(cell, 0) for placer, cell in cells.items()}
        best = best_of(outcomes, SECONDS)
        printed = [
            _time(outcome, cells[placer], placer == best and not outcome.failures)
            for placer, outcome in outcomes.items()
        ]
        times.append((str(task), str(gpus), *printed, *(_bound(mine) if bounded else ())))
        taken.append((str(task), str(gpus), *map(_taken, cells.values())))
    header = ("task", "GPUs", *placers)
    heads = (*header, *(("lower bound", "best / bound") if bounded else ()))
    return (
        Section(f"{name}: step time", heads, tuple(times), STEP_TIMES, shown=True),
        Section(f"{name}: what it took", header, tuple(taken), TAKEN),
    )


def _time(outcome: Outcome, records: pd.DataFrame, best: bool) -> PrintedCell:
    text = outcome.text(SECONDS) + seen_mark(records)
    return PrintedCell(f"**{text}**" if best else text, outcome.median, outcome.details)


def _bound(records: pd.DataFrame) -> tuple[str, str]:
    """A row's proven lower bound, and how far the fastest of all its placements is from it."""
    bound = records["lower_bound"].max()
    fastest = records.loc[records["status"] == "ok", "step_time"].min()
    shown = (SECONDS, bound), (metric("ratio_to_bound"), fastest / bound if bound else nan)
    seconds, times = ("-" if isnan(value) else of.format(value) for of, value in shown)
    return seconds, times


def _taken(records: pd.DataFrame) -> str:
    """What the searches of a cell that came to their end evaluated, and how long they took."""
    judged = records[records["status"].isin(JUDGED)]
    if judged.empty:
        return "-"
    evaluations, seconds = judged["evaluations"].median(), judged["wall_seconds"].median()
    counted = "-" if isnan(evaluations) else metric("evaluations").format(evaluations)
    return f"{counted} in {metric('wall_seconds').format(seconds)} s"
