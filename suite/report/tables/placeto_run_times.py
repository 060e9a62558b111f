"""Placeto's table of run times (Addanki et al., NeurIPS 2019), on the tasks of HDP's Table 1."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, nan

import pandas as pd

from suite.bench.grid import planned_cells
from suite.report.load_records import of_cells
from suite.report.metrics import metric
from suite.report.outcome import word
from suite.report.placeto import HEADS, LEARNED, PLACETO, SCOTCH, SIMPLE, TRANSFERRED, Row
from suite.report.table import Section, Table
from suite.report.tables._claims import RULE, Claim, claims_section
from suite.report.tables._notes import code_note, failures, provenance
from suite.report.tables._placeto_claims import placeto_claims, untried
from suite.report.until import printed

GRIDS = ("placeto", "reference", "quick", "transfer")
"""What ``placebench bench placeto_run_times`` runs."""
SECONDS = metric("step_time")
CLAIMS_NOTE = 4
"""The note that says how claims are decided."""
MEDIANS = "Medians over seeds."
PRINTED_HEADS = {
    **{placer: f"{head}, s" for placer, head in (SIMPLE | SCOTCH).items()},
    **{"placeto": "Placeto, s", "rnn_based": "RNN-based, s"},
    "placeto_placements": "Placeto, placements",
    "rnn_based_placements": "RNN-based, placements",
    **{"reduction": "reduction, %", "speed_up": "speed-up"},
}
"""Columns of the paper's table -> what stands above them."""
TITLE = "Placeto: run times of placements, and placements until they were found"
LEAD = """\
Simulated seconds of one training step, lower is better: the median over seeds and their range.
In the paper (Addanki et al., NeurIPS 2019) searches had up to 94,000 placements; ours have fewer,
and not all the same number: the second table says how many. The paper's models, batches and GPUs
are others (K80s), so that its figures stand in a table of their own; the claims are what can be
compared. Graphs that a policy was not trained on have [a page of their own](transfer.md)."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of the grids, and the paper's table."""
    cells = [cell for grid in GRIDS for cell in planned_cells(grid)]
    wanted = [c for c in cells if c.placer in _placers(c.grid)]
    ours = of_cells(records, wanted)
    theirs = published[(published["paper"] == "Placeto") & (published["table"] == "run times")]
    found = [Row(ours, wanted, *at) for at in dict.fromkeys((c.task, c.gpus) for c in wanted)]
    claims = list(placeto_claims(found, theirs, _of(published, "GDP")))
    columns = ["grid", "task", "gpus", "placer", "seed", "status", "step_time", "evaluations"]
    return Table(
        TITLE,
        LEAD,
        (
            claims_section(claims, CLAIMS_NOTE, untried(_of(published, "Placeto"))),
            _against(found, theirs),
            _times(found),
            _until(found),
            _caught_up(found),
            _printed(theirs),
        ),
        (
            f"{len(ours)} of {len(wanted)} records are there.",
            "Reduction = (RNN-based - Placeto) / RNN-based, speed-up = placements of RNN-based"
            " until its best / those of Placeto: the paper's formulas, by its figures; ours are of"
            " medians. A search that stops early and finds little is the faster by the second.",
            "RNN-based is, in the paper, the code of HDP in TensorFlow's repository. Run as it was"
            " published it does not learn from what it measures (docs/planners.md);"
            " `hdp_tf_release` has its settings.",
            f"{RULE}"
            " Of searches, the same about a ratio of 1. Gains are (other - Placeto) / Placeto,"
            " of medians over seeds; GEOMEAN is the geometric mean of other / Placeto, less 1,"
            " and leaves out what runs out of memory (OOM), an infinite step time. The"
            " published figures are these means of the cells of the paper's table, which it"
            " does not print, or what GDP's paper says of Placeto, on graphs of its own; the"
            " rows of the paper say what the rule makes of its cells. Ours are of other"
            " graphs, and of searches that evaluated as many placements as the next table"
            " says: the RNN-based ones far fewer than Placeto's, which favours Placeto in run"
            " time. Placements until as fast as another in the end are counted from the curves"
            " of both, by half of the seeds. Behind `<` are numbers with upper ends in them:"
            " where Placeto never got there, its whole search stands for what it needs. Unseen"
            " graphs: those of [the page on transfer](transfer.md), too few for an interval."
            " Not tried: the paper's families of graphs, which its repository links to, with"
            " their times on K80s, and does not hold; and its simpler networks, which are not"
            " written here.",
            "Placeto's groups, rewards and schedule: docs/planners.md. What is not found in the"
            " paper or its code is chosen there, and named.",
            *failures(ours),
            *provenance(ours),
            *code_note(ours),
        ),
        _data(ours[columns], claims),
        len(wanted),
        len(ours),
    )


