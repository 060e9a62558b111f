"""Which of our records stand beside HDP's tables (Mirhoseini et al., ICLR 2018)."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from suite.report.comparison import Comparison

GRIDS = ("reference", "quick")
"""A cell comes from the first of them that has records of it."""
RUN_GRIDS = ("gpu", *GRIDS)
"""The grids that may have been run for real, the one looked at first in front."""
MACHINE = "k40"
FITTED = {"cpu_only": "CPU Only", "gpu_only": "GPU Only"}
"""Columns whose published values the machine was fitted to (benchmarks/fit_machine.py)."""
PREDICTED = {"human_expert": "Human Expert", "scotch": "Scotch", "mincut": "MinCut"}
PAPER = FITTED | PREDICTED
"""The paper's placers that do not learn, and their heads."""
MORE = {
    "metis": "METIS",
    "m_topo": "m-TOPO",
    "m_etf": "m-ETF",
    "m_sct": "m-SCT",
    "heft": "HEFT",
    "etf": "ETF",
    "annealing": "Annealing",
    "random": "Random",
    "best_of_random": "Best of random",
}
"""Our additional placers."""
LEARNED = "hdp"
MORE_LEARNED = {
    "hdp_tuned": "HDP, tuned",
    "hdp_tf_release": "HDP, TF release",
    "colocrl": "ColocRL",
}
"""Our additional placers that learn."""
PLACERS = PAPER | {LEARNED: "Hierarchical Planner"} | MORE | MORE_LEARNED
SHORT = PAPER | {LEARNED: "HDP"} | MORE
"""Placers of most plots, in order, and names short enough for an axis."""


def printed_table(published: pd.DataFrame, table: str) -> pd.DataFrame:
    """The published numbers of one of HDP's tables."""
    return published[(published["paper"] == "HDP") & (published["table"] == table)]


def beside_table1(
    records: pd.DataFrame, published: pd.DataFrame, placers: Collection[str] = SHORT
) -> Comparison:
    """The records of HDP's Table 1 beside its printed cells, for the named placers."""
    return Comparison.of(records, printed_table(published, "1"), placers, GRIDS, MACHINE)
