"""What searches of learned planners cost: seconds per 1,000 evaluations and per update."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan, nan

import pandas as pd

from suite.bench.grid import planned_cells
from suite.report.load_records import of_cells
from suite.report.outcome import JUDGED
from suite.report.table import Section, Table
from suite.report.tables._notes import code_note, failures, hosts, provenance

GRIDS = (
    *("post", "placeto", "gdp", "reference", "equal_evaluations", "paper", "hdp_tf13_learned"),
    *("hsdag", "learned_moves"),
)
"""Those with whole searches of a planner, and of annealing at the same numbers of evaluations."""
HEADS = {
    "post": "Post",
    "post_tuned": "Post, tuned",
    "placeto": "Placeto",
    "terminal": "Placeto, terminal reward",
    "placeto_released": "Placeto as released",
    "gdp": "GDP",
    "gdp_tuned": "GDP, tuned",
    "hdp": "HDP",
    "hdp_tuned": "HDP, tuned",
    "hdp_tf_release": "HDP, TF release",
    "colocrl": "ColocRL",
    "hsdag": "HSDAG",
    "hsdag_tuned": "HSDAG, tuned",
    "hsdag_released": "HSDAG as released",
    "rnn_based": "RNN-based",
    "learned_moves_1000": "learned moves",
    "annealing": "annealing",
    "annealing_1000": "annealing",
}
"""Label of a placer in a grid -> its row or column; annealing learns nothing: a yardstick."""
UPDATES = ("updates", "episodes")
"""What a planner calls the changes of its policy."""
FIGURES = {
    "wall_per_1000": "wall per 1,000",
    "cpu_per_1000": "CPU per 1,000",
    "wall_per_update": "wall per update",
    "cpu_per_update": "CPU per update",
}
"""Figure -> its head."""

TITLE = "What searches cost: seconds per 1,000 evaluations and per update"
LEAD = """\
Wall-clock seconds and CPU seconds of whole searches, divided by the placements evaluated (per
1,000) and by the updates of the policy; lower is better. They hold all that a search does: prepare
its features, build TensorFlow's functions, draw, judge by the simulator, learn. Capturing the graph
and compiling the simulator, once on each host, are left out, as records leave them out. Of several
records of a planner and a task each figure is the least [1]."""
RANGES = """\
Over the planner's tasks, from the cheapest to the dearest; how long the searches were is in the
last section."""


@dataclass(frozen=True)
class _Costs:
    """One planner on one task."""

    planner: str
    machine: str
    task: str
    gpus: int
    records: int
    evaluations: tuple[int, int]
    """Least and most of a record."""
    updates: tuple[int, int]
    """Likewise; zeros for what has no updates."""
    figures: dict[str, float]
    """The least of FIGURES over records, NaN for those that there are not."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of GRIDS."""
    planned = [cell for grid in GRIDS for cell in planned_cells(grid) if cell.placer in HEADS]
    ours = of_cells(records, planned)
    asked = dict.fromkeys((HEADS[c.placer], c.machine, c.task, c.gpus) for c in planned)
    whole = ours[ours["status"].isin(JUDGED) & (ours["evaluations"] > 0)]
    order = {head: i for i, head in enumerate(dict.fromkeys(HEADS.values()))}
    found = [
        costs for key in sorted(asked, key=lambda k: order[k[0]]) if (costs := _costs(whole, *key))
    ]
    machines = dict.fromkeys(cell.machine for cell in planned)
    beside = (_beside([c for c in found if c.machine == name], name) for name in machines)
    return Table(
        TITLE,
        LEAD,
        (_ranges(found, order), *(section for section in beside if section.rows), _all(found)),
        (
            "Hosts differ, and were busy with other work at times: the least of several records is"
            " nearest to what a search takes alone, and wall-clock and CPU seconds may be of"
            " different records, even of different hosts. So differences of some ten per cent mean"
            " nothing. TensorFlow has one thread for each kind of work; the simulator may use more"
            " cores, so that CPU seconds can be more than wall-clock seconds.",
            "An update of Placeto is an episode: of each group once, an evaluation each unless it"
            " stays where it is, or with the terminal reward one. HDP's TF release evaluates one"
            " placement an update, and a short search pays relatively more for building"
            " TensorFlow's functions.",
            "Peak memory is in no record: [planner_memory](../benchmarks/planner_memory.md)"
            " measures it.",
            f"{len(ours)} of {len(planned)} records are there.",
            *failures(ours),
            *hosts(ours),
            *provenance(ours),
            *code_note(ours),
        ),
        _data(found),
        len(planned),
        len(ours),
    )


