"""Which of our records stand beside ColocRL's tables (Mirhoseini et al., ICML 2017)."""

from __future__ import annotations

import pandas as pd

GRIDS = ("colocrl",)
"""A cell comes from the first of them that has records of it."""
MACHINE = "k80"
FITTED = {"cpu_only": "Single-CPU", "gpu_only": "Single-GPU"}
"""Columns whose published values the machine was fitted to (benchmarks/fit_machine.py)."""
PREDICTED = {"scotch": "Scotch", "mincut": "MinCut", "human_expert": "Expert"}
PAPER = FITTED | PREDICTED
"""The paper's placers that do not learn, and their heads."""
LEARNED = "colocrl"
MORE = {"metis": "METIS", "random": "Random", "best_of_random": "Best of random"}
"""Our additional placers."""
MORE_LEARNED = {"hdp": "Hierarchical Planner"}
LEARNERS = {LEARNED: "RL-based"} | MORE_LEARNED
PLACERS = PAPER | LEARNERS | MORE


def printed_table(published: pd.DataFrame, table: str) -> pd.DataFrame:
    """The published numbers of one of ColocRL's tables."""
    return published[(published["paper"] == "ColocRL") & (published["table"] == table)]
