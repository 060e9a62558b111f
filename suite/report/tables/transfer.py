"""Placeto on graphs that its policy was not trained on, beside searches that start from nothing."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from suite.report.table import Table
from suite.report.tables import learned_moves
from suite.report.tables._aim import RULE, Entrant, aim_section
from suite.report.tables._transferred import reached, transferred

GRID = "transfer"
GRIDS = (GRID, learned_moves.GRID)
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
_PLANNERS = {
    "placeto_zero_shot": "Placeto, zero-shot",
    "placeto_fine_tuned": "Placeto, after training",
    "best_estimate": "best estimate",
    "learned_moves_100": "learned moves",
    "learned_moves_100_variants": "learned moves from variants",
    "learned_moves_100_estimate": "learned moves from the best estimate",
    "estimated_moves_100": "estimated moves",
}
"""Planner of either page -> what the section about the aim calls it."""

FIRST = {
    GRID: ("placeto_zero_shot",),
    learned_moves.GRID: (
        *("best_estimate", "learned_moves_100", "learned_moves_100_variants"),
        *("learned_moves_100_estimate", "estimated_moves_100"),
    ),
}
"""Grid -> its planners whose first placement is to be faster than METIS."""
LATER = {GRID: ("placeto_fine_tuned",), learned_moves.GRID: FIRST[learned_moves.GRID][1:]}
"""Grid -> its planners that are to end where annealing does after 1,000."""
ENTRANTS = [
    Entrant(grid, placer, _PLANNERS[placer], is_first)
    for is_first, planners in ((True, FIRST), (False, LATER))
    for grid, placers in planners.items()
    for placer in placers
]
SEARCHES = {
    "annealing_1000": "annealing, of 1,000",
    "placeto_from_scratch": "Placeto from scratch, of 50",
    "placeto_fine_tuned": "Placeto after training, of 50",
}
"""Placer whose placements are counted -> its name."""
MARKS = {
    "metis": "METIS",
    "human_expert": "the human expert",
    "placeto_from_scratch": "Placeto from scratch at its end",
    "annealing_50": "annealing after 50",
    "annealing_1000": "annealing after 1,000",
}
"""Placer whose median step time is to be reached -> its name."""
SAVED = "Placements evaluated by which half of the seeds were as fast as others"
SAVED_NOTE = (
    "Placements evaluated: what training saves is the difference to a search from scratch in the"
    " same columns. The 300 placements of each other graph, on which a policy was trained, are not"
    " counted."
)

TITLE = "Transfer: Placeto on graphs that it was not trained on"
LEAD = """\
Simulated seconds of one training step on two K40s, lower is better: the median over seeds and their
range. For each graph a policy of Placeto (Addanki et al., NeurIPS 2019, rewards at the end of an
episode) is trained on the three others, 300 placements of each. Zero-shot: every group is visited
once, from a random placement, and goes to its likeliest device; nothing is evaluated. The paper
claims that such policies need little or no training on an unseen graph, and prints no table of it
for these graphs; whether it holds is said with [its other claims](placeto_run_times.md). A search
that learned on other graphs, and others that need few evaluations: [learned
moves](learned_moves.md)."""


AIM_LEAD = """\
Aimed at was a planner that, on graphs it has never seen, is faster than METIS from its first
placement on, and after 100 evaluated placements as fast as annealing after 1,000. The planners of
this page, trained on three graphs, and those of [learned moves](learned_moves.md), by one rule [1].
Placeto had 50 placements, not 100. `best_estimate` and `estimated_moves` learned nothing. Learned
moves begin, as annealing does, with a single GPU, but for those from the best estimate, which begin
there: what they learned is in no first placement. On Keras models that no setting was chosen on:
`benchmarks/unseen_models.md`."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of the grid ``transfer``; one section has others, too."""
    made = transferred(records, GRID, TITLE, LEAD, HEADS, TRANSFERRED)
    aim = aim_section(records, "What was aimed at", AIM_LEAD, ENTRANTS)
    cost = reached(records[records["grid"] == GRID], SAVED, SEARCHES, MARKS)
    return replace(
        made, sections=(aim, *made.sections, cost), notes=(RULE, SAVED_NOTE, *made.notes)
    )
