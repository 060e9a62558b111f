"""Table 6 of HSDAG (Duan et al., NeurIPS 2024): its settings, printed, released, and run here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from suite.bench.grid import planned_cells
from suite.report.outcome import Printed
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._hsdag import IN_TURN, PAPER, SIDE_BY_SIDE, printed_rows

GRIDS = (IN_TURN, SIDE_BY_SIDE)
"""What ``placebench bench hsdag_table6`` runs."""
SETTINGS = {
    "hidden_channel": "hidden",
    "layer_trans": "transform_layers",
    "layer_gnn": "gcn_layers",
    "layer_parsingnet": "scoring_layers",
    "dropout_network": "dropout",
    "learning_rate": "learning_rate",
    "max_episodes": "episodes",
    "update_timestep": "steps",
    "K_epochs": "epochs",
}
"""The paper's name -> the field that is it here."""
OTHERS = (
    *("features", "coarsening", "levels", "position_size", "discount", "credit", "baseline"),
    *("carry", "single_device", "scrambled"),
)
"""Fields that are not in the paper's table."""
PLACERS = {"hsdag": "HSDAG", "hsdag_tuned": "HSDAG tuned", "hsdag_released": "HSDAG released"}
TITLE = "HSDAG, Table 6: settings"
LEAD = f"""\
Settings as published by
{PAPER.format(number=6)},
and those of the records here."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the parameters of Table 2's records, and all published numbers."""
    printed = printed_rows(published, "6")
    planned = [cell for grid in GRIDS for cell in planned_cells(grid) if cell.placer in PLACERS]
    ours = records[records["grid"].isin(GRIDS) & records["placer"].isin(PLACERS)]
    used = {placer: _common(ours[ours["placer"] == placer]) for placer in PLACERS}
    sections = _printed(printed, used), _others(used)
    data = pd.DataFrame(_entries(printed, used), columns=["column", "placer", "value", "published"])
    return Table(TITLE, LEAD, sections, tuple(_words(ours)), data, len(planned), len(ours))


def _common(records: pd.DataFrame) -> Mapping[str, Any]:
    """What all records of a placer were made with; of a field in which they differ all values."""
    found: dict[str, Any] = {}
    for parameters in records["parameters"]:
        for name, value in parameters.items():
            found.setdefault(name, []).append(value)
    return {name: v[0] if all(x == v[0] for x in v) else v for name, v in found.items()}


def _printed(printed: pd.DataFrame, used: Mapping[str, Mapping[str, Any]]) -> Section:
    rows = [
        (name, Printed.of(printed, "all", name).text, f"`{field}`", *_values(field, used))
        for name, field in SETTINGS.items()
    ]
    return Section("The paper's table", ("Setting", "paper", "field", *PLACERS.values()), (*rows,))


def _others(used: Mapping[str, Mapping[str, Any]]) -> Section:
    rows = [(f"`{field}`", *_values(field, used)) for field in OTHERS]
    lead = "What else decides what is learned; docs/planners.md says which of it was chosen here."
    return Section("Not in the paper's table", ("field", *PLACERS.values()), (*rows,), lead)


def _values(field: str, used: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for parameters in used.values():
        value = parameters.get(field, "missing")
        yield ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _entries(
    printed: pd.DataFrame, used: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str, Any, str]]:
    for name, field in SETTINGS.items():
        for placer, parameters in used.items():
            theirs = Printed.of(printed, "all", name).digits
            yield name, placer, parameters.get(field), theirs


def _words(records: pd.DataFrame) -> Iterator[str]:
    yield (
        "The paper's table has further: num_devices 2, the machine's here; gnn_model GCN, the only"
        " one here; dropout_parsing 0.0, so no field; and a discount whose value is not printed."
    )
    yield (
        "Its released code has other values for three of them: a rate of 0.001, 25 episodes, and"
        " K_epochs 5, which it reads and does not use: one gradient step an episode. It has a"
        " second graph network, of one convolution, whose output is pooled at every level."
    )
    yield from notes.failures(records)
    yield from notes.code_note(records)
