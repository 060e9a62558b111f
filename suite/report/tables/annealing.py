"""Annealing beside other searches at equal budgets, and what its parts bring (our ablation)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import isinf, nan
from statistics import geometric_mean

import pandas as pd

from suite.bench.grid import planned_cells
from suite.core.statistics import LEVEL
from suite.report.load_records import of_cells
from suite.report.metrics import SECONDS
from suite.report.outcome import JUDGED
from suite.report.post import FAILS, HOLDS, MISSING, UNDECIDED, Duel, Found, best_at, bracketed
from suite.report.table import Section, Table
from suite.report.tables._notes import code_note, failures, provenance

PARTS, EQUAL = "annealing_parts", "equal_evaluations"
GRIDS = (PARTS, EQUAL)
WHOLE = "annealing"
"""The label with all parts."""
WITHOUT = {
    "without_layouts": "layouts to start from",
    "without_host": "layouts in which the host takes over",
    "without_patterns": "moves on the repeated structure",
    "without_crossover": "crossover of the walks",
    "without_settling": "settling of light operations after a change",
    "before": "all of these",
    "without_send": "`send` among the moves",
    "without_cycle": "`cycle`",
    "without_runs": "`runs`",
    "without_follow": "`follow`",
    "without_swap": "`swap`",
    "without_border": "`border`",
    "without_chain": "moves along the critical chain",
    "without_walks": "all walks but one",
    "without_batches": "all neighbours but one at a time",
}
"""Label -> what is left out."""

TITLE = "Annealing: beside other searches, and what its parts bring"
LEAD = """\
Simulated seconds of one training step on K40s, lower is better, after equally many evaluated
placements. Annealing with its layouts, its host that takes over small operations, its moves on the
repeated structure of a graph, its crossover and its settling is ours:
[docs/baselines.md](../docs/baselines.md) has what they are."""
EQUAL_LEAD = """\
Median over seeds, their interval or range [1], and their number. `Before` is annealing without
them, `coarse to fine` annealing as it is, then from placements of whole modules, then on from the
better of both. Of restarts there are none of 4,000 [3]."""
DUEL_LEAD = """\
Step time of GDP, tuned, over that of HDP, tuned, after 1,000 placements each: below 1 GDP is the
faster; in square brackets the interval [2]. That GDP is the faster holds where all of the interval
is below 1, does not hold where all of it is above, and is undecided where 1 is within."""
PARTS_LEAD = """\
Step time without a part over that with all of them, after 1,000 placements: above 1 the part
helps; in square brackets the interval [2], bold where it leaves out 1. The last column is the
geometric mean over the graphs."""


@dataclass(frozen=True)
class _Column:
    """What a search had found after some placements."""

    head: str
    grid: str
    placer: str
    placements: int


GDP = _Column("GDP, tuned, 1,000", EQUAL, "gdp_tuned", 1000)
HDP = _Column("HDP, tuned, 1,000", EQUAL, "hdp_tuned", 1000)
RESTARTS = _Column("restarts of METIS, 1,000", EQUAL, "restarts", 1000)
COLUMNS = (
    _Column("annealing, 1,000", PARTS, WHOLE, 1000),
    _Column("before, 1,000", PARTS, "before", 1000),
    HDP,
    GDP,
    RESTARTS,
    _Column("annealing, 4,000", EQUAL, WHOLE, 4000),
    _Column("before, 4,000", EQUAL, "before", 4000),
    _Column("coarse to fine, 4,000", EQUAL, "coarse_to_fine", 4000),
    _Column("window by window, 4,000", EQUAL, "window_by_window", 4000),
    _Column("HDP, tuned, 4,000", EQUAL, "hdp_tuned", 4000),
)


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of GRIDS."""
    planned = [cell for grid in GRIDS for cell in planned_cells(grid)]
    tasks = tuple(dict.fromkeys(cell.task for cell in planned))
    ours = of_cells(records, planned)
    names = ["grid", "task", "gpus", "placer", "seed", "status", "step_time", "evaluations"]
    gpus = {cell.task: cell.gpus for cell in planned}
    duels = {task: Duel(*(_found(ours, task, column) for column in (GDP, HDP))) for task in tasks}
    return Table(
        TITLE,
        LEAD,
        (_equal(ours, tasks), _duels(duels), _parts(ours, tasks)),
        (
            "Of fewer than six seeds their range, else an interval of the median between two of"
            f" their values that holds it in at least {LEVEL:.0%} of cases.",
            "The median of the ratios of each seed to each other; the interval has those ratios"
            f" that an exact Mann-Whitney test at {LEVEL:.0%} would not reject.",
            _restarts(ours),
            f"{len(ours)} of {len(planned)} records are there.",
            *failures(ours),
            *provenance(ours),
            *code_note(ours),
        ),
        pd.concat([ours[names].astype({"seed": "Int64"}), _duel_data(duels, gpus)]),
        len(planned),
        len(ours),
    )


