"""A search that learned on other graphs which changes help, beside the one that did not."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from suite.report.table import Table
from suite.report.tables._transferred import reached, transferred

GRID = "learned_moves"
GRIDS = (GRID,)
LEARNED = (
    "best_estimate",
    "learned_moves_100",
    "learned_moves_100_variants",
    "learned_moves_100_estimate",
    "estimated_moves_100",
    "learned_moves_1000",
)
HEADS = {
    "random": "random",
    "metis": "METIS",
    "human_expert": "human expert",
    "best_estimate": "best estimate, nothing evaluated",
    "annealing_100": "annealing, 100 placements",
    "annealing_100_estimate": "annealing from it, 100 placements",
    "learned_moves_100": "learned moves, 100 placements",
    "learned_moves_100_variants": "learned moves from variants, 100 placements",
    "learned_moves_100_estimate": "learned moves from it, 100 placements",
    "estimated_moves_100": "estimated moves, 100 placements",
    "annealing_1000": "annealing, 1,000 placements",
    "learned_moves_1000": "learned moves, 1,000 placements",
}
"""Placer -> its row."""

TITLE = "Learned moves: annealing that learned on other graphs which changes help"
LEAD = """\
Simulated seconds of one training step on P100s, lower is better: the median over seeds and their
range. `learned_moves` is `annealing` that evaluates the most promising of several changes where
annealing evaluates one as it is drawn. What is promising it learned on twelve tasks, 1,000
placements of each, but without those of the family that it is judged on (RNNLM; NMT and GNMT;
Transformer-XL). Both start from the answers of a single GPU, METIS and m-ETF, and from layouts
drawn at random, all of them counted. "From variants": it learned as much again on one random
variant of each graph, cut, scaled and rewired.

`best_estimate` evaluates nothing, and nothing in it was learned: of a single GPU, m-ETF, 16 cuts by
METIS and 300 layouts it answers what a list schedule estimates to be the fastest. Searches "from
it" have that for their only starting point. `estimated_moves` learned nothing either: it judges the
ten that are estimated to be the fastest of all these and of 700 more layouts and then, for each
placement that it judges, estimates 128 changes. Some of its settings were chosen on these graphs.
Estimates take about as long as simulations: it saves evaluations here, and no time.

Policies of a published planner on graphs that they have not seen, and whether any planner of either
page gets to what was aimed at: [transfer](transfer.md)."""

SEARCHES = {
    "annealing_1000": "annealing",
    "learned_moves_1000": "learned moves",
    "estimated_moves_100": "estimated moves, of 100",
}
"""Placer whose placements are counted -> its name."""
MARKS = {
    "metis": "METIS",
    "human_expert": "the human expert",
    "annealing_1000": "annealing at its end",
}
"""Placer whose median step time is to be reached -> its name."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of the grid ``learned_moves``."""
    made = transferred(records, GRID, TITLE, LEAD, HEADS, LEARNED)
    ours = records[records["grid"] == GRID]
    title = "Placements evaluated, of 1,000, by which half of the seeds were as fast as others"
    return replace(made, sections=(*made.sections, reached(ours, title, SEARCHES, MARKS)))
