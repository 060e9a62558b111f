"""Tables of what was learned on other graphs: its step times, and how often it is the faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import pandas as pd

from suite.bench.grid import planned_cells
from suite.report.agreement import faster
from suite.report.load_records import of_cells
from suite.report.metrics import SECONDS
from suite.report.outcome import JUDGED, Outcome
from suite.report.policies import seen_mark
from suite.report.table import Section, Table
from suite.report.tables._notes import code_note, failures, provenance
from suite.report.until import median_until, printed


def transferred(
    records: pd.DataFrame,
    grid: str,
    title: str,
    lead: str,
    heads: Mapping[str, str],
    learned: Sequence[str],
) -> Table:
    """Build the page of a grid: a row per placer, of which ``learned`` learned on other graphs.

    ``heads`` are the names of all rows.
    """
    cells = planned_cells(grid)
    ours = of_cells(records, cells)
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    found = {
        (placer, task): ours[(ours["placer"] == placer) & (ours["task"] == task)]
        for placer in heads
        for task in tasks
    }
    seeds = {key: sum((c.placer, c.task) == key for c in cells) for key in found}
    outcomes = {key: Outcome.of(mine, seeds[key]) for key, mine in found.items()}
    rows = tuple(
        (head, *(outcomes[p, t].text(SECONDS) + seen_mark(found[p, t]) for t in tasks))
        for p, head in heads.items()
    )
    columns = ["grid", "task", "gpus", "placer", "seed", "status", "step_time", "evaluations"]
    return Table(
        title,
        lead,
        (
            Section("Step time", ("placer", *tasks), rows),
            _faster(outcomes, tasks, heads, learned),
        ),
        (
            f"{len(ours)} of {len(cells)} records are there.",
            *failures(ours),
            *provenance(ours),
            *code_note(ours),
        ),
        ours[columns],
        len(cells),
        len(ours),
    )


def _faster(
    outcomes: Mapping[tuple[str, str], Outcome],
    tasks: Sequence[str],
    heads: Mapping[str, str],
    learned: Sequence[str],
) -> Section:
    """On how many graphs the median of what was transferred is faster than each other row's.

    What never fits in memory is slower than anything that does.
    """
    rows = []
    for other in (name for name in heads if name not in learned):
        cells = []
        for name in learned:
            pairs = ((_median(outcomes[name, t]), _median(outcomes[other, t])) for t in tasks)
            won, known = faster(pairs)
            cells.append(f"{won} of {known}")
        rows.append((heads[other], *cells))
    header = ("than", *(heads[name] for name in learned))
    return Section("Faster on so many graphs", header, tuple(rows))


def _median(outcome: Outcome) -> float:
    return inf if outcome.status == "oom" else outcome.median


def reached(
    ours: pd.DataFrame, title: str, searches: Mapping[str, str], marks: Mapping[str, str]
) -> Section:
    """After how many placements ``searches`` were as fast as ``marks``, others, in the end."""
    rows = []
    for task in dict.fromkeys(ours["task"]):
        mine = ours[(ours["task"] == task) & ours["status"].isin(JUDGED)]
        of = {name: mine[mine["placer"] == name] for name in {*searches, *marks}}
        cells = []
        for mark in marks:
            wanted = Outcome.of(of[mark], 1).median
            cells += [printed(median_until(of[s]["history"], wanted)) for s in searches]
        rows.append((task, *cells))
    header = [f"{mark}: {search}" for mark in marks.values() for search in searches.values()]
    return Section(title, ("graph", *header), tuple(rows))
