"""HDP's prose about a planner without groups, each claim checked against our records.

Mirhoseini et al. (2018), section 4.4: a single feed-forward network that chooses the device of each
operation alone.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from math import inf, isfinite

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.metrics import metric
from suite.report.table import Section

LEARNED, SIMPLE = "hdp", "hdp_no_grouping"
NEAR = 1.2
"""Within 20 % of the Hierarchical Planner (Inception-V3)."""
FAR = 2.0
"""Slower than this many times the Hierarchical Planner (2-layer NMT)."""
ALONE = 0.99
"""Share of all computing time from which one GPU counts as doing it alone; our threshold."""
SECONDS = metric("step_time")


@dataclass(frozen=True)
class Verdict:
    """One claim about one task."""

    claim: str
    holds: bool | None
    """None where records are missing or give nothing to compare with."""
    figures: str

    @property
    def words(self) -> str:
        """What the table prints."""
        if self.holds is None:
            return "undecided"
        return "holds" if self.holds else "does not hold"


def no_grouping_section(comparison: Comparison) -> Section:
    """One row a task, in the comparison's order: claim, verdict and the figures that decide."""
    rows = []
    for row in comparison.rows:
        verdict = _CLAIMS[row.task](comparison, row)
        rows.append((row.label, verdict.claim, verdict.words, verdict.figures))
    lead = (
        "The paper gives no table for its planner without groups (placer `hdp_no_grouping`), only"
        " these claims. Seconds are medians over the seeds that found a placement which fits."
    )
    header = ("Tasks", "Claim of the paper", "Verdict", "Figures that decide")
    return Section("Ablation: no grouping", header, tuple(rows), lead)


def _near(comparison: Comparison, row: Row) -> Verdict:
    times, figures = _times(comparison, row)
    claim = f"within {NEAR - 1:.0%} of the Hierarchical Planner"
    return Verdict(claim, None if times != times else times <= NEAR, figures)


def _far(comparison: Comparison, row: Row) -> Verdict:
    times, figures = _times(comparison, row)
    claim = f"more than {FAR:.0f} times slower than the Hierarchical Planner"
    return Verdict(claim, times > FAR if isfinite(times) else None, figures)


def _times(comparison: Comparison, row: Row) -> tuple[float, str]:
    """Without groups / with groups, and the seconds; infinite where only the latter is valid."""
    simple, learned = comparison.ours(row, SIMPLE), comparison.ours(row, LEARNED)
    texts = [f"{o.median:.3f} s" if o.values else o.text(SECONDS) for o in (simple, learned)]
    figures = f"{texts[0]} without groups, {texts[1]} with"
    if simple.failures and not simple.values and learned.values:
        return inf, figures
    times = simple.median / learned.median
    return times, figures if times != times else f"{figures}: x{times:.2f}"


def _single_gpu(comparison: Comparison, row: Row) -> Verdict:
    claim = "learns to use a single GPU"
    records = comparison.of_cell(row, SIMPLE)
    valid = records[records["status"] == "ok"]
    ours = comparison.ours(row, SIMPLE)
    if not ours.values:
        return Verdict(claim, False if ours.found else None, ours.text(SECONDS))
    share = statistics.median(_largest_gpu_share(busy) for busy in valid["busy"])
    one = comparison.ours(row, "gpu_only")
    beside = f" beside {one.median:.3f} s of GPU Only" if one.values else ""
    figures = (
        f"the busiest GPU does {share:.1%} of the computing (median, {ours.counts};"
        f" {ALONE:.0%} needed); {ours.median:.3f} s{beside}"
    )
    return Verdict(claim, share >= ALONE, figures)


def _largest_gpu_share(busy: dict[str, float]) -> float:
    """Busy seconds of the busiest GPU / those of all devices."""
    return max(s for device, s in busy.items() if device.startswith("gpu")) / sum(busy.values())


def _none_valid(comparison: Comparison, row: Row) -> Verdict:
    claim = "finds no valid placement"
    ours = comparison.ours(row, SIMPLE)
    if not ours.found:
        return Verdict(claim, None, ours.text(SECONDS))
    figures = f"{len(ours.values)} of {ours.found} seeds found one"
    fastest = f", the fastest of {ours.values[0]:.3f} s" if ours.values else ""
    return Verdict(claim, not ours.values, figures + fastest + _invalid(comparison, row))


def _invalid(comparison: Comparison, row: Row) -> str:
    records = comparison.of_cell(row, SIMPLE)
    counts = [facts["invalid"] for facts in records["planner"] if "invalid" in facts]
    total = pd.to_numeric(records["evaluations"]).sum()
    return f"; {sum(counts):,} of {total:,.0f} evaluated placements OOM" if counts else ""


_CLAIMS = {
    "inception_v3": _near,
    "resnet_152": _single_gpu,
    "rnnlm": _single_gpu,
    "nmt_2": _far,
    "nmt_4": _none_valid,
    "nmt_8": _none_valid,
}
