"""Largest load by the algorithms of Tarnawski et al. (NeurIPS 2020)."""

from __future__ import annotations

import pandas as pd

from suite.report.table import Table
from suite.report.tables._tarnawski import tarnawski_table

TITLE = "Largest load by the algorithms of Tarnawski et al."
LEAD = """\
Milliseconds per sample of the busiest device in a pipeline, lower is better: time of its nodes
and, on accelerators, of every output that crosses its boundary. A sample is a minibatch for tasks
of placebench."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of ``placebench workload --objective throughput``."""
    return tarnawski_table(records, "throughput", TITLE, LEAD)
