"""Placeto on graphs that its policy was not trained on, beside searches that start from nothing."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pandas as pd

from suite.bench.grid import load_grid
from suite.report.agreement import faster
from suite.report.metrics import metric
from suite.report.outcome import Outcome
from suite.report.policies import seen_mark
from suite.report.table import Section, Table
from suite.report.tables._notes import code_note, failures, provenance

GRID = "transfer"
SECONDS = replace(metric("step_time"), pattern=".3g")
TRANSFERRED = ("placeto_zero_shot", "placeto_fine_tuned")
HEADS = {
    "random": "random",
    "human_expert": "human expert",
    "metis": "METIS",
    "placeto_zero_shot": "Placeto, zero-shot",
    "placeto_from_scratch": "Placeto, 50 placements from scratch",
    "placeto_fine_tuned": "Placeto, 50 placements after training",
    "annealing_50": "annealing, 50 placements",
    "annealing_1000": "annealing, 1,000 placements",
}
"""Placer -> its row."""

TITLE = "Transfer: Placeto on graphs that it was not trained on"
LEAD = """\
Simulated seconds of one training step on two K40s, lower is better: the median over seeds and their
range. For each graph a policy of Placeto (Addanki et al., NeurIPS 2019, rewards at the end of an
episode) is trained on the three others, 300 placements of each. Zero-shot: every group is visited
once, from a random placement, and goes to its likeliest device; nothing is evaluated. The paper
claims that such policies need little or no training on an unseen graph, and prints no table of it
for these graphs."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of the grid ``transfer``."""
    cells = [job.cell for job in load_grid(GRID).jobs]
    ours = records[records["grid"] == GRID]
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    found = {
        (placer, task): ours[(ours["placer"] == placer) & (ours["task"] == task)]
        for placer in HEADS
        for task in tasks
    }
    seeds = {key: sum((c.placer, c.task) == key for c in cells) for key in found}
    outcomes = {key: Outcome.of(mine, seeds[key]) for key, mine in found.items()}
    rows = tuple(
        (head, *(outcomes[p, t].text(SECONDS) + seen_mark(found[p, t]) for t in tasks))
        for p, head in HEADS.items()
    )
    columns = ["grid", "task", "gpus", "placer", "seed", "status", "step_time", "evaluations"]
    return Table(
        TITLE,
        LEAD,
        (
            Section("Step time", ("placer", *tasks), rows),
            _faster(outcomes, tasks),
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


def _faster(outcomes: dict[tuple[str, str], Outcome], tasks: list[str]) -> Section:
    """On how many graphs the median of what was transferred is faster than each other row's.

    What never fits in memory is slower than anything that does.
    """
    rows = []
    for other in (name for name in HEADS if name not in TRANSFERRED):
        cells = []
        for name in TRANSFERRED:
            pairs = ((_median(outcomes[name, t]), _median(outcomes[other, t])) for t in tasks)
            won, known = faster(pairs)
            cells.append(f"{won} of {known}")
        rows.append((HEADS[other], *cells))
    header = ("than", *(HEADS[name] for name in TRANSFERRED))
    return Section("Faster on so many graphs", header, tuple(rows))


def _median(outcome: Outcome) -> float:
    return inf if outcome.status == "oom" else outcome.median
