"""Placeto on graphs that its policy was not trained on, beside searches that start from nothing."""

from __future__ import annotations

import pandas as pd

from suite.report.table import Table
from suite.report.tables._transferred import transferred

GRID = "transfer"
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
    return transferred(records, GRID, TITLE, LEAD, HEADS, TRANSFERRED)
