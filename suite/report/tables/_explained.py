"""Why a simulated step time is not the measured one, in words, from both timelines."""

from __future__ import annotations

from typing import TypedDict

SHOWN = 3
"""Operation types named."""


class Step(TypedDict):
    """One side of a breakdown."""

    busy: dict[str, float]
    """Device -> seconds."""
    transfers: int
    transfer_seconds: float


class Breakdown(TypedDict, total=False):
    """What :func:`suite.fidelity.breakdown.breakdown` makes; empty without a trace."""

    measured: Step
    simulated: Step
    operations: list[tuple[str, str, int, float, float]]
    """Type, device, number, simulated and measured seconds."""


def explained(simulated: float, measured: float, breakdown: Breakdown) -> str:
    """Say where the difference lies: the busiest device, idle time, transfers, operation types.

    Times in seconds; ``breakdown`` as :func:`suite.fidelity.breakdown.breakdown` makes it.
    """
    real, model = breakdown.get("measured"), breakdown.get("simulated")
    if not real or not model:
        return "no trace of the real step"
    device = max(real["busy"], key=lambda name: real["busy"][name])
    took, thought = real["busy"][device], model["busy"][device]
    parts = [
        f"{device} computes {_pair(took, thought)}",
        f"is idle {_pair(measured - took, simulated - thought)}",
        _transfers(real, model),
    ]
    rows = [
        f"{kind} on {where} {_pair(real_time, model_time)}"
        for kind, where, _, model_time, real_time in breakdown["operations"][:SHOWN]
    ]
    return "; ".join([*parts, *rows])


def _transfers(real: Step, model: Step) -> str:
    sent, expected = real["transfers"], model["transfers"]
    if expected and not sent:
        # OpenVINO's traces have none, and TensorFlow's of a busy host may have lost them.
        return f"no transfer was traced ({expected:,} simulated, {model['transfer_seconds']:.3g} s)"
    other = f" ({expected:,} simulated)" if sent != expected else ""
    moving = _pair(real["transfer_seconds"], model["transfer_seconds"])
    return f"{sent:,} transfers{other} take {moving}"


def _pair(measured: float, simulated: float) -> str:
    return f"{measured:.3g} s ({simulated:.3g} s)"
