"""What the two tables of Tarnawski et al.'s workloads share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from suite.report.outcome import JUDGED
from suite.report.table import Section, Table
from suite.report.tables._notes import code_note, provenance

PROVING = ("ip", "ip_contiguous", "dp")
"""Algorithms that prove something about their kind of split; they come first."""
ORDER = (*PROVING, "dpl", "pipedream", "local_search", "scotch", "greedy", "expert", "cpu")
OURS = "Tasks of placebench coarsened by their blocks: {}"
THEIRS = "Other workloads: files in the authors' format"
NOTES = (
    "Milliseconds by the evaluator, which shares no code with the algorithms. In brackets, of an "
    "algorithm that proves something about its kind of split (contiguous for dp and "
    "ip_contiguous): `optimal`, where it ended within the gap asked for (1 %), or what was left of "
    "the gap, to the bound on its kind of split, when its time was up, also where that is less "
    "than was asked for. `OOM`: out of an accelerator's memory. `-`: declined, the "
    "reason is in the CSV.",
    "Nothing published stands beside these figures: the result tables of Tarnawski et al. (NeurIPS "
    "2020) were not at hand. `placebench workload` takes their input files, too.",
    "docs/workloads.md says how tasks are coarsened and how these records are made. Times of tasks "
    "are those of the machine's model, and a task's CPU is the whole machine's (18 cores on k40).",
)
SYNTHETIC = "CPU times of the authors' workloads are synthetic, 10 or 23 times the accelerator's."


def tarnawski_table(records: pd.DataFrame, objective: str, title: str, lead: str) -> Table:
    """Build the page of one objective from the records of ``placebench workload``."""
    ours = records[records["grid"] == f"tarnawski_{objective}"]
    ours = ours.sort_values(["task", "placer", "seed"], ignore_index=True)
    kinds = [_kind(graph) for graph in ours["graph"]]
    # Ours first, then by name; a fixed order whatever records there are.
    heads = sorted(set(kinds), key=lambda kind: (kind == THEIRS, kind))
    sections = tuple(
        _section(kind, ours[[k == kind for k in kinds]].reset_index(drop=True)) for kind in heads
    )
    data = pd.DataFrame(
        {
            "workload": ours["task"],
            "accelerators": ours["gpus"],
            "cpus": [graph.get("cpus") for graph in ours["graph"]],
            "blocks": [graph.get("blocks") for graph in ours["graph"]],
            "algorithm": ours["placer"],
            "seed": ours["seed"],
            "status": ours["status"],
            "reason": ours["reason"],
            "objective_ms": ours["step_time"] * 1e3,
            "bound_ms": ours["lower_bound"] * 1e3,
            "answer": ours["bound_kind"],
            "seconds": ours["wall_seconds"],
            "seconds_allowed": [parameters.get("seconds") for parameters in ours["parameters"]],
        }
    )
    synthetic = [SYNTHETIC] * (THEIRS in kinds)
    notes = (
        *NOTES,
        _bound_note(objective, ours),
        *synthetic,
        *_limits(ours),
        *provenance(ours),
        *code_note(ours),
    )
    return Table(title, lead, sections, notes, data, len(ours), len(ours))


def _bound_note(objective: str, records: pd.DataFrame) -> str:
    """What the last column is of: ip's program for latency limits how often it calls."""
    if objective != "latency":
        return (
            "The bound is the largest proven for splits of every kind: by ip, or the trivial one."
        )
    calls = sorted({p["calls"] for p in records["parameters"] if "calls" in p})
    return (
        "The bound is the larger of the trivial one, which holds for all splits, and ip's, which"
        f" holds for those with at most {' or '.join(map(str, calls))} calls of each accelerator a"
        " pass: what another algorithm finds with more calls may lie below."
    )


def _kind(graph: Mapping[str, Any]) -> str:
    origin = graph.get("origin")
    if not origin:
        return THEIRS
    what = "the forward pass (inference)" if origin["inference"] else "training"
    return OURS.format(what + ("" if graph["cpus"] else ", on GPUs alone"))


def _section(title: str, records: pd.DataFrame) -> Section:
    """A row a workload, a column an algorithm that answers for any."""
    there = set(records[records["status"] != "skipped"]["placer"])
    names = [name for name in ORDER if name in there] + sorted(there - set(ORDER))
    rows = []
    keys = records[["gpus", "task"]].drop_duplicates().sort_values(["gpus", "task"])
    for gpus, task in keys.itertuples(index=False):
        here = records[(records["task"] == task) & (records["gpus"] == gpus)]
        sizes = [str(here["graph"].iloc[0].get(name, "-")) for name in ("cpus", "blocks")]
        cells = [_cell(here[here["placer"] == name]) for name in names]
        bound = here[~here["placer"].isin(["dp", "ip_contiguous"])]["lower_bound"].max() * 1e3
        least = f"{bound:,.2f}" if bound == bound else "-"
        rows.append((str(task), str(gpus), *sizes, *cells, least))
    return Section(title, ("workload", "GPUs", "CPUs", "blocks", *names, "bound"), tuple(rows))


def _cell(records: pd.DataFrame) -> str:
    """The best over seeds: of those that fit in memory, where any does."""
    found = records[records["status"].isin(JUDGED)]
    if found.empty:
        return "-" if records.empty or records["status"].iloc[0] == "skipped" else "error"
    best = found.sort_values(["status", "step_time"]).iloc[0]  # ok before oom
    value, bound = best["step_time"] * 1e3, best["lower_bound"] * 1e3
    text = f"{value:,.2f}"
    if best["status"] == "oom":
        return f"{text} (OOM)"
    if best["placer"] not in PROVING or best["bound_kind"] == "feasible":
        return text
    gap = "optimal" if best["bound_kind"] == "optimal" else f"{100 * (1 - bound / value):.1f} %"
    return f"{text} ({gap})"


def _limits(records: pd.DataFrame) -> list[str]:
    """How long exact algorithms were let, and where."""
    seconds = sorted({p.get("seconds") for p in records["parameters"]} - {None})
    if not seconds:
        return []
    text = " and ".join(f"{s:g}" for s in seconds)
    proving = records[records["placer"].isin(PROVING)]
    return [
        f"The solvers of exact algorithms had {text} s of wall clock each, on one core of a shared"
        f" host; with what comes before and after them up to {proving['wall_seconds'].max():.0f} s"
        " (column `seconds` of the CSV). The authors allowed 1,200 s for throughput and 3,600 for"
        " latency, so gaps here are wider than theirs."
    ]
