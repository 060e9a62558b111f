"""Latency by the algorithms of Tarnawski et al. (NeurIPS 2020)."""

from __future__ import annotations

import pandas as pd

from suite.report.table import Table
from suite.report.tables._tarnawski import tarnawski_table

TITLE = "Latency by the algorithms of Tarnawski et al."
LEAD = """\
Milliseconds until one sample is through, lower is better: each accelerator's call waits for all
its inputs and blocks until its outputs are moved; CPUs are unlimited where there are any. The
latency of training, with calls for the forward and for the backward pass, is ours: the paper's is
that of inference. A sample is a minibatch for tasks of placebench."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of ``placebench workload --objective latency``."""
    return tarnawski_table(records, "latency", TITLE, LEAD)
