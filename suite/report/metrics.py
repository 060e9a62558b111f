"""Metrics, declared once: name, words, unit, which direction is better, and how to print them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from suite.core.errors import InputError

MARGIN = 1e-3
"""Share by which one value must be better than another to beat it."""


@dataclass(frozen=True)
class Metric:
    """A number that records carry or tables derive."""

    name: str
    """The column of :func:`suite.report.load_records.load_records` and of the CSV files."""
    label: str
    """What an axis or a column head says."""
    unit: str
    """Unit of the stored value; empty for a pure number."""
    better: str
    """``lower``, ``higher``, or empty where neither is better."""
    pattern: str
    """Format specification of the printed value, after division by ``scale``; ``z`` in it prints
    what rounds to zero without a sign."""
    scale: float = 1.0
    """Stored value / printed value: 1e9 prints bytes as GB."""

    def format(self, value: float) -> str:
        """Print a value without its unit."""
        return f"{value / self.scale:{self.pattern}}"

    def interval_beats(self, ours: tuple[float, float], other: tuple[float, float]) -> bool:
        """Whether interval ``ours`` (low, high) is wholly on the better side of ``other``.

        By MARGIN at least: values that all tables print alike are alike.
        """
        if self.better == "lower":
            return ours[1] * (1 + MARGIN) < other[0]
        if self.better == "higher":
            return ours[0] > other[1] * (1 + MARGIN)
        return False


METRICS = {
    metric.name: metric
    for metric in (
        Metric("step_time", "step time", "s", "lower", ".2f"),
        Metric("lower_bound", "lower bound", "s", "", ".3f"),
        Metric("ratio_to_published", "ours / published", "", "", ".2f"),
        Metric("kendall_tau", "Kendall's tau-b", "", "", "z.2f"),
        Metric("ratio_to_bound", "step time / lower bound", "", "lower", ".2f"),
        Metric("runtime_reduction", "runtime reduction", "%", "higher", "z.1f"),
        Metric("improvement", "improvement", "%", "higher", "z.1f"),
        Metric("speedup", "speed-up", "%", "higher", "z.1f"),
        Metric("speedup_over_human", "speed-up over the human expert", "%", "higher", "z.1f"),
        Metric("speedup_over_hdp", "speed-up over HDP", "%", "higher", "z.1f"),
        Metric("speedup_of_batch", "speed-up over GDP-one", "%", "higher", "z.1f"),
        Metric("gain_of_part", "faster with the part", "%", "higher", "z.1f"),
        Metric("speedup_over_best", "speed-up over the best other", "%", "higher", "z.1f"),
        Metric("search_speedup", "search speed-up over HDP", "", "higher", ".2f"),
        Metric("peak_memory", "peak memory", "bytes", "lower", ".1f", 1e9),
        Metric("memory_share", "peak memory / capacity", "", "lower", ".0%"),
        Metric("utilisation", "share of time busy", "", "higher", ".0%"),
        Metric("moved", "bytes moved between devices", "bytes", "lower", ".1f", 1e9),
        Metric("evaluations", "placements evaluated", "", "lower", ",.0f"),
        Metric("wall_seconds", "wall time", "s", "lower", ".1f"),
        Metric("cpu_seconds", "CPU time", "s", "lower", ".1f"),
    )
}
"""Every metric by name."""
SECONDS = replace(METRICS["step_time"], pattern=".3g")
"""Step times of unlike sizes in one table: to three digits."""


def metric(name: str) -> Metric:
    """Return a metric; InputError lists those there are."""
    if name not in METRICS:
        raise InputError(f"no metric {name!r}; there are {', '.join(METRICS)}")
    return METRICS[name]
