"""Whether the placer that the simulator finds fastest is the fastest in reality."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from suite.report.measured_data import comparable


@dataclass(frozen=True)
class Winner:
    """The fastest placers of one task on one machine and backend; empty where none ran."""

    simulated: tuple[str, ...]
    """Labels of the fastest in the simulator: several where their times are equal."""
    measured: str
    """Label of the fastest in reality."""
    alone: str
    """The same, where its interval overlaps that of no other; else empty."""
    verdict: str
    """``yes``, ``within noise``, or how many times slower than the fastest the simulator's is;
    ``-`` where there is only one placement, so that no other could be faster."""
    placements: int
    """How many different ones can be compared."""

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Winner:
        """Find them among the rows of :mod:`suite.report.measured_data`, with ``label``."""
        kept = comparable(rows).sort_values("measured", kind="stable")
        if kept.empty:
            return cls((), "", "", "-", 0)
        first = kept.iloc[0]
        chosen = kept[kept["simulated"] == kept["simulated"].min()]
        others = kept.iloc[1:]
        alone = len(others) > 0 and bool((others["low"] > first["high"]).all())
        label = str(first["label"])
        placements = kept["placement_hash"].nunique()
        return cls(
            tuple(str(name) for name in chosen["label"]),
            label,
            label if alone else "",
            _verdict(first, chosen) if placements > 1 else "-",
            placements,
        )

    def cells(self) -> tuple[str, str, str]:
        """The names and the verdict, as tables print them."""
        return ", ".join(self.simulated) or "-", self.measured or "-", self.verdict


def _verdict(first: pd.Series, chosen: pd.DataFrame) -> str:
    if first["label"] in set(chosen["label"]):
        return "yes"
    best = chosen.iloc[0]
    if best["low"] <= first["high"]:
        return "within noise"
    return f"no: x{best['measured'] / first['measured']:.2f}"
