"""What the two tables of Tarnawski et al.'s workloads share."""

from __future__ import annotations

import pandas as pd

from suite.report.table import Section, Table
from suite.report.tables._notes import code_note

HEADER = ("workload", "accelerators", "algorithm", "ms", "bound", "gap", "answer", "seconds")
NOTES = (
    "Milliseconds by the evaluator, which shares no code with the algorithms. The bound is what "
    "the algorithm proved for its kind of split (contiguous for dp, dpl and ip_contiguous), else "
    "a trivial one for all splits.",
    "Workloads are the user's: `placebench workload FOLDER --objective OBJECTIVE --algorithm all "
    "--output results` writes the records.",
    "CPU times of the authors' workloads are synthetic, 10 or 23 times the accelerator's.",
)


def tarnawski_table(records: pd.DataFrame, objective: str, title: str, lead: str) -> Table:
    """Build the page of one objective from the records of ``placebench workload``."""
    ours = records[records["grid"] == f"tarnawski_{objective}"]
    ours = ours.sort_values(["task", "placer", "seed"])
    rows = tuple(_row(record) for _, record in ours.iterrows())
    if not rows:
        rows = (("no records", *[""] * (len(HEADER) - 1)),)
    data = pd.DataFrame(
        {
            "workload": ours["task"],
            "accelerators": ours["gpus"],
            "algorithm": ours["placer"],
            "seed": ours["seed"],
            "status": ours["status"],
            "objective_ms": ours["step_time"] * 1e3,
            "bound_ms": ours["lower_bound"] * 1e3,
            "answer": ours["bound_kind"],
            "seconds": ours["wall_seconds"],
        }
    )
    notes = (*NOTES, *code_note(ours))
    return Table(title, lead, (Section(title, HEADER, rows),), notes, data, len(ours), len(ours))


def _row(record: pd.Series) -> tuple[str, ...]:
    start = (str(record["task"]), str(record["gpus"]), str(record["placer"]))
    if record["status"] not in ("ok", "oom"):
        return (*start, "-", "-", "-", str(record["status"]), "-")
    value, bound = record["step_time"] * 1e3, record["lower_bound"] * 1e3
    gap = f"{100 * (value - bound) / value:.1f} %" if value else "-"
    numbers = (f"{value:.3f}", f"{bound:.3f}", gap)
    return (*start, *numbers, str(record["bound_kind"]), f"{record['wall_seconds']:.2f}")
