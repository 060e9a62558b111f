"""Caveats that any table of step times must state, computed from its records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypedDict

import pandas as pd

from suite.bench.cell import SIMULATOR
from suite.core.units import format_count
from suite.report import agreement
from suite.report.comparison import Comparison, Pairs
from suite.report.outcome import JUDGED, ratio, word
from suite.report.policies import seen_note
from suite.report.recorded import machine_of
from suite.report.tables._sections import fullest
from suite.tarnawski.records import BACKEND as EVALUATOR

NEARLY = 0.01
"""By how much a time may differ from a single device's and count as that."""


def completeness(comparison: Comparison) -> str:
    """How many of the records are there, and which are not."""
    missing, expected = comparison.missing, comparison.expected
    text = f"{expected - len(missing)} of {expected} records are there."
    if not missing:
        return text
    shown = ", ".join(missing[:8]) + (", ..." if len(missing) > 8 else "")
    return f"**Incomplete**: {text} Missing: {shown}."


def effort(comparison: Comparison, heads: Mapping[str, str]) -> str:
    """Grid, seeds and evaluated placements behind the cells of each learned placer."""
    lines = []
    for placer, head in heads.items():
        rows: dict[str, list[str]] = {}
        for row in comparison.rows:
            mine = comparison.of_cell(row, placer)
            if not mine.empty:
                rows.setdefault(_effort(mine), []).append(row.label)
        spent = [
            text + f" ({', '.join(labels)})" * (len(labels) < len(comparison.rows))
            for text, labels in rows.items()
        ]
        lines.append(f"{head}: {'; '.join(spent) or 'no record yet'}")
    return "; ".join(lines) + "."


def _effort(records: pd.DataFrame) -> str:
    """The records are of one grid, one task and one placer."""
    counts = [int(n) for n in records["evaluations"].dropna()] or [0]
    least, most = f"{min(counts):,}", f"{max(counts):,}"
    each = most if least == most else f"{least} to {most}"
    seeds = f"{format_count(len(records), 'seed')}"
    return f"grid `{records['grid'].iloc[0]}`, {seeds}, {each} evaluated placements each"


def on_one_device(comparison: Comparison, placer: str, head: str) -> list[str]:
    """Which cells of the paper's learned placer are a fitted time: one device's alone, or nearly.

    That a search ends there is predicted, how long that takes is not.
    """
    alone: list[str] = []
    ratios: list[float] = []
    for row in comparison.rows:
        singles = [comparison.ours(row, single) for single in ("cpu_only", "gpu_only")]
        times = [single.median for single in singles if single.values]
        ours, theirs = comparison.ours(row, placer), comparison.theirs(row, placer)
        if not (ours.values and theirs.value > 0):
            continue
        if any(abs(ours.median - time) <= NEARLY * time for time in times):
            alone.append(row.label)
        else:
            ratios.append(ratio(ours, theirs))
    if not alone:
        return []
    found = agreement.spread(ratios)
    others = f" The others: mean error x{found.error:.2f} (n={found.count})." if found.count else ""
    return [
        f"Of {head}, {len(alone)} of {len(alone) + len(ratios)} medians are within"
        f" {NEARLY:.0%} of what one device alone takes, which was fitted"
        f" ({', '.join(alone)}): where the search ends is predicted there, how long that takes is"
        f" not.{others}"
    ]


def failures(records: pd.DataFrame) -> list[str]:
    """Statuses counted; then the reason of every outcome that is neither ok nor OOM."""
    counts = Counter(str(s) for s in records["status"])
    order = sorted(counts.items(), key=lambda item: (item[0] != "ok", item[0]))
    lines = ["Outcomes: " + (", ".join(f"{n} {word(s)}" for s, n in order) or "none") + "."]
    odd = records[~records["status"].isin(JUDGED)]
    columns = (odd["task"], odd["placer"], odd["status"], odd["reason"])
    reasons = Counter((str(t), str(p), str(s), str(r)) for t, p, s, r in zip(*columns, strict=True))
    for (task, placer, status, reason), n in sorted(reasons.items()):
        lines.append(f"{task} / {placer}: {word(status)} ({n}): {reason}")
    return lines


