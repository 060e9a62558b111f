"""How the ranking of the placers changes with the simulator's semantics (docs/simulator.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from suite.bench.grid import planned_cells
from suite.core.statistics import OrderAgreement, order_agreement
from suite.report import colocrl, hdp
from suite.report.comparison import Comparison, Row
from suite.report.metrics import metric
from suite.report.outcome import JUDGED
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.simulator.semantics import PLACEBENCH, PRESETS

OURS = PLACEBENCH.name
PEERS = tuple(name for name in PRESETS if name != OURS)
SOURCES = (
    ("HDP", "1", hdp.TODAY.grids, hdp.TODAY.machine),
    ("ColocRL", "2", colocrl.TODAY.grids, colocrl.TODAY.machine),
)
"""Paper and number of the table whose rows are the tasks, our grids, machine."""
GRIDS = tuple(grid for _, _, grids, _ in SOURCES for grid in grids)
TAU, SECONDS = metric("kendall_tau"), metric("step_time")

TITLE = "How rankings depend on the simulator's semantics"
LEAD = """\
The same recorded placements, simulated under the transfer and memory rules of `placebench` and of
three peers: Placeto's simulator, Baechi's and TensorFlow Grappler's virtual cluster
(docs/simulator.md). Op times and link speeds are the machine's under all of them, and every
placement was searched under `placebench`: what changes is the judge alone."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The placers on one task: those with a placement that fits under ``placebench``."""

    machine: str
    row: Row
    records: pd.DataFrame
    """Their records, and those of placers without one."""

    @cached_property
    def times(self) -> pd.DataFrame:
        """Median step time in seconds, float64[placers, semantics], fastest ours first."""
        fits = self.records[self.records["status"] == "ok"]
        rows = [
            {"placer": placer, **{name: verdict[name]["step_time"] for name in PRESETS}}
            for placer, verdict in zip(fits["placer"], fits["under_semantics"], strict=True)
        ]
        frame = pd.DataFrame(rows, columns=["placer", *PRESETS])
        medians = frame.groupby("placer", sort=True).median()
        return medians.sort_values(OURS, kind="stable")

    @property
    def label(self) -> str:
        """The task with its machine."""
        return f"{self.row.label} ({self.machine})"

    def agreement(self, peer: str) -> OrderAgreement:
        """The order under a peer's semantics beside ours."""
        return order_agreement(list(self.times[OURS]), list(self.times[peer]))

    def fastest(self, semantics: str) -> str:
        """The fastest placers, ties included."""
        column = self.times[semantics]
        return " = ".join(column.index[column == column.min()]) or "-"

    def out_of_memory(self, semantics: str) -> int:
        """Records whose placement does not fit."""
        return sum(bool(v[semantics]["oom"]) for v in self.records["under_semantics"])


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records that say how they fare under every semantics."""
    judged = records["status"].isin(JUDGED)
    scored = [set(PRESETS) <= set(verdicts) for verdicts in records["under_semantics"]]
    known = records[~judged | np.array(scored, np.bool_)]
    rankings, comparisons = [], []
    for paper, number, grids, machine in SOURCES:
        placers = {cell.placer for grid in grids for cell in planned_cells(grid)}
        printed = published[(published["paper"] == paper) & (published["table"] == number)]
        ours = Comparison.of(known, printed, placers, grids, machine)
        comparisons.append(ours)
        placed = [(row, _placed(ours.of_row(row))) for row in ours.rows]
        rankings += [Ranking(machine, row, there) for row, there in placed if not there.empty]
    sections = (_taus(rankings), _fastest(rankings), _times(rankings), _memory(rankings))
    return Table(
        TITLE,
        LEAD,
        sections,
        tuple(_notes(rankings, comparisons)),
        pd.DataFrame(list(_data(rankings)), columns=_COLUMNS),
        sum(c.expected for c in comparisons),
        sum(c.found for c in comparisons),
    )


def _placed(records: pd.DataFrame) -> pd.DataFrame:
    return records[records["status"].isin(JUDGED)]


def _taus(rankings: Sequence[Ranking]) -> Section:
    rows = []
    for ranking in rankings:
        cells = [_tau(ranking.agreement(peer)) for peer in PEERS]
        rows.append((ranking.label, str(len(ranking.times)), *cells))
    return Section(
        f"Kendall's tau against `{OURS}`",
        ("Tasks", "placers", *PEERS),
        tuple(rows),
        "Tau-b between the orders of the placers by median step time over the same seeds: 1 is the"
        " same order. In brackets: pairs of placers that change places, of those both decide. Only"
        f" placements that fit under `{OURS}` count.",
    )


def _tau(agreement: OrderAgreement) -> str:
    if agreement.tau != agreement.tau:
        return "-"
    return f"{TAU.format(agreement.tau)} ({agreement.reversed} of {agreement.pairs})"


def _fastest(rankings: Sequence[Ranking]) -> Section:
    rows = tuple((r.label, *(r.fastest(name) for name in PRESETS)) for r in rankings)
    return Section("The fastest placer", ("Tasks", *PRESETS), rows)


def _times(rankings: Sequence[Ranking]) -> Section:
    rows = []
    for ranking in rankings:
        ratios = [ranking.times[peer] / ranking.times[OURS] for peer in PEERS]
        cells = [f"x{np.exp(np.log(r).mean()):.2f} ({r.min():.2f}-{r.max():.2f})" for r in ratios]
        rows.append((ranking.label, *(cells if len(ranking.times) else ["-"] * len(PEERS))))
    lead = f"Step time / that under `{OURS}`: geometric mean over placers (smallest-largest)."
    return Section("Step times", ("Tasks", *PEERS), tuple(rows), lead)


def _memory(rankings: Sequence[Ranking]) -> Section:
    limited = [name for name, rules in PRESETS.items() if rules.limit != "none"]
    rows = tuple(
        (r.label, str(len(r.records)), *(str(r.out_of_memory(name)) for name in limited))
        for r in rankings
    )
    lead = "Recorded placements that run out of memory; the other semantics have no limit."
    return Section("Out of memory", ("Tasks", "placements", *limited), rows, lead)


def _notes(rankings: Sequence[Ranking], comparisons: Sequence[Comparison]) -> Iterator[str]:
    for (paper, number, _, machine), one in zip(SOURCES, comparisons, strict=True):
        yield f"Table {number} of {paper}, machine `{machine}`: {notes.completeness(one)}"
    yield (
        "A record of an earlier version does not say how its placement fares under other semantics"
        " and counts as missing; `placebench rescore` adds that, nothing else changed."
    )
    for ranking in rankings:
        without = sorted(set(ranking.records["placer"]) - set(ranking.times.index))
        if without:
            yield f"{ranking.label}, no placement that fits, not ranked: {', '.join(without)}."
    for comparison in comparisons:
        yield from notes.provenance(comparison.records)
    yield from notes.code_note(pd.concat([c.records for c in comparisons]))


_COLUMNS = ("machine", "task", "gpus", "placer", "semantics", "step_time", "rank", "kendall_tau")


def _data(rankings: Sequence[Ranking]) -> Iterator[dict[str, object]]:
    """Rows per placer and semantics; tau, of the whole order, on each of them."""
    for ranking in rankings:
        key = {"machine": ranking.machine, "task": ranking.row.task, "gpus": ranking.row.gpus}
        for name in PRESETS:
            times, tau = ranking.times[name], ranking.agreement(name).tau
            ranks = times.rank(method="min").astype(int)
            for placer, seconds, rank in zip(times.index, times, ranks, strict=True):
                facts = {"placer": placer, "semantics": name, "step_time": seconds}
                yield key | facts | {"rank": rank, "kendall_tau": tau}
