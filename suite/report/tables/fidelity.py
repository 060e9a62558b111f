"""How true the simulator is: measured and simulated step times of the same placements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from statistics import geometric_mean
from typing import Any

import numpy as np
import pandas as pd

from suite.core.statistics import Agreement
from suite.report.fidelity_data import (
    GRID,
    agree,
    called,
    fidelity,
    label,
    planned,
    reachable,
    valid,
)
from suite.report.table import Section, Table
from suite.report.tables._explained import explained
from suite.report.tables._intervals import step_intervals
from suite.report.tables._notes import code_note, machines, provenance

WORST = 5
TITLE = "Fidelity: simulated against measured step times"
LEAD = """\
Placements of several kinds, each run for real and simulated (`placebench fidelity`;
docs/fidelity.md). Spearman: rank correlation of the step times; at best: what a simulator without
error could expect, by how two measurements of the same placements agree, where all had two.
Kendall: tau over the pairs that are further apart than the noise, i.e. whose measured intervals do
not overlap. Error: median of |simulated - measured| / measured; bias: median of (simulated -
measured) / measured; noise: median of half a measured interval; memory error: as the error, of the
fullest device's peak."""
HEADER = (
    *("task", "machine", "backend", "placements", "Spearman", "at best", "Kendall", "pairs apart"),
    *("error %", "bias %", "noise %", "memory error %"),
)
KIND_HEADER = ("kind", "machine", "placements", "error %", "bias %", "measured s")
FASTEST_HEADER = (
    *("task", "machine", "backend", "fastest simulated", "fastest measured"),
    "measured: the first / the second",
)
SENT_HEADER = ("machine", "transfers", "placements", "error %", "bias %", "computing %")
SENT = (0, 1, 100, 1000)
"""Where classes of placements begin, by their number of transfers."""
ALONE_HEADER = (
    *("task", "machine", "backend", "one device alone: measured / simulated"),
    *("others", "their error %", "relative to it %"),
)
COMPUTED_HEADER = ("task", "machine", "backend", "placements", "first step %", "last step %")
WORST_HEADER = (
    *("placement", "machine", "measured s", "simulated s", "off by %"),
    "measured (simulated)",
)


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of the grid ``fidelity``."""
    rows = fidelity(records)
    expected = planned(records)
    ours = records[records["grid"] == GRID]
    return Table(
        TITLE,
        LEAD,
        (
            *(_agreement(rows), _kinds(rows), *_fastest(rows), *_alone(rows)),
            *(_sent(rows), _worst(rows), *_computed(rows)),
        ),
        (*_notes(rows, expected), *machines(ours), *provenance(ours), *code_note(ours)),
        rows.drop(columns="breakdown"),
        expected,
        len(rows),
    )


def summary(records: pd.DataFrame) -> dict[str, Any]:
    """What ``reports/fidelity.json`` holds: the figures over all placements, and for each task.

    ``settings`` has them for each machine and backend. NaN is null.
    """
    rows = fidelity(records)
    tasks = {str(task): agree(part).as_json() for task, part in rows.groupby("task")}
    settings = {
        f"{machine}/{backend}": agree(part).as_json()
        for (machine, backend), part in rows.groupby(["machine", "backend"])
    }
    return {**agree(rows).as_json(), "tasks": tasks, "settings": settings}


def _agreement(rows: pd.DataFrame) -> Section:
    parts = [
        _line((str(task), str(machine), str(backend)), part)
        for (task, machine, backend), part in rows.groupby(["task", "machine", "backend"])
    ]
    if len(parts) > 1:
        settings = rows.groupby(["machine", "backend"])
        parts += [_line(("all", *map(str, names)), part) for names, part in settings]
    if rows["machine"].nunique() > 1:
        parts.append(_line(("all", "", ""), rows))
    lead = "" if parts else "No placement has been run yet: `placebench fidelity TASK`."
    return Section("Agreement", HEADER, tuple(parts), lead)


def _line(names: tuple[str, ...], rows: pd.DataFrame) -> tuple[str, ...]:
    a: Agreement = agree(rows)
    ranks = (_number(figure, ".3f") for figure in (a.spearman, reachable(rows), a.kendall))
    figures = (*ranks, f"{a.pairs_apart:,}")
    error = _number(a.median_absolute_percentage_error, ".1f")
    return (*names, str(a.placements), *figures, error, _bias(rows), *_spread(rows))


def _spread(rows: pd.DataFrame) -> tuple[str, str]:
    """Half the measured interval relative to the median, and the error of the peak memory."""
    kept = valid(rows)
    noise = 50 * (kept["high"] - kept["low"]) / kept["measured"]
    memory = kept["memory_error_percent"].abs()
    return _number(float(noise.median()), ".1f"), _number(float(memory.median()), ".1f")


def _error(rows: pd.DataFrame) -> str:
    return _number(float(valid(rows)["error_percent"].abs().median()), ".1f")


def _bias(rows: pd.DataFrame) -> str:
    return _number(float(valid(rows)["error_percent"].median()), "+.1f")


def _number(value: float, pattern: str) -> str:
    return "-" if value != value else f"{value:{pattern}}"


def _kinds(rows: pd.DataFrame) -> Section:
    lines = []
    for names, part in valid(rows).groupby(["kind", "machine"]):
        spread = f"{part['measured'].min():.3g}-{part['measured'].max():.3g}"
        lines.append((*map(str, names), str(len(part)), _error(part), _bias(part), spread))
    lead = (
        "Best: what searches found in the simulator, of which a user runs one. A search looks for"
        " what is simulated fast, and so for what is simulated too fast."
    )
    return Section("By kind of placement", KIND_HEADER, tuple(lines), lead)


def _fastest(rows: pd.DataFrame) -> Iterator[Section]:
    """Whether what the simulator has as the fastest is the fastest in reality."""
    lines = []
    for names, part in valid(rows).groupby(["task", "machine", "backend"]):
        ours, best = (
            part.iloc[int(part[column].to_numpy().argmin())] for column in ("simulated", "measured")
        )
        slower = f"{ours['measured'] / best['measured']:.2f}"
        if ours["low"] <= best["high"] and ours.name != best.name:
            slower += ", within noise"
        lines.append((*map(str, names), called(ours), called(best), slower))
    if lines:
        lead = (
            "Of all placements measured; `single 0` has everything on the machine's first device,"
            " `single 1` on its second. Within noise: the measured intervals of the two overlap."
            " The fastest measured of many is in part so by chance, which flatters it."
        )
        yield Section("The fastest", FASTEST_HEADER, tuple(lines), lead)


def _alone(rows: pd.DataFrame) -> Iterator[Section]:
    """How far the host is from its profile, and what is left where that is taken out."""
    lines = []
    for names, part in valid(rows).groupby(["task", "machine", "backend"]):
        ratio, single = part["measured"] / part["simulated"], part["kind"] == "single"
        if single.any() and not single.all():
            others, longer = part[~single], geometric_mean(ratio[single])
            left = others.assign(error_percent=100 * (longer / ratio[~single] - 1))
            each = ", ".join(f"{one:.2f}" for one in ratio[single])
            lines.append((*map(str, names), each, str(len(others)), _error(others), _error(left)))
    if lines:
        lead = (
            "A step on one device has no transfers, and its operations are those that the profile"
            " timed, where it timed any: it takes longer than simulated where the host has become"
            " slower since. Relative to it: the error of the others with their simulated times"
            " multiplied by the geometric mean of these ratios. Where that is much smaller, it is"
            " the host that differs, rather than what the simulator makes of placements; where the"
            " ratios themselves differ, one device does."
        )
        yield Section("One device alone", ALONE_HEADER, tuple(lines), lead)


def _sent(rows: pd.DataFrame) -> Section:
    """Whether operations themselves take longer where much is sent."""
    kept = valid(rows)
    traced = [bool(found.get("measured")) for found in kept["breakdown"]]
    kept = kept[np.array(traced, np.bool_)]
    both = [(found["simulated"], found["measured"]) for found in kept["breakdown"]]
    transfers = [model["transfers"] for model, _ in both]
    computing = [
        100 * (sum(real["busy"].values()) / max(sum(model["busy"].values()), 1e-9) - 1)
        for model, real in both
    ]
    ends = [*SENT, np.inf]
    names = [
        f"{low:,}-{high - 1:,}" if high - low > 1 else f"{low}" for low, high in pairwise(SENT)
    ]
    classes = pd.cut(transfers, ends, right=False, labels=[*names, f"{SENT[-1]:,} and more"])
    lines = []
    groups = kept.assign(computing=computing).groupby(["machine", classes], observed=True)
    for (machine, sent), part in groups:
        slower = _number(float(part["computing"].median()), "+.1f")
        lines.append((str(machine), str(sent), str(len(part)), _error(part), _bias(part), slower))
    lead = (
        "Computing: median of (measured - simulated) / simulated of the time that all devices"
        " compute, in one traced step. What grows with the number of transfers may be what sending"
        " and receiving take from the operations, or what tracing them does."
    )
    return Section("By number of transfers", SENT_HEADER, tuple(lines), lead)


def _worst(rows: pd.DataFrame) -> Section:
    kept = valid(rows)
    order = kept["error_percent"].abs().sort_values(ascending=False, kind="stable").index[:WORST]
    lines = tuple(_bad(kept.loc[i]) for i in order)
    lead = (
        "Measured times, simulated ones in brackets: the device that computes longest, the sum of"
        " all transfers, and the types of operation that differ most, from one traced step."
    )
    return Section("The worst five", WORST_HEADER, lines, lead)


def _computed(rows: pd.DataFrame) -> Iterator[Section]:
    """Whether placed steps compute what one device computes, where outputs are on record."""
    lines = []
    kept = rows[rows["last_output_percent"].notna()]
    for names, part in kept.groupby(["task", "machine", "backend"]):
        most = (part[f"{step}_output_percent"].max() for step in ("first", "last"))
        lines.append((*map(str, names), str(len(part)), *(f"{off:.2g}" for off in most)))
    if lines:
        lead = (
            "By how much the outputs of a step (the loss) are off those of the first device alone,"
            " which starts from the same values: the most of all placements, after one step and"
            " after all that were timed. Sums in another order, and other kernels, round otherwise."
        )
        yield Section("What is computed", COMPUTED_HEADER, tuple(lines), lead)


def _bad(row: pd.Series) -> tuple[str, ...]:
    times = float(row["measured"]), float(row["simulated"])
    why = explained(times[1], times[0], row["breakdown"])
    names = label(row), str(row["machine"])
    return (*names, *(f"{t:.4g}" for t in times), f"{row['error_percent']:+.1f}", why)


def _notes(rows: pd.DataFrame, expected: int) -> list[str]:
    notes = [f"{len(rows)} of {expected} records are there."]
    failed = rows[rows["status"] != "ok"]
    if len(failed):
        counts = ", ".join(f"{n} {status}" for status, n in Counter(failed["status"]).items())
        first = failed.iloc[0]
        notes.append(
            f"Not measured, and in no figure: {counts}; the first is {label(first)}:"
            f" {first['reason']}."
        )
    if len(rows[["machine", "backend"]].drop_duplicates()) > 1 or rows["task"].nunique() > 1:
        notes.append(
            "The lines `all` rank placements of different tasks together, which is easier than"
            " ranking those of one."
        )
    notes += step_intervals(rows)
    shared = rows[rows["virtual"]]
    if len(shared):
        names = ", ".join(sorted(set(shared["machine"])))
        notes.append(f"Virtual devices, which share hardware: {names}.")
    return notes
