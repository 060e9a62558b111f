"""Which records are compared with which, and how."""

from __future__ import annotations

from suite.bench.cell import Cell
from suite.bench.record import Record, ended_by_clock
from suite.gate.runs import Runs
from suite.gate.verdict import EXACT, LEARNED, MEASURED

SIMULATED = ("simulator", "workload")
"""Backends whose step times no clock decides."""

Key = tuple[Cell, int]
"""A cell and a round."""


def kind_of(record: Record) -> str:
    """How a record is to be compared.

    ``measured`` on real devices; ``learned`` when a placer learnt (it notes its ``updates``) or a
    limit in seconds may have ended its search; otherwise ``exact``: its seed decides every bit.
    """
    if record.get("backend") not in SIMULATED:
        return MEASURED
    learnt = "updates" in (record.get("planner") or {})
    return LEARNED if learnt or ended_by_clock(record) else EXACT


def groups(base: Runs, head: Runs) -> dict[tuple[str, str], list[Cell]]:
    """(Name, kind) -> the cells compared together: a cell alone, or all seeds of a learned one."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in sorted({*base, *head}, key=_order):
        records = [*base.get(cell, {}).values(), *head.get(cell, {}).values()]
        kinds = [kind_of(record) for record in records]
        kind = next((k for k in (MEASURED, LEARNED) if k in kinds), EXACT)
        name = cell.name.rpartition("/")[0] if kind == LEARNED else cell.name
        found.setdefault((name, kind), []).append(cell)
    return found


def _order(cell: Cell) -> tuple[str, int]:
    return cell.name.rpartition("/")[0], cell.seed


def step_times(runs: Runs, cells: list[Cell]) -> dict[Key, float]:
    """Seconds of every record with status ok, in the order of ``cells``, then of rounds."""
    return {
        (cell, number): float(record["step_time"])
        for cell in cells
        for number, record in sorted(runs.get(cell, {}).items())
        if record["status"] == "ok"
    }


def one_a_seed(times: dict[Key, float]) -> dict[Key, float]:
    """The first round of every cell: simulating a placement again says nothing new."""
    firsts: dict[Cell, int] = {}
    for cell, number in times:
        firsts.setdefault(cell, number)
    return {(cell, number): times[cell, number] for cell, number in firsts.items()}


def why_lost(key: Key, side: Runs) -> str:
    """What a side has in place of a step time."""
    cell, number = key
    where = f"seed {cell.seed}" + (f", round {number}" if number else "")
    record = side.get(cell, {}).get(number)
    if record is None:
        return f"{where}: no record"
    return f"{where}: {record['status']} {record.get('reason', '')}".strip()


def why_unmeasured(cells: list[Cell], side: Runs) -> str:
    """What a side, with a record of one of these cells at least, has in place of all step times."""
    first = next(cell for cell in cells if cell in side)
    return why_lost((first, min(side[first])), side)


def settings_note(cells: list[Cell], base: Runs, head: Runs) -> str:
    """A word of warning where the two sides did not ask the same."""
    for cell in cells:
        records = [*base.get(cell, {}).values(), *head.get(cell, {}).values()]
        if len({record.get("fingerprint") for record in records}) > 1:
            return "other settings"
    return ""
