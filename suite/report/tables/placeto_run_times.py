"""Placeto's table of run times (Addanki et al., NeurIPS 2019), on the tasks of HDP's Table 1."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, nan
from statistics import median

import pandas as pd

from suite.bench.cell import Cell
from suite.bench.grid import load_grid
from suite.report.load_records import of_cells
from suite.report.metrics import metric
from suite.report.outcome import Outcome, word
from suite.report.table import Section, Table
from suite.report.tables._notes import code_note, failures, provenance
from suite.report.until import History, median_until, printed

GRIDS = ("placeto", "reference", "quick")
"""What ``placebench bench placeto_run_times`` runs."""
SIMPLE = {
    "cpu_only": "CPU only",
    "gpu_only": "1 GPU",
    "human_expert": "Expert",
}
"""Placer of grid ``quick`` -> its column in the paper."""
SCOTCH = {"scotch": "Scotch"}
"""The paper's other simple column, of grid ``reference``, which has more than one seed."""
PLACETO = {
    "placeto": "Placeto",
    "terminal": "Placeto, terminal reward",
    "placeto_released": "Placeto as released",
    "released_decay": "as released, entropy's weight to 0",
}
RNN = "hdp_tf_release"
"""What the paper calls RNN-based: the code of HDP that TensorFlow's repository had."""
LEARNED = {RNN: "RNN-based (HDP as released)", "hdp": "HDP", "hdp_tuned": "HDP tuned"}
"""Learned placer of grid ``reference`` -> its column."""
HEADS = SIMPLE | SCOTCH | PLACETO | LEARNED
"""All of these, in the order of the columns."""
SECONDS = metric("step_time")
MEDIANS = "Medians over seeds."
TITLE = "Placeto: run times of placements, and placements until they were found"
LEAD = """\
Simulated seconds of one training step, lower is better: the median over seeds and their range.
In the paper (Addanki et al., NeurIPS 2019) searches had up to 94,000 placements; ours have fewer,
and not all the same number: the first table says how many. The paper's models, batches and GPUs are
others (K80s), so that its figures stand in a table of their own; the claims are what can be
compared."""
BUDGETS = 2.0
"""Ratio of two budgets up to which it is compared when each search found its best: one of 20,000
placements would find its own late whatever it is compared with."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of the three grids, and the paper's table."""
    cells = [job.cell for grid in GRIDS for job in load_grid(grid).jobs]
    wanted = [c for c in cells if c.placer in _placers(c.grid)]
    ours = of_cells(records, wanted)
    theirs = published[(published["paper"] == "Placeto") & (published["table"] == "run times")]
    found = [_Row(ours, wanted, *at) for at in dict.fromkeys((c.task, c.gpus) for c in wanted)]
    columns = ["grid", "task", "gpus", "placer", "seed", "status", "step_time", "evaluations"]
    return Table(
        TITLE,
        LEAD,
        (_claims(found, theirs), _times(found), _until(found), _caught_up(found), _printed(theirs)),
        (
            f"{len(ours)} of {len(wanted)} records are there.",
            "Reduction = (RNN-based - Placeto) / RNN-based, speed-up = placements of RNN-based"
            " until its best / those of Placeto: the paper's formulas, by its figures; ours are of"
            " medians. A search that stops early and finds little is the faster by the second.",
            "RNN-based is, in the paper, the code of HDP in TensorFlow's repository. Run as it was"
            " published it does not learn from what it measures (docs/planners.md);"
            " `hdp_tf_release` has its settings.",
            "Placeto's groups, rewards and schedule: docs/planners.md. What is not found in the"
            " paper or its code is chosen there, and named.",
            *failures(ours),
            *provenance(ours),
            *code_note(ours),
        ),
        ours[columns],
        len(wanted),
        len(ours),
    )


def _placers(grid: str) -> dict[str, str]:
    """Those of a grid that the table shows, with their heads; of others none."""
    return {"placeto": PLACETO, "reference": SCOTCH | LEARNED, "quick": SIMPLE}.get(grid, {})


class _Row:
    """One task: what each placer found, and after how many placements."""

    def __init__(self, ours: pd.DataFrame, wanted: list[Cell], task: str, gpus: int) -> None:
        here = ours[(ours["task"] == task) & (ours["gpus"] == gpus)]
        self.task, self.gpus = task, gpus
        self.outcome, self.placements = dict[str, Outcome](), dict[str, float]()
        self.budget = dict[str, float]()
        self._histories = dict[str, list[History]]()
        for placer in HEADS:
            records = here[here["placer"] == placer]
            expected = sum((c.task, c.gpus, c.placer) == (task, gpus, placer) for c in wanted)
            self.outcome[placer] = Outcome.of(records, expected)
            valid = records[records["status"] == "ok"]["history"]
            last = [history[-1][0] for history in valid if history]
            self.placements[placer] = median(last) if last else nan
            self.budget[placer] = max(records["evaluations"].dropna(), default=nan)
            self._histories[placer] = list(valid)

    def reduction(self, placer: str, base: str) -> float:
        """Percent of the base's step time; NaN where one of the two has none."""
        other = self.outcome[base].median
        return 100 * (other - self.outcome[placer].median) / other

    def speed_up(self, placer: str, base: str) -> float:
        """How many times as many placements the base needed until its best.

        NaN where one of the two had BUDGETS times as many as the other, or more.
        """
        budgets = sorted((self.budget[base], self.budget[placer]))
        if not budgets[1] < BUDGETS * budgets[0]:
            return nan
        return self.placements[base] / self.placements[placer]

    def until(self, placer: str, base: str) -> float:
        """Placements by which half of the seeds were as fast as the base in the end, or inf."""
        return median_until(self._histories[placer], self.outcome[base].median)