def _costs(
    records: pd.DataFrame, planner: str, machine: str, task: str, gpus: int
) -> _Costs | None:
    """Of one planner on one task; None without a record."""
    mine = records[
        (records["placer"].map(HEADS) == planner)
        & (records["machine"] == machine)
        & (records["task"] == task)
        & (records["gpus"] == gpus)
    ]
    if mine.empty:
        return None
    updates = pd.Series([_updates(said) for said in mine["planner"]], mine.index, "float64")
    figures = {
        f"{clock}_per_{unit}": float((mine[f"{clock}_seconds"] / count).min())
        for unit, count in (("1000", mine["evaluations"] / 1000), ("update", updates))
        for clock in ("wall", "cpu")
    }
    ends = _ends(mine["evaluations"]), _ends(updates.dropna())
    return _Costs(planner, machine, task, gpus, len(mine), *ends, figures)


def _updates(said: dict[str, int]) -> float:
    """How many updates a planner made by what it says of itself; NaN where it has none."""
    return next((float(said[name]) for name in UPDATES if said.get(name)), nan)


def _ends(counts: Iterable[float]) -> tuple[int, int]:
    known = [int(n) for n in counts]
    return min(known, default=0), max(known, default=0)


def _ranges(found: list[_Costs], order: Iterable[str]) -> Section:
    """A row a planner: its cheapest and its dearest task."""
    rows = []
    for planner in order:
        mine = [costs for costs in found if costs.planner == planner]
        if mine:
            cells = (_range([c.figures[figure] for c in mine]) for figure in FIGURES)
            rows.append((planner, str(len(mine)), *cells))
    header = ("planner", "tasks", *FIGURES.values())
    return Section("Planner by planner, seconds", header, tuple(rows), RANGES)


def _range(values: list[float]) -> str:
    known = [value for value in values if not isnan(value)]
    return f"{_seconds(min(known))} to {_seconds(max(known))}" if known else "-"


def _beside(found: list[_Costs], machine: str) -> Section:
    """A row a task, a column a planner: of those that were run on the machine."""
    planners = tuple(dict.fromkeys(costs.planner for costs in found))
    by = {(c.task, c.gpus, c.planner): c.figures for c in found}
    rows = []
    for task, gpus in dict.fromkeys((c.task, c.gpus) for c in found):
        figures = [by.get((task, gpus, planner)) for planner in planners]
        cells = (
            f"{_seconds(f['wall_per_1000'])} / {_seconds(f['cpu_per_1000'])}" if f else "-"
            for f in figures
        )
        rows.append((task, str(gpus), *cells))
    title = f"Seconds per 1,000 evaluations, wall / CPU, machine `{machine}`"
    return Section(title, ("task", "#GPUs", *planners), tuple(rows))


def _all(found: list[_Costs]) -> Section:
    """A row a planner and a task."""
    rows = tuple(
        (
            *(c.planner, c.machine, c.task, str(c.gpus), str(c.records)),
            *(_counts(c.evaluations), _counts(c.updates)),
            *(_seconds(c.figures[figure]) for figure in FIGURES),
        )
        for c in found
    )
    header = ("planner", "machine", "task", "#GPUs", "records", "evaluations", "updates [2]")
    return Section("Every planner and task, seconds", (*header, *FIGURES.values()), rows)


def _counts(ends: tuple[int, int]) -> str:
    least, most = ends
    return f"{least:,} to {most:,}" if least < most else f"{most:,}" if most else "-"


def _seconds(value: float) -> str:
    """Three digits; more only where they stand before the point."""
    return "-" if isnan(value) else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _data(found: list[_Costs]) -> pd.DataFrame:
    keys = ("planner", "machine", "task", "gpus", "records")
    counts = ("least_evaluations", "most_evaluations", "least_updates", "most_updates")
    rows = [
        (
            *(getattr(costs, key) for key in keys),
            *(*costs.evaluations, *costs.updates),
            *(costs.figures[figure] for figure in FIGURES),
        )
        for costs in found
    ]
    return pd.DataFrame(rows, columns=[*keys, *counts, *FIGURES])
