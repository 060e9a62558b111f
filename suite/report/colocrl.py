"""Which of our records stand beside ColocRL's tables (Mirhoseini et al., ICML 2017)."""

from __future__ import annotations

import pandas as pd

from suite.report import world
from suite.report.world import World

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


def _links_of_hdp(task: str, placer: str) -> str:
    """Links were fitted, too, but to HDP's cells."""
    return world.FITTED if placer in FITTED else world.HELD_OUT


TODAY = World("k80", ("colocrl",), world.singles_fitted)
"""Graphs of today's TensorFlow, links that Placeto's authors found for TensorFlow 1."""
TF13 = World(
    "k80_tf13", ("colocrl_tf13_learned", "colocrl_tf13"), _links_of_hdp, "_tf13", marked=True
)
"""Graphs of TensorFlow 1.3.0, links as effective as those of HDP's world."""


def printed_table(published: pd.DataFrame, table: str, where: World = TODAY) -> pd.DataFrame:
    """The published numbers of one of ColocRL's tables, with the names of a world's tasks."""
    ours = published[(published["paper"] == "ColocRL") & (published["table"] == table)]
    return where.printed(ours)
