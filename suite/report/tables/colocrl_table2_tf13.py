"""Table 2 of ColocRL with TensorFlow 1.3's own graphs, on a machine whose links fit HDP's cells."""

from __future__ import annotations

import pandas as pd

from suite.report.colocrl import LEARNED, PAPER, TF13
from suite.report.comparison import Comparison
from suite.report.table import Table
from suite.report.tables import _notes as notes
from suite.report.tables.colocrl_table2 import table2
from suite.report.world import FITTED, HELD_OUT

GRIDS = TF13.grids
"""What ``placebench bench colocrl_table2_tf13`` runs."""
TITLE = "ColocRL, Table 2, as TensorFlow 1.3 made it"
LEAD = """\
Seconds of one training step; lower is better. The graphs were made by TensorFlow 1.3.0
(models/tf13). Each cell: ours, simulated, then in brackets the value published by ColocRL
(Mirhoseini et al., Device Placement Optimization with Reinforcement Learning, ICML 2017, Table 2)
and ours / published, then f (fitted) or h (held out: the machine's links were fitted to another
paper's cells)."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers."""
    return table2(records, published, TF13, TITLE, LEAD, _basis)


def _basis(ours: Comparison) -> tuple[str, str]:
    fitted = TF13.pairs(ours, PAPER, FITTED)
    held_out = TF13.pairs(ours, PAPER, HELD_OUT)
    learned = TF13.pairs(ours, [LEARNED], HELD_OUT)
    return (
        "**f**: fitted. The efficiencies and overheads of machine `k80_tf13` were chosen on"
        " Single-CPU and Single-GPU (benchmarks/fit_machine.py), which the paper prints once for"
        f" both GPU counts: {notes.spread(fitted, PAPER)}.",
        "**h**: held out. The links are those of machine `k40_tf13`, fitted to HDP's Table 1"
        f" (benchmarks/fit_links.py): {notes.error(held_out)}; {notes.spread(held_out, PAPER)};"
        f" RL-based {notes.error(learned)}. Without the learned columns,"
        f" {notes.concordance(fitted | held_out)}.",
    )
