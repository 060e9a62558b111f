"""Records as the page carries them, and which of them stand beside which published numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from suite.bench.cell import SIMULATOR
from suite.core.units import format_count
from suite.report import colocrl, hdp, post
from suite.report.comparison import Comparison, Row
from suite.report.world import World
from suite.simulator.semantics import PLACEBENCH

Value = str | int | float | bool | None | Sequence["Value"] | Mapping[str, "Value"]
"""What JSON can hold."""
NUMBERS = ("step_time", "lower_bound", "wall_seconds", "evaluations")
COLUMNS = ("grid", "machine", "gpus", "task", "placer", "seed", "backend", "status", *NUMBERS)
"""Of the page's records; the last one, ``path``, is the record's file below the results."""
DIGITS = 5
"""Significant digits of numbers; the record's file has them all."""
MORE_GRIDS = ("race", "strong", "colocrl", "post")
"""Grids whose placers stand beside those of HDP's Table 1, where its own have no record."""
NAMES = {**post.PLACERS, **colocrl.LEARNERS, **hdp.PLACERS}
"""Placer -> what people call it."""


def short(value: float) -> float | int | None:
    """Round to DIGITS significant digits; None where it is no number."""
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded == int(rounded) else rounded


def record_rows(records: pd.DataFrame, results: Path) -> list[Value]:
    """A list a record, in the order of COLUMNS; then its file's path below ``results``."""
    texts = [records[name].tolist() for name in COLUMNS if name not in NUMBERS]
    numbers = [[short(float(v)) for v in records[name]] for name in NUMBERS]
    paths = [Path(path).relative_to(results).as_posix() for path in records["path"]]
    return [list(row) for row in zip(*texts, *numbers, paths, strict=True)]


def histories(records: pd.DataFrame) -> dict[str, Value]:
    """Number of a record -> its search: evaluations, seconds, best step times, a list each."""
    found: dict[str, Value] = {}
    for number, history in enumerate(records["history"]):
        if len(history) > 1:
            columns = zip(*history, strict=True)
            found[str(number)] = [[short(float(v)) for v in column] for column in columns]
    return found


def placers(records: pd.DataFrame) -> list[dict[str, Value]]:
    """Every placer of a simulated record: name, what people call it, whether it searches."""
    simulated = records[records["backend"] == SIMULATOR]
    searches = set(simulated.loc[simulated["history"].map(len) > 1, "placer"])
    names = sorted(set(simulated["placer"]), key=lambda n: (n in searches, n))
    return [{"name": n, "label": NAMES.get(n, n), "searches": n in searches} for n in names]


@dataclass(frozen=True, eq=False)
class View:
    """A paper's table or everything else: rows that the plots can show."""

    title: str
    comparison: Comparison | None
    """None: every simulated record, a row for each machine, number of GPUs and task."""

    def rows(self, records: pd.DataFrame) -> list[Value]:
        """Rows that have records."""
        if self.comparison is None:
            return _all_rows(records)
        rows = [self._row(row, self.comparison) for row in self.comparison.rows]
        return [row for row in rows if row["records"]]

    def _row(self, row: Row, comparison: Comparison) -> dict[str, Value]:
        mine = comparison.of_row(row)
        published: list[Value] = []
        for placer in sorted(set(mine["placer"])):
            theirs = comparison.theirs(row, placer)
            if theirs.status != "not_given":
                value = short(theirs.value)
                published.append({"placer": placer, "value": value, "printed": theirs.text})
        numbers: list[Value] = [int(number) for number in mine.index]
        bound = short(comparison.bound(row)[0])
        label = f"{row.model}, {format_count(row.gpus, 'GPU')}"
        return {"label": label, "bound": bound, "published": published, "records": numbers}


def views(records: pd.DataFrame, published: pd.DataFrame) -> list[Value]:
    """The tables that the plots can show, their titles and rows; those without records left out."""
    found: list[Value] = []
    for view in _views(records, published):
        rows = view.rows(records)
        if rows:
            found.append({"title": view.title, "rows": rows})
    return found


def _views(records: pd.DataFrame, published: pd.DataFrame) -> list[View]:
    today = replace(hdp.TODAY, grids=(*hdp.TODAY.grids, *MORE_GRIDS))
    everyone = set(records["placer"])
    table1, table2 = "HDP, Table 1", "ColocRL, Table 2"
    return [
        View(table1, hdp.beside_table1(records, published, everyone, today)),
        View(
            f"{table1}, graphs of TensorFlow 1.3",
            hdp.beside_table1(records, published, everyone, hdp.TF13),
        ),
        *(
            View(title, where.beside(records, _colocrl(published, where), everyone))
            for title, where in (
                (table2, colocrl.TODAY),
                (f"{table2}, graphs of TensorFlow 1.3", colocrl.TF13),
            )
        ),
        View("Every simulated record", None),
    ]


def _colocrl(published: pd.DataFrame, where: World) -> pd.DataFrame:
    return colocrl.printed_table(published, "2", where)


def _all_rows(records: pd.DataFrame) -> list[Value]:
    simulated = records[(records["backend"] == SIMULATOR) & ~records["utilisation"].map(_empty)]
    rows: list[Value] = []
    # A bound holds for one semantics.
    of_problem = simulated.groupby(["machine", "task", "gpus", "semantics"])
    for (machine, task, gpus, semantics), mine in of_problem:
        rules = "" if semantics == PLACEBENCH.name else f", {semantics}"
        label = f"{task} on {machine}, {gpus} GPU{'s' * (gpus != 1)}{rules}"
        numbers: list[Value] = [int(number) for number in mine.index]
        bound = short(float(mine["lower_bound"].max()))
        rows.append({"label": label, "bound": bound, "published": [], "records": numbers})
    return rows


def _empty(mapping: Mapping[str, object]) -> bool:
    return not mapping
