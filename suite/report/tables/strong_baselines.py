"""Every placer that does not learn, on 2, 4 and 8 GPUs, and what a minute of search brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

import pandas as pd

from suite.bench.cell import Cell
from suite.bench.grid import planned_cells
from suite.report.load_records import of_cells
from suite.report.metrics import metric
from suite.report.outcome import Outcome, word
from suite.report.table import PrintedCell, Section, Table
from suite.report.tables._columns import about, backends
from suite.report.tables._notes import code_note, failures, hosts, provenance
from suite.report.tables._planning_time import planning_time

GRIDS = GRID, RACE = "strong", "race"
SECONDS = metric("step_time")
TITLE = "Strong baselines: every placer that does not learn"
LEAD = """\
Simulated seconds of one training step, lower is better; in brackets the ratio to the proven lower
bound. In the tables by task also the seconds that the placer took (wall clock, one cell at a time)
and how many placements it had judged; budgets are each placer's own defaults there, and the fastest
of each column is bold. Every cell there is one seed, and the restarts are of METIS. Three searches
that do not learn are in none of the tables by task, but in that of sixty seconds: `coarse_to_fine`
and `window_by_window`, also in [annealing.md](annealing.md), and `estimated_moves`, also in
[learned_moves.md](learned_moves.md). Nor are there `random`, of which `best_of_random` is the best
of a hundred, and `min_cut_exact`, `openvino_cpu` and `openvino_gpu`, which are for OpenVINO's
plugin alone."""
RACE_LEAD = """\
Each search has 60 seconds and all cores, one cell at a time: the median over its seeds, its ratio
to the bound and, in square brackets, the least and the largest such ratio. What is within these is
not told apart. A partitioner has one seed; it is run again and again, with new seeds and all its
strategies and imbalances, and the best answer counts. `estimated_moves` and `learned_moves` have
one seed; the policy of the latter, which comes with placebench, has seen these graphs, on P100s.
Human expert and the learned planners stand beside, these with 1,000 placements and the seconds that
those took."""
ANSWERS_NOTE = (
    "From the histories of the race's searches, nothing was run for it; the placements are those"
    " that were judged. One GPU (the expert's placement too, where the expert takes one), an answer"
    " of METIS and one of `m_etf` are among the starts, so that these searches begin about where a"
    " partitioner ends. A partitioner's single answer is the median over its seeds in the grids"
    " `reference`, `quick` and `strong`, n of them, and the best of METIS, Scotch, `mincut` and"
    " Mt-KaHyPar counts. Mt-KaHyPar has one seed and is not run again and again in the race: where"
    " it is the best, there is only the fastest of the others' restarts."
)
BESIDE = {"human_expert": "quick", "hdp": "reference", "hdp_tuned": "reference"}
"""Placers beside the race, and the grid that each comes from."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of the grids ``strong`` and ``race``."""
    cells = [cell for grid in GRIDS for cell in planned_cells(grid)]
    ours = of_cells(records, cells)
    strong, race = (ours[ours["grid"] == grid] for grid in (GRID, RACE))
    tasks = list(dict.fromkeys(cell.task for cell in cells if cell.grid == GRID))
    real = backends(records, [GRID])
    sections = [_task(task, strong, [c for c in cells if c.grid == GRID], real) for task in tasks]
    race_cells = [cell for cell in cells if cell.grid == RACE]
    others = [cell for grid in dict.fromkeys(BESIDE.values()) for cell in planned_cells(grid)]
    beside = of_cells(records, others)
    beside = beside[beside["placer"].isin(BESIDE)]
    races = list(dict.fromkeys((cell.task, cell.gpus) for cell in race_cells))
    times, reached = planning_time(records, race, races)
    columns = ["grid", "task", "gpus", "placer", "seed", "status", "step_time", "lower_bound"]
    columns += ["evaluations", "wall_seconds", "cpu_seconds"]
    return Table(
        TITLE,
        LEAD,
        (_race(race, beside, race_cells), times, *sections),
        (
            ANSWERS_NOTE,
            f"{len(ours)} of {len(cells)} records are there.",
            *failures(ours),
            *hosts(pd.concat([ours, beside])),
            *provenance(ours),
            *code_note(ours),
            *about(real),
        ),
        pd.concat([ours[columns], reached], ignore_index=True),
        len(cells),
        len(ours),
    )


