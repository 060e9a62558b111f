"""Which of our records stand beside GDP's tables (Zhou et al. 2019, arXiv 1910.01578)."""

from __future__ import annotations

import pandas as pd

from suite.report import world
from suite.report.world import World

LEARNED = "gdp"
PAPER = {LEARNED: "GDP-one", "human_expert": "HP", "metis": "METIS", "hdp": "HDP"}
"""The paper's placers, in its order, and their heads."""
MORE = {"gpu_only": "Single GPU"}
"""Our additional placers that do not learn."""
MORE_LEARNED = {"hdp_tuned": "HDP, tuned", "gdp_tuned": "GDP, tuned"}
LEARNERS = {name: PAPER[name] for name in (LEARNED, "hdp")} | MORE_LEARNED
PLACERS = PAPER | MORE | MORE_LEARNED
SPEEDUPS = {"speedup_over_human": "human_expert", "speedup_over_hdp": "hdp"}
"""Published column -> the placer that GDP is compared with."""


def _nothing_fitted(task: str, placer: str) -> str:
    return world.PREDICTED


TODAY = World("p100", ("gdp",), _nothing_fitted)
"""Graphs of today's TensorFlow on data sheets' P100s; nothing was fitted to the paper's cells."""


def printed_table(published: pd.DataFrame, table: str) -> pd.DataFrame:
    """The published numbers of one of GDP's tables."""
    return published[(published["paper"] == "GDP") & (published["table"] == table)]