def oom_times(records: pd.DataFrame) -> str:
    """The step times that OOM cells would have with memory enough."""
    text = (
        "OOM: a device's peak memory exceeds its capacity, so the placement does not run. The step"
        " time that the simulator gives all the same is not in the tables"
    )
    oom = records[(records["status"] == "oom") & records["step_time"].notna()]
    counts = records.groupby("task")["gpus"].nunique()
    medians = oom.groupby(["task", "gpus", "placer"], sort=True)["step_time"].median()
    keys = zip(*(medians.index.get_level_values(i) for i in range(3)), strict=True)
    times = [
        f"{t} {f'on {g} GPUs ' * int(counts[t] > 1)}{p} {v:.2f}"
        for (t, g, p), v in zip(keys, medians, strict=True)
    ]
    return f"{text}; in seconds: {', '.join(times)}." if times else f"{text}; no cell is OOM."


def close_calls(comparison: Comparison, heads: Mapping[str, str], margin: float = 0.05) -> str:
    """Cells whose fullest device is within ``margin`` of its capacity, on either side."""
    found = []
    for row in comparison.rows:
        for placer, head in heads.items():
            share, _, _ = fullest(comparison.of_cell(row, placer))
            if abs(share - 1) <= margin:
                found.append(f"{row.label} {head} {share:.1%}")
    text = f"Verdicts that {margin:.0%} more or less memory would turn: "
    return text + (", ".join(found) or "none") + "."


def oom_pattern(pairs: Pairs, heads: Mapping[str, str]) -> str:
    """Where OOM agrees with the paper and where it does not; ``heads`` names the placers."""
    known = {k: p for k, p in pairs.items() if p[0].found and p[1].status != "not_given"}
    both = [k for k, (o, p) in known.items() if o.status == "oom" and p.status == "oom"]
    ours = [k for k, (o, p) in known.items() if o.status == "oom" and p.status != "oom"]
    theirs = [k for k, (o, p) in known.items() if o.status != "oom" and p.status == "oom"]
    if not known:
        return "The OOM pattern cannot be compared yet: no cell is in both tables."
    parts = [f"both: {_names(both, heads)}"]
    parts += [f"**only ours**: {_names(ours, heads)}"] * bool(ours)
    parts += [f"**only the paper's**: {_names(theirs, heads)}"] * bool(theirs)
    where = f"the {len(known)} cells (of {len(pairs)}) that both have"
    off = len(ours) + len(theirs)
    differs = f"differs from the paper's in {off} of {where}"
    verdict = differs if off else f"equals the paper's in {where}"
    return f"The OOM pattern {verdict} ({'; '.join(parts)})."


def _names(keys: Iterable[tuple[str, str]], heads: Mapping[str, str]) -> str:
    return ", ".join(f"{row} {heads[placer]}" for row, placer in keys) or "none"


def spread(pairs: Pairs, heads: Mapping[str, str]) -> str:
    """Range and geometric mean of ours / published, and the three cells furthest off."""
    ratios = {key: ratio(*pair) for key, pair in pairs.items() if ratio(*pair) > 0}
    if not ratios:
        return "no cell has both our time and a published one"
    mean = agreement.spread(ratios.values()).bias
    worst = sorted(ratios, key=lambda key: (-abs(math.log(ratios[key])), key))[:3]
    named = ", ".join(f"{_names([key], heads)} x{ratios[key]:.2f}" for key in worst)
    return (
        f"{len(ratios)} cells with both times, ours / published x{min(ratios.values()):.2f} to"
        f" x{max(ratios.values()):.2f}, geometric mean x{mean:.2f}; furthest off: {named}"
    )


def error(pairs: Pairs) -> str:
    """The mean factor between ours and the published."""
    found = agreement.spread(ratio(*pair) for pair in pairs.values())
    return f"mean error x{found.error:.2f} (n={found.count})" if found.count else "none"


def concordance(pairs: Pairs) -> str:
    """Pairs of cells of one row that the paper orders: how many we order the same way."""
    known = [(row, *pair) for (row, _), pair in pairs.items() if ratio(*pair) > 0]
    same, total = agreement.ordered((row, a.median, b.value) for row, a, b in known)
    return f"{same} of {total} pairs of cells in one row are ordered as published"


def beyond_random(comparison: Comparison, heads: Mapping[str, str]) -> str:
    """Published cells slower than all of our random placements, and by how much."""
    found = []
    for row in comparison.rows:
        slowest = comparison.ours(row, "random").interval[1]
        for placer, head in heads.items():
            times = comparison.theirs(row, placer).value / slowest
            if times > 1:
                found.append(f"{row.label} {head} x{times:.1f}")
    return ", ".join(found) or "none"


def choices(comparison: Comparison) -> list[str]:
    """What each task's graph fixes that the papers leave open."""
    lines = []
    for row in comparison.models:
        made = [str(choice) for choice in comparison.graph(row).get("choices", [])]
        if made:
            lines.append(f"{row.model}, chosen here since the paper is silent: {'; '.join(made)}.")
    return lines


