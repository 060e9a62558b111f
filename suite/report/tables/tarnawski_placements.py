"""Latency answers of Tarnawski et al.'s algorithms as placements, judged by the simulator."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from suite.bench.cell import SIMULATOR
from suite.report.outcome import word
from suite.report.table import Section, Table
from suite.report.tables._notes import code_note, provenance
from suite.report.tables._tarnawski import ORDER

GRID = "tarnawski_placements"
BESIDE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "human expert": ("human_expert", ("quick", "strong")),
    "METIS": ("metis", ("quick", "strong")),
    "annealing": ("annealing", ("quick", "strong")),
    "annealing, 60 s": ("annealing", ("race",)),
}
"""Column head -> placer and the grids that its record may come from, the first that has one."""
VARIANTS = {
    "training_gpus": "training, on GPUs alone",
    "training": "training, CPU and GPUs",
    "inference_gpus": "inference, on GPUs alone",
    "inference": "inference, CPU and GPUs",
}
TITLE = "Latency answers of Tarnawski et al.'s algorithms as placements"
LEAD = """\
Simulated seconds of one training step, lower is better; in brackets the ratio to the proven lower
bound. An answer places blocks; every operation goes to its block's device, the backward pass too
where the answer is for inference. The best that fits into memory, of all algorithms, beside placers
that place operations."""
PROMISED = """\
Simulated seconds of a training step; in brackets the seconds of one sample that the algorithm's
cost model promised for what it was asked (with inference: the forward pass alone)."""
NOTES = (
    "The paper's cost model lets each accelerator make blocking calls, so that computing and "
    "moving never overlap, and CPUs are unlimited in number: with a CPU allowed, blocks side by "
    "side on it are promised to run at once, and the simulator has one CPU.",
    "Nothing published stands beside these figures: the paper's answers are for other graphs.",
    "Coarsening by blocks and turning back are ours (docs/workloads.md).",
    "Human expert, METIS and annealing (1,000 placements, in `strong` 4,000) are those of grid "
    "`quick`, or of `strong` for other numbers of GPUs; annealing with 60 seconds that of "
    "`race`: medians over seeds.",
)


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of ``placebench workload --objective latency``."""
    simulated = records[records["backend"] == SIMULATOR]
    ours = simulated[simulated["grid"] == GRID].reset_index(drop=True)
    simulated = simulated[simulated["machine"].isin(ours["machine"])]
    keys = ours[["gpus", "task"]].drop_duplicates().sort_values(["gpus", "task"])
    tasks = [(str(task), int(gpus)) for gpus, task in keys.itertuples(index=False)]
    sections = [_beside(ours, simulated, tasks)]
    sections += [
        _variant(ours, variant, head, tasks)
        for variant, head in VARIANTS.items()
        if ours["placer"].map(lambda placer, v=variant: _variant_of(placer) == v).any()
    ]
    data = pd.DataFrame(
        {
            **{name: ours[name] for name in ("task", "gpus")},
            "algorithm": ours["placer"].map(_algorithm_of),
            "workload": ours["placer"].map(_variant_of),
            **{name: ours[name] for name in ("seed", "status", "reason", "step_time")},
            "promised": [planner.get("promised") for planner in ours["planner"]],
            "answer": [planner.get("answer") for planner in ours["planner"]],
        }
    )
    notes = (*NOTES, *provenance(ours), *code_note(ours))
    return Table(TITLE, LEAD, tuple(sections), notes, data, len(ours), len(ours))


def _variant_of(placer: str) -> str:
    """``training_gpus`` of ``ip_contiguous_training_gpus``."""
    return next(v for v in VARIANTS if placer.endswith(f"_{v}"))


def _algorithm_of(placer: str) -> str:
    return placer.removesuffix(f"_{_variant_of(placer)}")


def _beside(ours: pd.DataFrame, simulated: pd.DataFrame, tasks: list[tuple[str, int]]) -> Section:
    rows = []
    for task, gpus in tasks:
        here = simulated[(simulated["task"] == task) & (simulated["gpus"] == gpus)]
        bound = float(here["lower_bound"].max())
        cells = []
        for placer, grids in BESIDE.values():
            found = here[(here["placer"] == placer) & here["grid"].isin(grids)]
            first = next((g for g in grids if g in set(found["grid"])), "")
            cells.append(_ratio(found[found["grid"] == first], bound))
        mine = ours[(ours["task"] == task) & (ours["gpus"] == gpus)]
        for passes in ("training", "inference"):
            asked = mine[mine["placer"].map(lambda p, w=passes: _variant_of(p).startswith(w))]
            cells.append(_best(asked, bound))
        rows.append((task, str(gpus), f"{bound:.3f}" if bound == bound else "missing", *cells))
    heads = ("task", "GPUs", "bound", *BESIDE, "best, asked for training", "for inference")
    return Section("Beside placers of operations", heads, tuple(rows))


def _ratio(records: pd.DataFrame, bound: float) -> str:
    if records.empty:
        return "missing"
    valid = records[records["status"] == "ok"]
    if valid.empty:
        return word(str(records["status"].iloc[0]))
    value = float(valid["step_time"].median())
    return f"{value:.3f} (x{value / bound:.2f})" if bound == bound else f"{value:.3f}"


def _best(records: pd.DataFrame, bound: float) -> str:
    valid = records[records["status"] == "ok"].reset_index(drop=True)
    if valid.empty:
        return _ratio(records, bound)
    best = valid.iloc[[int(valid["step_time"].argmin())]]
    label = str(best["placer"].iloc[0])
    gpus = ", GPUs alone" * _variant_of(label).endswith("_gpus")
    return f"{_ratio(best, bound)} {_algorithm_of(label)}{gpus}"


def _variant(ours: pd.DataFrame, variant: str, head: str, tasks: list[tuple[str, int]]) -> Section:
    mine = ours[ours["placer"].map(lambda placer: _variant_of(placer) == variant)]
    there = set(mine["placer"].map(_algorithm_of))
    names = [name for name in ORDER if name in there]
    rows = []
    for task, gpus in tasks:
        here = mine[(mine["task"] == task) & (mine["gpus"] == gpus)]
        cells = [_promised(here[here["placer"] == f"{name}_{variant}"]) for name in names]
        rows.append((task, str(gpus), *cells))
    return Section(f"Asked for {head}", ("task", "GPUs", *names), tuple(rows), PROMISED)


def _promised(records: pd.DataFrame) -> str:
    if records.empty:
        return "-"
    record = records.iloc[0]
    full = f" {word('oom')}" * (record["status"] == "oom")
    return f"{record['step_time']:.3f} ({record['planner']['promised']:.3f}){full}"
