"""What a transfer may have cost in the papers' world: hypotheses, fitted to HDP, tried on ColocRL.

The records are those of ``benchmarks/fit_links.py --write``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from suite.report import agreement, colocrl, hdp
from suite.report.comparison import Comparison
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes

GRID = "hypotheses"
PAPERS = {"HDP": ("1", hdp.TF13), "ColocRL": ("2", colocrl.TF13)}
"""Paper -> its table and our world."""
PLACERS = hdp.PAPER
"""Those whose cells are simulated, and their heads."""
FAR = 2.0
"""A cell further off than this factor is not explained."""

TITLE = "What a transfer cost: hypotheses"
LEAD = """\
No paper says what a transfer between devices cost. Each hypothesis has its constants from HDP's
cells that need several devices (fitted: least mean |ln ours / published|), and is then tried on
ColocRL's, which it has not seen (held out). The placements are the same under all but the last two
[1]: Scotch's and MinCut's, the median over three seeds, told the links of `k40` and `k80` (which
Placeto's authors found for TensorFlow 1), and the human expert's. The graphs are those of
TensorFlow 1.3.0."""


@dataclass(frozen=True)
class Cell:
    """One published number under one hypothesis."""

    paper: str
    row: str
    placer: str
    ours: float
    published: float
    """Seconds; NaN where one of the two is none."""
    several: bool
    """Whether it needs several devices."""

    @property
    def ratio(self) -> float:
        """Ours / published."""
        return self.ours / self.published


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of all cells and all published numbers."""
    mine = records[records["grid"] == GRID]
    names = list(dict.fromkeys(name for facts in mine["planner"] for name in facts))
    cells = {name: list(_cells(name, mine, published)) for name in names}
    sections = (_summary(mine, cells), _each(cells), _unexplained(cells))
    data = pd.DataFrame(
        [{"hypothesis": name, **vars(cell)} for name in names for cell in cells[name]],
        columns=["hypothesis", *Cell.__dataclass_fields__],
    )
    rows = sum(len(Comparison(mine, _printed(paper, published), ()).rows) for paper in PAPERS)
    text = (*_notes(), *notes.provenance(mine), *notes.code_note(mine))
    return Table(TITLE, LEAD, sections, text, data, rows * len(PLACERS), len(mine))


def _printed(paper: str, published: pd.DataFrame) -> pd.DataFrame:
    """A paper's table, with the names of our tasks."""
    number, where = PAPERS[paper]
    return where.printed(published[(published["paper"] == paper) & (published["table"] == number)])


def _beside(name: str, paper: str, records: pd.DataFrame, published: pd.DataFrame) -> Comparison:
    """A paper's table beside our cells as they are under a hypothesis."""
    facts = [planner[name] for planner in records["planner"]]
    judged = records.assign(
        step_time=[one["step_time"] for one in facts],
        status=["ok" if one["fits"] else "oom" for one in facts],
    )
    return Comparison(judged, _printed(paper, published), ())


def _cells(name: str, records: pd.DataFrame, published: pd.DataFrame) -> Iterator[Cell]:
    for paper in PAPERS:
        comparison = _beside(name, paper, records, published)
        for row in comparison.rows:
            for placer in PLACERS:
                for facts in comparison.of_cell(row, placer)["planner"]:
                    ours, theirs = comparison.ours(row, placer), comparison.theirs(row, placer)
                    several = facts[name]["several"]
                    yield Cell(paper, row.label, placer, ours.median, theirs.value, several)


def _error(cells: Sequence[Cell]) -> str:
    """The mean factor between ours and published where several devices work, and its bias."""
    found = agreement.spread(cell.ratio for cell in cells if cell.several)
    return f"x{found.error:.2f} (bias x{found.bias:.2f}, n={found.count})" if found.count else "-"


def _order(cells: Sequence[Cell]) -> str:
    """Pairs of a row's cells that are ordered as published."""
    known = [cell for cell in cells if cell.ratio > 0]
    same, total = agreement.ordered(((c.paper, c.row), c.ours, c.published) for c in known)
    return f"{same} of {total}"


def _summary(records: pd.DataFrame, cells: dict[str, list[Cell]]) -> Section:
    heads: tuple[str, ...] = ("Hypothesis", "latency, ms", "bandwidth, GB/s")
    for paper, kind in (("HDP", "fitted"), ("ColocRL", "held out")):
        heads += (f"{paper}, {kind}: error", "pairs as published")
    rows = []
    for name, all_cells in cells.items():
        facts = records["planner"].iloc[0][name]
        constants = (
            _constant(facts["latency"], facts["latency_interval"], 1e3),
            _constant(facts["bandwidth"], facts["bandwidth_interval"], 1e-9),
        )
        figures: tuple[str, ...] = ()
        for paper in PAPERS:
            part = [cell for cell in all_cells if cell.paper == paper]
            figures += (_error(part), _order(part))
        rows.append((name, *constants, *figures))
    lead = (
        "In square brackets: the middle 80 % of fits to cells drawn with replacement. Error: mean"
        " factor between ours and the published seconds of the cells that need several devices."
        " Pairs: of all cells of a row that do not learn."
    )
    return Section("Hypotheses", heads, tuple(rows), lead)


def _constant(value: float, interval: tuple[float, float], unit: float) -> str:
    low, high = (f"{end * unit:g}" for end in interval)
    return f"{value * unit:g} [{low}-{high}]"


def _each(cells: dict[str, list[Cell]]) -> Section:
    """Ours / published of every cell that needs several devices, a column a hypothesis."""
    shown = [cell for cell in next(iter(cells.values()), []) if cell.several]
    rows = []
    for cell in shown:
        key = cell.paper, cell.row, cell.placer
        ratios = [_find(all_cells, *key).ratio for all_cells in cells.values()]
        texts = [f"x{ratio:.2f}" if ratio == ratio else "OOM" for ratio in ratios]
        rows.append((cell.paper, cell.row, PLACERS[cell.placer], f"{cell.published:g}", *texts))
    header = ("Paper", "Task", "Placer", "published, s", *(str(i + 1) for i in range(len(cells))))
    lead = "Ours / published, the hypotheses numbered in the order of the first table."
    return Section("Cell by cell", header, tuple(rows), lead)


def _find(cells: Sequence[Cell], paper: str, row: str, placer: str) -> Cell:
    key = paper, row, placer
    return next(cell for cell in cells if (cell.paper, cell.row, cell.placer) == key)


def _unexplained(cells: dict[str, list[Cell]]) -> Section:
    """Cells that every hypothesis has further off than FAR."""
    rows = []
    for cell in next(iter(cells.values()), []):
        key = cell.paper, cell.row, cell.placer
        ratios = [_find(all_cells, *key).ratio for all_cells in cells.values()]
        nearest = min(ratios, key=lambda ratio: abs(math.log(ratio)) if ratio > 0 else math.inf)
        if cell.several and nearest > 0 and abs(math.log(nearest)) > math.log(FAR):
            name = list(cells)[ratios.index(nearest)]
            rows.append((cell.paper, cell.row, PLACERS[cell.placer], f"x{nearest:.2f}", name))
    header = ("Paper", "Task", "Placer", "nearest", "under")
    lead = f"Cells more than a factor of {FAR:g} off under every hypothesis."
    return Section("What none explains", header, tuple(rows), lead)


def _notes() -> Iterator[str]:
    yield (
        "Blocking: sender and receiver compute nothing while a transfer waits and is copied. One"
        " shared channel: one transfer at a time in the whole machine; else each GPU has a copy"
        " engine for each direction. Embeddings, or all variables, on the CPU: a change to the"
        " placements of experts and partitioners, not to the machine."
    )
    yield (
        "Intervals are over cells. Those of Scotch and MinCut depend on the seed as well: on"
        " [HDP's page](hdp_table1_tf13.md) MinCut's of RNNLM differ by a factor of 2."
    )
    yield "Other ideas, and why they cannot be it: docs/machines.md."