def _found(records: pd.DataFrame, task: str, column: _Column) -> Found:
    """What each seed had found."""
    mine = records[
        (records["grid"] == column.grid)
        & (records["placer"] == column.placer)
        & (records["task"] == task)
        & records["status"].isin(JUDGED)
    ]
    return Found(tuple(best_at(history, column.placements) for history in mine["history"]))


def _equal(records: pd.DataFrame, tasks: tuple[str, ...]) -> Section:
    """A row a graph, a column a search."""
    found = {(c.head, task): _found(records, task, c) for c in COLUMNS for task in tasks}
    rows = tuple((task, *(_seconds(found[c.head, task]) for c in COLUMNS)) for task in tasks)
    header = ("graph", *(column.head for column in COLUMNS))
    return Section("After equally many placements", header, rows, EQUAL_LEAD)


def _seconds(found: Found) -> str:
    if not found.seconds:
        return "missing"
    if isinf(found.median):
        return "OOM"
    low, high, _ = found.interval
    what = "range " * found.interval.is_range
    ends = f"{what}{SECONDS.format(low)}-{SECONDS.format(high)}, " if low == low else ""
    return f"{SECONDS.format(found.median)} [{ends}n={len(found.seconds)}]"


def _duels(duels: dict[str, Duel]) -> Section:
    """A row a graph: GDP tuned against HDP tuned."""
    rows = []
    for task, duel in duels.items():
        count = f"{len(duel.ours.seconds)} and {len(duel.theirs.seconds)}"
        known = duel.ratio == duel.ratio
        ratio = f"{duel.ratio:.3f}{bracketed(duel.interval)}" if known else "missing"
        rows.append((task, count, ratio, duel.verdict))
    counts = Counter(duel.verdict for duel in duels.values())
    lead = DUEL_LEAD
    if counts[MISSING] < len(duels):
        lead += (
            f"\nOf {len(duels)} graphs GDP is the faster on {counts[HOLDS]}, HDP on"
            f" {counts[FAILS]}; {counts[UNDECIDED]} are undecided."
        )
    header = ("graph", "n", "GDP, tuned / HDP, tuned", "GDP, tuned, is the faster")
    return Section("GDP, tuned, against HDP, tuned", header, tuple(rows), lead)


def _duel_data(duels: dict[str, Duel], gpus: dict[str, int]) -> pd.DataFrame:
    """Its numbers, a row a graph."""
    rows = [
        {
            **{"grid": EQUAL, "task": task, "gpus": gpus[task], "placer": GDP.placer},
            "evaluations": GDP.placements,
            **{"against": HDP.placer, "ratio": duel.ratio, "n": len(duel.ours.seconds)},
            **{"n_against": len(duel.theirs.seconds), "verdict": duel.verdict},
            **{f"interval_{name}": value for name, value in duel.interval._asdict().items()},
        }
        for task, duel in duels.items()
    ]
    return pd.DataFrame(rows)


def _restarts(records: pd.DataFrame) -> str:
    """Why they have no column after 4,000 placements."""
    text = "Restarts of METIS were not run for 4,000 placements"
    mine = records[(records["grid"] == EQUAL) & (records["placer"] == RESTARTS.placer)]
    seconds = float(mine["wall_seconds"].mean())
    if seconds != seconds:
        return f"{text}."
    return (
        f"{text}: 1,000 take {seconds:.0f} seconds on average, so that 4,000 would take about"
        f" {4 * seconds / 60:.0f} minutes for each graph and seed."
    )


def _parts(records: pd.DataFrame, tasks: tuple[str, ...]) -> Section:
    """A row a part, a column a graph."""
    rows = []
    for label, what in WITHOUT.items():
        duels = [
            Duel(
                *(_found(records, task, _Column("", PARTS, name, 1000)) for name in (label, WHOLE))
            )
            for task in tasks
        ]
        known = [duel.ratio for duel in duels if duel.ratio == duel.ratio]
        mean = geometric_mean(known) if len(known) == len(tasks) else nan
        rows.append((what, *map(_ratio, duels), f"{mean:.3f}" if mean == mean else "-"))
    shown = sum("[" in cell for row in rows for cell in row[1:])
    chance = f" Of the {shown} intervals {(1 - LEVEL) * shown:.0f} would leave out 1 by chance."
    lead = PARTS_LEAD + chance * bool(shown)
    return Section("What a part brings", ("left out", *tasks, "all graphs"), tuple(rows), lead)


def _ratio(duel: Duel) -> str:
    if duel.ratio != duel.ratio:
        return "missing"
    low, high, _ = duel.interval
    if low != low or duel.interval.is_range:
        return f"{duel.ratio:.3f}"
    text = f"{duel.ratio:.3f} [{low:.3f}-{high:.3f}]"
    return f"**{text}**" if not low <= 1 <= high else text
