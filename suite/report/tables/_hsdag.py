"""What the tables of HSDAG (Duan et al., NeurIPS 2024) share."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator

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


FITTED = (
    f"Times on `{MACHINE}` are **fitted**: multiplied for each network and device until CPU-only"
    " and GPU-only came out as published (benchmarks/fit_flex170.py), since no one set of constants"
    " gives all six. So placements that have everything on one device, whatever found them, agree"
    " because of that. What others cost depends on the link as well, which is assumed (12 GB/s,"
    " 20 us; docs/machines.md): side by side, which is not how the paper measured, agreement may"
    " be chance."
)
"""What was fitted to the paper's own figures, and what was assumed."""


def released_alone(records: pd.DataFrame) -> Iterator[str]:
    """That the released code would refuse its own answers here, where it would."""
    ours = records[(records["placer"] == "hsdag_released") & (records["status"] == "ok")]
    alone = sum(sum(seconds > 0 for seconds in busy.values()) == 1 for busy in ours["busy"])
    if alone:
        yield (
            f"The answer of HSDAG released has everything on one device in {alone} of {len(ours)}"
            " searches. Its authors' code counts such a placement as one of 1e10 s, so that by its"
            " own rule it found nothing there; the table says what the placement takes."
        )


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