def _claims(rows: list[_Row], theirs: pd.DataFrame) -> Section:
    """How often it is faster, and how much sooner, against each other learned placer."""

    def published(column: str) -> list[float]:
        return list(theirs[theirs["column"] == column]["value"])

    def entries() -> Iterator[tuple[str, ...]]:
        figures = _summary(published("reduction"), published("speed_up"))
        yield ("published", "RNN-based", "as needed", *figures)
        for placer, head in PLACETO.items():
            for base, other in LEARNED.items():
                gains = [row.reduction(placer, base) for row in rows]
                each = " / ".join(_budget(rows, one) for one in (placer, base))
                speeds = [row.speed_up(placer, base) for row in rows]
                yield (head, other, each, *_summary(gains, speeds))

    header = ("", "against", "placements of each", "faster on", "reduction %")
    return Section(
        "The claims",
        (*header, "needs fewer placements on", "speed-up"),
        tuple(entries()),
        "Placements: how many a search evaluated. Where one had twice as many as the other, or"
        " more, it is not compared after how many each found its best: the longer one improves to"
        " its end. After how many Placeto is as fast as another ends: the last table of ours.",
    )


def _budget(rows: list[_Row], placer: str) -> str:
    """The most placements that one search of the placer evaluated."""
    known = [row.budget[placer] for row in rows if not isnan(row.budget[placer])]
    return printed(max(known, default=nan))


def _summary(gains: list[float], speeds: list[float]) -> tuple[str, str, str, str]:
    """On how many tasks, and from where to where; what is not known is left out."""
    gains = [x for x in gains if not isnan(x)]
    speeds = [x for x in speeds if not isnan(x)]
    return (
        f"{sum(x > 0 for x in gains)} of {len(gains)}",
        f"{min(gains):.3g} to {max(gains):.3g}" if gains else "missing",
        f"{sum(x > 1 for x in speeds)} of {len(speeds)}" if speeds else "-",
        f"x{min(speeds):.2g} to x{max(speeds):.2g}" if speeds else "-",
    )


def _times(rows: list[_Row]) -> Section:
    found = [
        (row.task, str(row.gpus), *(row.outcome[p].text(SECONDS) for p in HEADS)) for row in rows
    ]
    return Section("Step time", ("task", "#GPUs", *HEADS.values()), tuple(found))


def _until(rows: list[_Row]) -> Section:
    heads = PLACETO | LEARNED
    found = [
        (row.task, str(row.gpus), *(printed(row.placements[p]) for p in heads)) for row in rows
    ]
    title = "Placements evaluated until the best was found"
    return Section(title, ("task", "#GPUs", *heads.values()), tuple(found), MEDIANS)


def _caught_up(rows: list[_Row]) -> Section:
    pairs = {(p, base): f"{PLACETO[p]}: {LEARNED[base]}" for p in PLACETO for base in LEARNED}
    found = [
        (row.task, str(row.gpus), *(printed(row.until(*pair)) for pair in pairs)) for row in rows
    ]
    title = (
        "Placements by which half of Placeto's seeds were as fast as another's median at the end"
    )
    return Section(title, ("task", "#GPUs", *pairs.values()), tuple(found))


def _printed(theirs: pd.DataFrame) -> Section:
    """The paper's table, as printed."""
    columns = dict.fromkeys(theirs["column"])
    at = theirs[theirs["gpus"] > 0][["printed_task", "gpus"]].drop_duplicates()
    rows = []
    for model, gpus in at.itertuples(index=False):
        cells = []
        for column in columns:
            here = theirs[(theirs["printed_task"] == model) & (theirs["column"] == column)]
            [cell] = here[here["gpus"].isin([0, gpus])].itertuples(index=False)
            cells.append(str(cell.printed) if cell.status == "ok" else word(str(cell.status)))
        rows.append((model, str(gpus), *cells))
    units = theirs.drop_duplicates("column").set_index("column")["unit"]
    heads = [f"{column.replace('_', ' ')} ({units[column]})" for column in columns]
    lead = "Inception-V3 and NASNet of 64, NMT of 128; Tesla K80s."
    return Section("What the paper prints", ("model", "#GPUs", *heads), tuple(rows), lead)
