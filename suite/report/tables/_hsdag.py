"""What the tables of HSDAG (Duan et al., NeurIPS 2024) share."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

import pandas as pd

from suite.report.metrics import Metric

PAPER = """HSDAG (Duan et al., A Structure-Aware Framework for Learning Device Placements on
Computation Graphs, NeurIPS 2024, Table {number})"""
MACHINE = "flex170_scaled"
IN_TURN, SIDE_BY_SIDE = "hsdag", "hsdag_concurrent"
"""The grids of Table 2: the parts of a network one after another, as OpenVINO's HETERO plugin has
them, and side by side."""
MILLISECONDS = Metric("step_time", "latency", "s", "lower", ".3f", 1e-3)
TITLES = {
    IN_TURN: "One part after another (semantics `hetero`)",
    SIDE_BY_SIDE: "Side by side (semantics `placebench`)",
}


def printed_rows(published: pd.DataFrame, number: str) -> pd.DataFrame:
    """The published rows of one table; seconds of an inference as digits of milliseconds."""
    frame = published[(published["paper"] == "HSDAG") & (published["table"] == number)].copy()
    if number in ("2", "3"):
        seconds = frame["unit"] == "s"
        frame.loc[seconds, "printed"] = [_in_ms(digits) for digits in frame[seconds]["printed"]]
    return frame


def _in_ms(digits: str) -> str:
    """Seconds as printed, in milliseconds, with as many digits."""
    if not digits:
        return ""
    places = len(digits.partition(".")[2]) - 3
    return f"{1e3 * float(digits):.{max(places, 0)}f}"


def spread(values: Iterable[float], pattern: str) -> str:
    """Median [smallest-largest, n] as text; the value itself where there is one."""
    known = sorted(value for value in values if value == value)
    if not known:
        return "missing"
    middle = f"{statistics.median(known):{pattern}}"
    if len(known) == 1:
        return middle
    return f"{middle} [{known[0]:{pattern}}-{known[-1]:{pattern}}, n={len(known)}]"
