"""A search that learned on other graphs which changes help, beside the one that did not."""

from __future__ import annotations

import pandas as pd

from suite.report.table import Table
from suite.report.tables._transferred import transferred

GRID = "learned_moves"
LEARNED = ("learned_moves_100", "learned_moves_1000")
HEADS = {
    "metis": "METIS",
    "human_expert": "human expert",
    "annealing_100": "annealing, 100 placements",
    "learned_moves_100": "learned moves, 100 placements",
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
drawn at random, all of them counted."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of the grid ``learned_moves``."""
    return transferred(records, GRID, TITLE, LEAD, HEADS, LEARNED)
