"""Table 4 of HSDAG (Duan et al., NeurIPS 2024): what placing does to a network's outputs."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import Any

import pandas as pd

from suite.bench.grid import planned_cells
from suite.report.outcome import Printed
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._hsdag import PAPER, printed_rows, spread

GRID = "hsdag_table4"
RUN = f"{GRID}@openvino"
"""The grid's name in records of real runs: ``placebench bench hsdag_table4 --backend openvino``."""
TASKS = {"hsdag_bert": "BERT", "hsdag_resnet50": "ResNet", "hsdag_inception_v3": "Inception-V3"}
COMPARISONS = {
    "cpu_gpu": ("CPU and GPU", "gpu_only", "cpu:0"),
    "cpu_hsdag": ("CPU and HSDAG", "hsdag", "cpu:0"),
    "gpu_hsdag": ("GPU and HSDAG", "hsdag", "gpu:0"),
}
"""Published row -> its head, the placer that was run, the device that it is compared with."""
NORMS = {"mse": ("MSE", ".3g"), "cosine": ("CS", ".6f"), "l2": ("L2", ".3g")}
TITLE = "HSDAG, Table 4: outputs of placed networks"
LEAD = f"""\
How far outputs are apart: mean squared error, cosine similarity, Euclidean norm of the difference,
over all elements of all outputs. Each cell: ours, a median over seeds, then in brackets the value
published by
{PAPER.format(number=4)}.
Inputs are made up and weights drawn, so only orders of magnitude compare."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of real runs, and all published numbers."""
    printed, ours = printed_rows(published, "4"), records[records["grid"] == RUN]
    cells = planned_cells(GRID)
    sections = _outputs(ours, printed), _parts(ours)
    data = pd.DataFrame(_entries(ours), columns=["task", "column", "seed", "value"])
    return Table(
        TITLE, LEAD, sections, tuple(_words(ours, len(cells))), data, len(cells), len(ours)
    )


def _entries(records: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Every number of every record, named as the published ones are."""
    for _, record in records.iterrows():
        for name, (_, placer, device) in COMPARISONS.items():
            found = record["outputs_against"].get(device, {})
            if record["placer"] == placer:
                about = {"task": record["task"], "seed": record["seed"]}
                for norm in NORMS:
                    value = float(found.get(norm, nan))
                    yield about | {"column": f"{name}_{norm}", "value": value}


def _outputs(records: pd.DataFrame, printed: pd.DataFrame) -> Section:
    data = pd.DataFrame(_entries(records), columns=["task", "column", "value"])
    rows = []
    for task, label in TASKS.items():
        for name, (head, _, _) in COMPARISONS.items():
            cells = [label, head]
            for norm, (_, pattern) in NORMS.items():
                column = f"{name}_{norm}"
                mine = data[(data["task"] == task) & (data["column"] == column)]["value"]
                theirs = Printed.of(printed, task, column).text
                cells.append(f"{spread(mine, pattern)} ({theirs})")
            rows.append(tuple(cells))
    heads = (head for head, _ in NORMS.values())
    return Section("Outputs compared", ("Network", "Outputs of", *heads), tuple(rows))


def _parts(records: pd.DataFrame) -> Section:
    """What was run: in how many parts, and how long an inference took here."""
    rows = []
    for task, label in TASKS.items():
        for placer in dict.fromkeys(placer for _, placer, _ in COMPARISONS.values()):
            mine = records[(records["task"] == task) & (records["placer"] == placer)]
            times = [1e3 * seconds for seconds in mine["step_time"]]
            rows.append((label, placer, spread(mine["parts"], ".0f"), spread(times, ".1f")))
    header = ("Network", "placement", "parts", "ms an inference, measured")
    lead = "Parts: submodels that OpenVINO's HETERO plugin made of the network."
    return Section("What was run", header, tuple(rows), lead)


def _words(records: pd.DataFrame, planned: int) -> Iterator[str]:
    yield f"{len(records)} of {planned} records are there."
    if records["virtual"].any():
        yield (
            "Devices are **virtual**: this host has no GPU, and a second copy of OpenVINO's CPU"
            " plugin stands in for it. Both compute in float32, so what differs here is the order"
            " of sums; a GPU's float16, which makes the published errors, is not there. The table"
            " says that placements are executed as asked and leave the outputs as they are, and"
            " nothing about the errors of a GPU."
        )
    yield (
        "Placements are those that HSDAG finds when devices work side by side: one part after"
        " another it ends on one device, of which there is nothing to compare."
    )
    yield (
        "Published, BERT placed by HSDAG is 47 times nearer to the CPU's outputs than to the GPU's"
        " (MSE), though it is as fast as on the GPU alone (2.67 ms; the CPU takes 6.38). A network"
        " that computes mostly in a GPU's float16 should be near the GPU's outputs. Which of the"
        " two was measured cannot be decided."
    )
    yield from notes.failures(records)
    yield from notes.provenance(records)
    yield from notes.code_note(records)