def provenance(records: pd.DataFrame) -> list[str]:
    """What the records were made with; a warning where one task's were not made alike.

    Also where a policy was judged on a graph that it was trained on.
    """
    judged_by = records[records["backend"] != ""]
    judges = zip(judged_by["backend"], judged_by["semantics"], strict=True)
    judged = sorted({_judge(backend, semantics) for backend, semantics in judges})
    made = Counter((_versions(p), _commit(p)) for p in records["provenance"])
    origins = []
    # The versions once, however many commits records were made at.
    for versions in sorted({versions for versions, _ in made}):
        commits = sorted((c, n) for (v, c), n in made.items() if v == versions)
        counted = (f"{commit} ({format_count(n, 'record')})" for commit, n in commits)
        origins.append(f"{versions}, at {', '.join(counted)}")
    told = f"Judge: {'; '.join(judged)}. " if judged else ""
    lines = [f"{told}Made with: {'; '.join(origins) or 'nothing'}."]
    # A grid that is run for real has the profile of its day, and a graph with the times of that.
    days = (records["grid"] + "/" + records["machine"]).where(records["backend"] != SIMULATOR, "")
    for (task, _), group in records.groupby([records["task"], days], sort=True):
        if len({graph.get("fingerprint") for graph in group["graph"] if graph}) > 1:
            lines.append(f"**{task}: records of different graphs**; run the grid again.")
    return [*lines, *seen_note(records)]


def machines(records: pd.DataFrame) -> list[str]:
    """Where the figures of each machine come from; nothing of one that is not known here.

    Grids that are run for real have the machine of their day each.
    """
    notes = []
    for name, mine in records.groupby("machine", sort=True):
        grids = {str(grid): machine_of(part) for grid, part in mine.groupby("grid", sort=True)}
        sources = {grid: one.source for grid, one in grids.items() if one}
        several = len(set(sources.values())) > 1
        for source in dict.fromkeys(sources.values()):
            of = ", ".join(f"`{grid}`" for grid, its in sources.items() if its == source)
            where = f", grid {of}" if several else ""
            notes.append(f"Machine {name}{where}: {source.removesuffix('.')}.")
    return notes


def hosts(records: pd.DataFrame) -> list[str]:
    """Which placers of a grid ran on which processors, where that was not one: seconds differ."""
    notes = []
    for grid, mine in records.groupby("grid", sort=True):
        placers: dict[str, set[str]] = {}
        for placer, made in zip(mine["placer"], mine["provenance"], strict=True):
            placers.setdefault(made.get("cpu") or "an unknown processor", set()).add(placer)
        if len(placers) > 1:
            each = (
                f"{', '.join(sorted(names))} on {cpu}" for cpu, names in sorted(placers.items())
            )
            notes.append(
                f"Grid `{grid}`, whose seconds were taken on different hosts: {'; '.join(each)}."
            )
    return notes


def _judge(backend: str, semantics: str) -> str:
    """The rules of a simulator; what runs placements for real has none beside its own."""
    if backend == EVALUATOR:
        return f"evaluator of workloads, {semantics}"
    return f"{backend}, semantics `{semantics}`" if backend == SIMULATOR else f"{backend}, for real"


class Provenance(TypedDict, total=False):
    """What a record says of where it was made."""

    commit: str
    cpu: str
    dirty: bool
    python: str
    versions: dict[str, str | None]


def _commit(provenance: Provenance) -> str:
    commit = f"commit {str(provenance.get('commit'))[:10]}"
    return commit + " with uncommitted changes" * bool(provenance.get("dirty"))


def _versions(provenance: Provenance) -> str:
    versions = {"python": provenance.get("python")} | provenance.get("versions", {})
    return ", ".join(f"{name} {version}" for name, version in versions.items() if version)


def code_note(records: pd.DataFrame) -> list[str]:
    """How many of a table's records are of unknown code, or of code that has changed since.

    Nothing where all were made with the code of when they were looked at last.
    """
    known = [code for code in records["code"] if code]
    counts = {
        "are of unknown code (made before records carried it)": len(records) - len(known),
        "were kept though their code has changed": sum("kept" in code for code in known),
        "were found the same by later code, in part or whole": sum(
            "replayed" in code for code in known
        ),
    }
    found = [f"{n} of {len(records)} records {what}" for what, n in counts.items() if n]
    return [f"{'; '.join(found)}."] if found else []
