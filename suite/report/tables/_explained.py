"""Why a simulated step time is not the measured one, in words, from both timelines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHOWN = 3
"""Operation types named."""


def explained(simulated: float, measured: float, breakdown: Mapping[str, Any]) -> str:
    """Say where the difference lies: the busiest device, idle time, transfers, operation types.

    Times in seconds; ``breakdown`` as :func:`suite.fidelity.breakdown.breakdown` makes it.
    """
    real, model = breakdown.get("measured"), breakdown.get("simulated")
    if not real or not model:
        return "no trace of the real step"
    device = max(real["busy"], key=lambda name: real["busy"][name])
    took, thought = real["busy"][device], model["busy"][device]
    sent, expected = real["transfers"], model["transfers"]
    moving = _pair(real["transfer_seconds"], model["transfer_seconds"])
    other = f" ({expected:,} simulated)" if sent != expected else ""
    parts = [
        f"{device} computes {_pair(took, thought)}",
        f"is idle {_pair(measured - took, simulated - thought)}",
        f"{sent:,} transfers{other} take {moving}",
    ]
    rows = [
        f"{kind} on {where} {_pair(real_time, model_time)}"
        for kind, where, _, model_time, real_time in breakdown["operations"][:SHOWN]
    ]
    return "; ".join([*parts, *rows])


def _pair(measured: float, simulated: float) -> str:
    return f"{measured:.3g} s ({simulated:.3g} s)"
