"""Table 1 of HDP with TensorFlow 1.3's own graphs, on a machine fitted to some of its cells."""

from __future__ import annotations

import pandas as pd

from suite.report.comparison import Comparison
from suite.report.hdp import LEARNED, PAPER, PLACERS, TF13, needs_links
from suite.report.table import Table
from suite.report.tables import _notes as notes
from suite.report.tables.hdp_table1 import table1
from suite.report.world import FITTED as FIT
from suite.report.world import PREDICTED

GRIDS = TF13.grids
"""What ``placebench bench hdp_table1_tf13`` runs."""
TITLE = "HDP, Table 1, as TensorFlow 1.3 made it"
LEAD = """\
Seconds of one training step; lower is better. The graphs were made by TensorFlow 1.3.0
(models/tf13), and the machine's constants were fitted to some cells, marked f: they are no
predictions. Each cell: ours, simulated, then in brackets the value published by HDP (Mirhoseini et
al., A Hierarchical Model for Device Placement, ICLR 2018, Table 1) and ours / published, then f
(fitted) or p (predicted)."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers."""
    return table1(records, published, TF13, TITLE, LEAD, _basis)


def _basis(hdp: Comparison) -> tuple[str, str]:
    fitted, predicted = (TF13.pairs(hdp, [*PAPER, LEARNED], basis) for basis in (FIT, PREDICTED))
    several = {(row.label, p) for row in hdp.rows for p in PAPER if needs_links(row.task, p)}
    links = {key: pair for key, pair in fitted.items() if key in several}
    columns = hdp.pairs(*PAPER)
    return (
        "**f**: fitted. The efficiencies and overheads of machine `k40_tf13` were chosen on CPU"
        " Only and GPU Only (benchmarks/fit_machine.py), then the latency and the bandwidth of its"
        " links on Scotch, MinCut and the Human Expert of NMT"
        " (benchmarks/fit_links.py; `hypotheses.md` has what else was tried). Those:"
        f" {notes.error(links)}; {notes.spread(links, PAPER)}. The fit saw what partitioners choose"
        " where they are told the links of `k40`; here they are told those of the machine:"
        " their cells, and how many pairs are ordered as published, differ from `hypotheses.md`."
        " The expert's placement of Inception-V3, ResNet and RNNLM is GPU Only's.",
        f"**p**: predicted: {notes.spread(predicted, PAPER | {LEARNED: PLACERS[LEARNED]})}. Without"
        f" the learned column, {notes.concordance(columns)}.",
    )