def _task(
    task: str, records: pd.DataFrame, cells: Sequence[Cell], real: Mapping[str, pd.DataFrame]
) -> Section:
    """A row a placer; for each number of GPUs a column, and one for each backend in ``real``."""
    counts = sorted({cell.gpus for cell in cells if cell.task == task})
    placers = list(dict.fromkeys(cell.placer for cell in cells if cell.task == task))
    columns = {}
    for n in counts:
        columns[f"{n} GPUs"] = _of(records, task, n)
        columns |= {f"{n} GPUs, {head}": _of(made, task, n) for head, made in real.items()}
    best = {head: _valid(here)["step_time"].min() for head, here in columns.items()}
    rows = [
        (placer, *(_cell(here[here["placer"] == placer], best[h]) for h, here in columns.items()))
        for placer in placers
    ]
    bounds = (_bound(here) for here in columns.values())
    rows.append(("lower bound", *(f"{b:.3f}" if b == b else "missing" for b in bounds)))
    return Section(task, ("placer", *columns), tuple(rows))


def _valid(records: pd.DataFrame) -> pd.DataFrame:
    return records[records["status"] == "ok"]


def _cell(records: pd.DataFrame, best: float) -> str:
    outcome = Outcome.of(records, 1)
    if not outcome.values:
        return word(outcome.status)
    record = records.iloc[0]
    text = SECONDS.format(outcome.median)
    text = f"**{text}**" if outcome.median == best else text
    ratio = outcome.median / float(record["lower_bound"])
    spent = f"{float(record['wall_seconds']):.1f} s, {int(record['evaluations']):,}"
    return PrintedCell(f"{text} (x{ratio:.2f}; {spent})", outcome.median, _details(outcome, ratio))


def _race(race: pd.DataFrame, others: pd.DataFrame, cells: Sequence[Cell]) -> Section:
    labels = list(dict.fromkeys(cell.placer for cell in cells))
    rows = []
    for task, gpus in dict.fromkeys((cell.task, cell.gpus) for cell in cells):
        here, beside = _of(race, task, gpus), _of(others, task, gpus)
        both = pd.concat([here, beside])
        bound = _bound(both)
        row = [task, str(gpus)]
        row += [_ratio(here[here["placer"] == label], bound) for label in labels]
        for placer, grid in BESIDE.items():
            mine = beside[(beside["placer"] == placer) & (beside["grid"] == grid)]
            spent = f", {mine['wall_seconds'].median():.0f} s" if placer != "human_expert" else ""
            row.append(_ratio(mine, bound, spent))
        # What binds is said of the bound that is printed, should records have another.
        kind = next(iter(both["bound_kind"][both["lower_bound"] == bound]), "")
        rows.append((*row, "missing" if isnan(bound) else f"{bound:.3f}", kind))
    header = ("task", "GPUs", *labels, *BESIDE, "lower bound", "what binds")
    return Section("Sixty seconds", header, tuple(rows), RACE_LEAD)


def _of(records: pd.DataFrame, task: str, gpus: int) -> pd.DataFrame:
    return records[(records["task"] == task) & (records["gpus"] == gpus)]


def _ratio(records: pd.DataFrame, bound: float, spent: str = "") -> str:
    outcome = Outcome.of(records, 1)
    if not outcome.values:
        return word(outcome.status)
    ratio = outcome.median / bound
    least, most = outcome.values[0] / bound, outcome.values[-1] / bound
    spread = f" [{least:.2f}-{most:.2f}]" if len(outcome.values) > 1 else ""
    text = f"{outcome.median:.3f} (x{ratio:.2f}{spread}{spent})"
    return PrintedCell(text, outcome.median, _details(outcome, ratio))


def _details(outcome: Outcome, ratio: float) -> tuple[str, ...]:
    return (*outcome.details, f"step time / lower bound: {ratio:.4g}")


def _bound(records: pd.DataFrame) -> float:
    return float(records["lower_bound"].max()) if len(records) else float("nan")
