"""Records made here beside those of a reference, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from suite.bench.record import RECORDS, Record, ended_by_clock, read_record
from suite.core.errors import InputError

_RESULT = ("status", "step_time", "placement_hash", "evaluations", "peak_memory", "busy", "moved")
"""What the same settings give on every host, to the bit."""
_LEARNED = {"threads", "tensorflow_threads"}
"""What planners that learn with TensorFlow note, either of them."""
_SHOWN = 6
"""Differing cells that are named; of more, the number is given."""


@dataclass(frozen=True)
class Comparison:
    """How the records of some grids compare with a reference."""

    equal: tuple[str, ...]
    """Names of cells whose result is the reference's to the bit."""
    differ: Mapping[str, str]
    """Cell name -> how its result differs, the farthest first."""
    missing: tuple[str, ...]
    """Cells of the reference that have no record here."""
    new: tuple[str, ...]
    """Cells that the reference does not have."""
    timed: Mapping[str, float]
    """Cell name -> step time relative to the reference's, of searches that the clock ended."""
    planning: Mapping[str, float]
    """Cell name -> seconds to place relative to the reference's."""

    def line(self) -> str:
        """All of it on one line."""
        cells = len(self.equal) + len(self.differ) + len(self.missing) + len(self.timed)
        parts = [f"{len(self.equal)} of {cells} cells equal to the bit", self._differing()]
        parts += [f"{len(self.missing)} missing{_named(self.missing)}"]
        if self.new:
            parts.append(f"{len(self.new)} that it does not have")
        clocks = []
        if self.timed:
            ratio = median(self.timed.values())
            clocks.append(f"{len(self.timed)} searches bound by seconds, median step x{ratio:.3f}")
        if self.planning:
            ratio = median(self.planning.values())
            clocks.append(f"{len(self.planning)} planning times, median x{ratio:.2f}")
        if clocks:
            parts.append(f"by the clock: {', '.join(clocks)}")
        return "; ".join(parts)

    def _differing(self) -> str:
        shown = [f"{name} {how}" for name, how in list(self.differ.items())[:_SHOWN]]
        more = len(self.differ) - len(shown)
        if more > 0:
            shown.append(f"{more} more")
        return f"{len(self.differ)} differ" + (f" ({', '.join(shown)})" if shown else "")


def compare_with_reference(results: Path, reference: Path) -> Comparison:
    """Compare the records below ``results`` with the same cells' below ``reference``.

    A cell of the reference is missing when ``results`` has records of its grid, but none of it.
    InputError where either folder has none, or a record is broken.
    """
    mine, theirs = _records(results), _records(reference)
    grids = {name.partition("/")[0] for name in mine}
    theirs = {name: r for name, r in theirs.items() if name.partition("/")[0] in grids}
    both = {name: (mine[name], theirs[name]) for name in mine if name in theirs}
    timed = {name: pair for name, pair in both.items() if _by_the_clock(*pair)}
    exact = {name: pair for name, pair in both.items() if name not in timed}
    ratios = {name: _ratio(*pair, "step_time") for name, pair in both.items()}
    planning = {name: _ratio(*pair, "wall_seconds") for name, pair in both.items()}
    differ = [name for name, (a, b) in exact.items() if any(a.get(k) != b.get(k) for k in _RESULT)]
    differ.sort(key=lambda name: -abs((ratios[name] or 0.0) - 1.0))  # another status: far, too
    return Comparison(
        tuple(name for name in exact if name not in differ),
        {name: _how(*exact[name]) for name in differ},
        tuple(name for name in theirs if name not in mine),
        tuple(name for name in mine if name not in theirs),
        {name: ratio for name in timed if (ratio := ratios[name])},
        {name: ratio for name in planning if name not in timed and (ratio := planning[name])},
    )


def _records(results: Path) -> dict[str, Record]:
    """Cell name -> record."""
    found = {}
    for path in sorted(results.glob(RECORDS)):
        found[str(path.relative_to(results).with_suffix(""))] = read_record(path)
    if not found:
        raise InputError(f"{results} holds no records; run placebench bench --output {results}")
    return found


def _by_the_clock(mine: Record, theirs: Record) -> bool:
    """Whether both have a step time that depends on how fast the host is."""
    pair = (mine, theirs)
    measured = any(record.get("backend") not in (None, "simulator") for record in pair)
    both = all(record.get("step_time") for record in pair)
    return both and (measured or any(ended_by_clock(record) for record in pair))


def _ratio(mine: Record, theirs: Record, field: str) -> float | None:
    """This record's value relative to the reference's; None where one has none."""
    here, there = mine.get(field), theirs.get(field)
    return float(here / there) if here and there else None


def _how(mine: Record, theirs: Record) -> str:
    """How two results differ: status, step time, or what is behind the same step time."""
    if mine["status"] != theirs["status"]:
        text = f"{mine['status']} instead of {theirs['status']}"
    elif (ratio := _ratio(mine, theirs, "step_time")) is None or ratio == 1.0:
        names = [name for name in _RESULT if mine.get(name) != theirs.get(name)]
        text = f"same step time, other {' and '.join(names)}"
    else:
        text = f"{100 * (ratio - 1):+.2g} %"
    graphs = [record.get("graph", {}).get("fingerprint") for record in (mine, theirs)]
    if graphs[0] != graphs[1]:
        return f"{text}, of another graph"
    # TensorFlow's sums depend on the processor's vector units, and a search amplifies that.
    learned = _LEARNED & set(mine.get("planner", {}))
    return f"{text}, maybe by another processor's rounding" if learned else text


def _named(cells: tuple[str, ...]) -> str:
    if not cells:
        return ""
    more = [f"{len(cells) - _SHOWN} more"] if len(cells) > _SHOWN else []
    return f" ({', '.join([*cells[:_SHOWN], *more])})"
