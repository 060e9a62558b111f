"""Which of our records stand beside HDP's tables (Mirhoseini et al., ICLR 2018)."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from suite.report import world
from suite.report.comparison import Comparison
from suite.report.world import World

UPDATES = (
    "The paper ran 1,000 updates of 4 placements each; the first 500 have its exploration noise,"
    " and learn from placements that do not fit, too."
)
"""What a search of fewer placements leaves out."""
RUN_GRIDS = ("gpu", "reference", "quick")
"""The grids that may have been run for real, the one looked at first in front."""
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
    "hdp_raw": "HDP, raw features",
    "hdp_tuned": "HDP, tuned",
    "hdp_tf_release": "HDP, TF release",
    "colocrl": "ColocRL",
}
"""Our additional placers that learn."""
PLACERS = PAPER | {LEARNED: "Hierarchical Planner"} | MORE | MORE_LEARNED
SHORT = PAPER | {LEARNED: "HDP"} | MORE
"""Placers of most plots, in order, and names short enough for an axis."""


def needs_links(task: str, placer: str) -> bool:
    """Whether a cell of the paper's placers needs several devices.

    What fits on a GPU the expert leaves there: it is GPU Only's placement.
    """
    return placer in PREDICTED and (placer != "human_expert" or "nmt" in task)


def _singles_fitted(task: str, placer: str) -> str:
    """Single devices, by whatever name."""
    return world.FITTED if placer in PAPER and not needs_links(task, placer) else world.PREDICTED


def _links_fitted(task: str, placer: str) -> str:
    """Links too: to the partitioners, and to the experts who use several GPUs."""
    return world.FITTED if placer in PAPER else world.PREDICTED


TODAY = World("k40", ("reference", "quick"), _singles_fitted)
"""Graphs of today's TensorFlow, links that Placeto's authors found for TensorFlow 1."""
TF13 = World("k40_tf13", ("hdp_tf13_learned", "hdp_tf13"), _links_fitted, "_tf13", marked=True)
"""Graphs of TensorFlow 1.3.0, links as effective as benchmarks/fit_links.py found them."""


def printed_table(published: pd.DataFrame, table: str, where: World = TODAY) -> pd.DataFrame:
    """The published numbers of one of HDP's tables, with the names of a world's tasks."""
    ours = published[(published["paper"] == "HDP") & (published["table"] == table)]
    return where.printed(ours)


def beside_table1(
    records: pd.DataFrame,
    published: pd.DataFrame,
    placers: Collection[str] = SHORT,
    where: World = TODAY,
) -> Comparison:
    """The records of HDP's Table 1 beside its printed cells, for the named placers."""
    return where.beside(records, printed_table(published, "1", where), placers)
