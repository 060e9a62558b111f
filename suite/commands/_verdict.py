"""What a simulated step was like: as one JSON object, and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suite.core.units import format_bytes

if TYPE_CHECKING:
    from suite.core.problem import Problem
    from suite.simulator.result import StepResult
    from suite.simulator.semantics import Semantics


def as_json(
    problem: Problem, result: StepResult, semantics: Semantics | None = None
) -> dict[str, Any]:
    """The verdict with device and channel names; seconds and bytes; the machine's own semantics."""
    from suite.simulator.channels import channels_of
    from suite.simulator.judges import own_semantics

    rules = semantics or own_semantics(problem.machine)
    channels = channels_of(problem.machine, rules)[0]
    names = [d.name for d in problem.machine.devices]
    return {
        "semantics": rules.name,
        "step_time": result.step_time,
        "peak_memory": dict(zip(names, result.peak_memory.tolist(), strict=True)),
        "oom": [name for name, full in zip(names, result.oom, strict=True) if full],
        "busy": {n: b / 1e9 for n, b in zip(names, result.busy.tolist(), strict=True)},
        "moved": dict(zip(channels, result.moved.tolist(), strict=True)),
    }


def as_text(problem: Problem, verdict: dict[str, Any]) -> str:
    """The verdict for people."""
    lines = [f"step time  {verdict['step_time']:.6f} s, semantics {verdict['semantics']}"]
    for device in problem.machine.devices:
        peak, busy = verdict["peak_memory"][device.name], verdict["busy"][device.name]
        share = busy / verdict["step_time"] if verdict["step_time"] else 0.0
        full = "  OUT OF MEMORY" if device.name in verdict["oom"] else ""
        room = f"{format_bytes(peak)} of {format_bytes(device.memory)}"
        lines.append(f"{device.name:10} busy {share:6.1%}, peak {room}{full}")
    lines += [f"{c:20} moved {format_bytes(b)}" for c, b in verdict["moved"].items() if b]
    return "\n".join(lines)
