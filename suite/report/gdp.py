"""Which of our records stand beside GDP's tables (Zhou et al. 2019, arXiv 1910.01578)."""

from __future__ import annotations

import pandas as pd

from suite.report import world
from suite.report.comparison import Comparison
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
BATCHES = (2, 3)
"""The batches of Table 3 of different graphs."""
BATCH = World("p100", ("gdp_batch", "gdp"), _nothing_fitted)
BATCH3 = World("p100", (*(f"gdp_batch{n}" for n in BATCHES), "gdp"), _nothing_fitted)
PARTS = World("p100", ("gdp_ablation", "gdp_batch", "gdp"), _nothing_fitted)
HOLDOUT = World("p100", ("gdp_holdout", "gdp"), _nothing_fitted)
FIGURE4 = World("p100", ("gdp_figure4", "gdp_batch", "gdp"), _nothing_fitted)
SEEN_ALONE = {"human_expert": "human", "hdp": "HDP", LEARNED: "GDP-one"}
"""The bars of Figure 2 that need no policy of other graphs."""
ZERO_SHOT = {"gdp_zero_shot": "zero-shot", "gdp_fine_tuned": "fine-tuned"}
TUNED_ZERO_SHOT = {name.replace("gdp", "gdp_tuned"): head for name, head in ZERO_SHOT.items()}
FIGURE2 = SEEN_ALONE | ZERO_SHOT
"""The bars of Figure 2."""
FIGURE2_MORE = {"metis": "METIS", "hdp_tuned": "HDP, tuned", "gdp_tuned": "GDP, tuned"}
FIGURE2_MORE |= {name: f"{head}, tuned" for name, head in TUNED_ZERO_SHOT.items()}
"""Our bars beside them."""


def printed_table(published: pd.DataFrame, table: str) -> pd.DataFrame:
    """The published numbers of one of GDP's tables."""
    return published[(published["paper"] == "GDP") & (published["table"] == table)]


def beside_figure2(records: pd.DataFrame, published: pd.DataFrame) -> Comparison:
    """Our records beside Figure 2."""
    printed = printed_table(published, "Figure 2")
    return HOLDOUT.beside(records, printed, FIGURE2 | FIGURE2_MORE)
