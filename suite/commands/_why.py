"""Why a simulated step takes as long as it does: as a JSON object, and for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from suite.core.units import format_count

if TYPE_CHECKING:
    from suite.core.arrays import Ints
    from suite.simulator.critical_path import Blamed
    from suite.simulator.semantics import Semantics
    from suite.simulator.timeline import Timeline

SHOWN = 3
"""Names at most in a line of text; the JSON object has all."""
PARTS = {
    "computing": "computing",
    "behind_operations": "behind other operations",
    "transfers": "in transfers",
    "behind_transfers": "behind other transfers",
    "pauses": "while its device sends or receives",
}
"""The parts that a step is made of, and how they are called in text."""
TURNS = {"pauses": "behind other devices"}
"""Where one thing happens at a time, what is no transfer of a device's own is another's turn."""


def why_json(line: Timeline, semantics: Semantics, policy: str | None) -> dict[str, Any]:
    """Seconds of each part by device, or by both ends; what was in the way; what would be."""
    from suite.bench.what_if import OFF, faster_parts, times_off
    from suite.simulator.critical_path import critical_path
    from suite.simulator.judges import make_simulator

    path = critical_path(line, semantics)
    parts = {
        "computing": path.computing,
        "behind_operations": path.behind_operations,
        "transfers": path.sending,
        "behind_transfers": path.behind_transfers,
        "pauses": path.pausing,
    }
    devices: Ints = line.devices
    outcomes = faster_parts(line.problem, devices, semantics, policy)
    off = [make_simulator(one, semantics, policy) for one in times_off(line.problem)]
    return {
        "operations": path.operations,
        "transfers": path.transfers,
        "seconds": {part: {w: ns / 1e9 for w, ns in parts[part].items()} for part in PARTS},
        "other_operations": _blamed(path.other_operations),
        "other_transfers": _blamed(path.other_transfers),
        "what_if": {outcome.change: outcome.step_time for outcome in outcomes},
        "times_off": {
            "share": OFF,
            "step_times": [simulator.run(devices).step_time for simulator in off],
        },
    }


def why_text(why: dict[str, Any], step_time: float, semantics: Semantics) -> str:
    """The same for people: the parts, longest first, and what would make the step shorter."""
    words = PARTS | (TURNS if semantics.sequential else {})
    sums = {part: sum(where.values()) for part, where in why["seconds"].items()}
    operations = format_count(why["operations"], "operation")
    transfers = format_count(why["transfers"], "transfer")
    lines = [f"it waited for {operations} and {transfers}, each for its last input:"]
    for part in sorted(words, key=lambda part: -sums[part]):
        if sums[part]:
            by = [f"{w} {_share(s, step_time)}" for w, s in why["seconds"][part].items()]
            share = _share(sums[part], step_time)
            lines.append(f"  {words[part]:34} {sums[part]:.6f} s {share:>6}  {_some(by)}")
    for part, joined in (("operations", "on "), ("transfers", "")):
        others = why[f"other_{part}"]
        if others:
            lines.append(f"the other {part} were:")
        for one in others[:SHOWN]:
            share = _share(one["seconds"], step_time)
            lines.append(
                f"  {one['seconds']:.6f} s {share:>6}  {one['what']} {joined}{one['where']}"
            )
    lines.append("on another machine the same placement takes:")
    for change, seconds in why["what_if"].items():
        lines.append(f"  {seconds:.6f} s {_change(seconds, step_time)}  {change}")
    off = why["times_off"]["step_times"]
    mean = sum(off) / len(off)
    lines.append(
        f"  {mean:.6f} s {_change(mean, step_time)}  each operation's time off at random by"
        f" {why['times_off']['share']:.0%} (mean of {len(off)}, {min(off):.6f} to {max(off):.6f})"
    )
    if any(seconds > step_time for seconds in why["what_if"].values()):
        lines.append(
            "It is longer with something faster where operations then run in a worse order; a"
            " search fits its answer to one order."
        )
    return "\n".join(lines)


def _blamed(found: Sequence[Blamed]) -> list[dict[str, Any]]:
    return [{"what": b.what, "where": b.where, "seconds": b.nanoseconds / 1e9} for b in found]


def _some(names: Sequence[str]) -> str:
    more = f", {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _share(seconds: float, of: float) -> str:
    return f"{seconds / of:.1%}" if of else "-"


def _change(seconds: float, before: float) -> str:
    return f"{seconds / before - 1:+7.1%}" if before else ""
