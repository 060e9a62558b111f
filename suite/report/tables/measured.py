"""Grids run for real: measured step times of every placer beside the simulated ones."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from suite.report.hdp import RUN_GRIDS, printed_table
from suite.report.measured_data import agree, for_real, labels, measured, missing
from suite.report.outcome import Printed, word
from suite.report.table import Section, Table
from suite.report.tables._intervals import step_intervals
from suite.report.tables._notes import code_note, failures, machines, provenance
from suite.report.tables._winner import Winner

TITLE = "Measured: grids run for real, beside their simulation"
LEAD = """\
Seconds of one step of the same placements, as simulated on the machine and as measured (`placebench
bench GRID --backend session|cluster|openvino`; docs/execution.md; with OpenVINO a step is an
inference, else one of training): the median of the steps that count and, in square brackets, its
interval or, of fewer than six steps, their range. Error: (simulated - measured) / measured."""
AGREEMENT = (
    *("task", "grid", "machine", "backend", "answers", "placements", "Spearman", "error %"),
    *("fastest simulated", "fastest measured", "same"),
)
AGREEMENT_LEAD = """\
Answers: of all placers and seeds, measured; some are the same placement. Spearman: rank
correlation of their step times. Error: median of |simulated - measured| / measured. Same: whether
what the simulator finds fastest is the fastest in reality; within noise: the measured intervals of
the two overlap; otherwise how much slower it is in reality than the fastest."""
NONE = "No grid has been run yet: `placebench bench measured --backend cluster`."


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records whose grid ends in ``@`` and a backend."""
    rows = measured(records)
    rows = rows.assign(label=labels(rows))
    lost = missing(records)
    paper = printed_table(published, "1")
    keys = ["grid", "machine", "gpus", "task"]
    tasks = [_task(part, paper) for _, part in rows.groupby(keys, sort=False)]
    return Table(
        TITLE,
        LEAD,
        (_agreement(rows), *tasks),
        tuple(_notes(rows, for_real(records), lost)),
        rows.drop(columns="label"),
        len(rows) + len(lost),
        len(rows),
    )


def _agreement(rows: pd.DataFrame) -> Section:
    keys = ["grid", "machine", "gpus", "task", "backend"]
    lines = []
    for (grid, machine, _, task, backend), part in rows.groupby(keys, sort=False):
        figures, winner = agree(part), Winner.of(part)
        error = _number(figures.median_absolute_percentage_error, ".1f")
        different = part[part["status"] == "ok"]["placement_hash"].nunique()
        counts = (str(figures.placements), str(different), _number(figures.spearman, ".3f"), error)
        names = (str(task), str(grid), str(machine), str(backend))
        lines.append((*names, *counts, *winner.cells()))
    return Section("Agreement", AGREEMENT, tuple(lines), AGREEMENT_LEAD if lines else NONE)


def _task(rows: pd.DataFrame, paper: pd.DataFrame) -> Section:
    """One task on one machine: a row a placer, columns for each backend."""
    first = rows.iloc[0]
    backends = sorted(set(rows["backend"]))
    printed = paper[paper["task"] == first["task"]] if first["grid"] in RUN_GRIDS else paper[:0]
    printed = printed[printed["gpus"].isin([0, first["gpus"]])]
    best = {b: Winner.of(rows[rows["backend"] == b]) for b in backends}
    fastest = Winner.of(rows).simulated
    lines = []
    for label, mine in rows.groupby("label", sort=False):
        one = {str(r["backend"]): r for _, r in mine.iterrows()}
        theirs = [Printed.of(printed, str(first["task"]), str(label)).text] * bool(len(printed))
        known = list(one.values())
        times = [cell for b in backends for cell in _times(one.get(b), best[b])]
        memory = [_gigabytes(one.get(b)) for b in backends]
        simulated = _simulated(known, str(label) in fastest)
        lines.append((str(label), *theirs, simulated, *times, *memory))
    heads = [head for b in backends for head in (f"{b} s", f"{b}: error %")]
    memories = [f"peak memory, GB: {b} (simulated)" for b in backends]
    paper_head = ["HDP's Table 1, s"] * bool(len(printed))
    header = ("placer", *paper_head, "simulated s", *heads, *memories)
    gpus = f" with {first['gpus']} GPU{'s' * bool(first['gpus'] > 1)}" * bool(first["gpus"])
    return Section(
        f"{first['task']} on {first['machine']}{gpus}, grid {first['grid']}", header, tuple(lines)
    )


def _simulated(known: Sequence[pd.Series], fastest: bool) -> str:
    """The simulated step time; several where the profile has changed between the backends."""
    times = ("OOM" if row["simulated_oom"] else seconds(row["simulated"]) for row in known)
    text = " / ".join(dict.fromkeys(times))
    return f"**{text}**" if fastest else text


def _times(row: pd.Series | None, best: Winner) -> tuple[str, str]:
    if row is None:
        return "missing", "-"
    if row["status"] != "ok":
        return word(str(row["status"])), "-"
    text = f"{seconds(row['measured'])} [{seconds(row['low'])}-{seconds(row['high'])}]"
    text = f"**{text}**" if row["label"] == best.alone else text
    return text + " virtual" * bool(row["virtual"]), _number(row["error_percent"], "+.1f")


def _gigabytes(row: pd.Series | None) -> str:
    if row is None or row["peak_memory"] != row["peak_memory"]:
        return "-"
    return f"{row['peak_memory'] / 1e9:.3f} ({row['simulated_peak_memory'] / 1e9:.3f})"


def seconds(value: float) -> str:
    """Four digits: placements of one small task are often closer than hundredths of a second."""
    return _number(value, "#.4g")


def _number(value: float, pattern: str) -> str:
    return "-" if value != value else f"{value:{pattern}}"


def _notes(rows: pd.DataFrame, records: pd.DataFrame, lost: Sequence[str]) -> list[str]:
    counts = f"{len(rows)} of {len(rows) + len(lost)} records are there."
    shown = ", ".join(lost[:8]) + (", ..." if len(lost) > 8 else "")
    notes = [f"**Incomplete**: {counts} Missing: {shown}." if lost else counts]
    if rows.empty:
        return notes
    keys = ["grid", "machine", "gpus", "task", "backend"]
    winners = [Winner.of(part) for _, part in rows.groupby(keys, sort=False)]
    told = [winner.verdict for winner in winners if winner.placements > 2]
    yes, noise = (told.count(verdict) for verdict in ("yes", "within noise"))
    notes.append(
        f"Of the {len(told)} lines of Agreement with three placements or more, what the simulator"
        f" finds fastest is the fastest in reality on {yes}, within its noise on {noise}, and"
        f" slower on {len(told) - yes - noise}."
    )
    if rows["grid"].eq("answers").any():
        notes.append(
            "Grid `answers`, docs/execution.md: judged on several machines drawn from the profile's"
            " uncertainty by the mean (`annealing_mean`) or the worst (`annealing_worst`); `_top`:"
            " of its best answers, run for real, the fastest. The number behind a name is the seed."
        )
    notes.append(
        "Bold: the fastest in the simulator, with its equals; the fastest in reality where its"
        " interval overlaps no other."
    )
    notes += step_intervals(rows)
    notes.append(
        "Peak memory: of the device that is fullest in reality; the simulator's of the same one."
    )
    if rows["virtual"].any():
        notes.append(
            "Virtual: devices that share hardware, one GPU or one pool of cores split into several."
        )
    notes += [*failures(records), *machines(records)]
    return [*notes, *provenance(records), *code_note(records)]