def _data(records: pd.DataFrame, claims: list[Claim]) -> pd.DataFrame:
    """The records, then the claims."""
    entries = pd.DataFrame([claim.entry() for claim in claims])
    counts = dict.fromkeys(("seed", "evaluations", "n"), "Int64")
    return pd.concat([records, entries]).astype(counts)


def _placers(grid: str) -> dict[str, str]:
    """Those of a grid that the table shows, with their heads; of others none."""
    shown = {"placeto": PLACETO, "reference": SCOTCH | LEARNED, "quick": SIMPLE}
    return (shown | {"transfer": TRANSFERRED}).get(grid, {})


def _of(published: pd.DataFrame, paper: str) -> pd.DataFrame:
    """What a paper's text says."""
    return published[(published["paper"] == paper) & (published["table"] == "claims")]


def _against(rows: list[Row], theirs: pd.DataFrame) -> Section:
    """How often it is faster, and how much sooner, against each other learned placer."""

    def published(column: str) -> list[float]:
        return list(theirs[theirs["column"] == column]["value"])

    def entries() -> Iterator[tuple[str, ...]]:
        figures = _summary(published("reduction"), published("speed_up"))
        yield ("Placeto, published", "RNN-based", "as needed", *figures)
        for placer, head in PLACETO.items():
            for base, other in LEARNED.items():
                gains = [row.reduction(placer, base) for row in rows]
                each = " / ".join(_budget(rows, one) for one in (placer, base))
                speeds = [row.speed_up(placer, base) for row in rows]
                yield (head, other, each, *_summary(gains, speeds))

    header = ("planner", "against", "placements of each", "faster on", "reduction %")
    return Section(
        "Against each learned planner",
        (*header, "needs fewer placements on", "speed-up"),
        tuple(entries()),
        "Placements: how many a search evaluated. Where one had twice as many as the other, or"
        " more, it is not compared after how many each found its best: the longer one improves to"
        " its end. After how many Placeto is as fast as another ends: the last table of ours.",
    )


def _budget(rows: list[Row], placer: str) -> str:
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


def _times(rows: list[Row]) -> Section:
    found = [
        (row.task, str(row.gpus), *(row.outcome[p].text(SECONDS) for p in HEADS)) for row in rows
    ]
    return Section("Step time", ("task", "#GPUs", *HEADS.values()), tuple(found))


def _until(rows: list[Row]) -> Section:
    heads = PLACETO | LEARNED
    found = [
        (row.task, str(row.gpus), *(printed(row.placements[p]) for p in heads)) for row in rows
    ]
    title = "Placements evaluated until the best was found"
    return Section(title, ("task", "#GPUs", *heads.values()), tuple(found), MEDIANS)


def _caught_up(rows: list[Row]) -> Section:
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
    heads = [PRINTED_HEADS[column] for column in columns]
    lead = "Batches of 64 for Inception-V3 and NASNet, of 128 for NMT; Tesla K80s."
    return Section("What the paper prints", ("model", "#GPUs", *heads), tuple(rows), lead)
