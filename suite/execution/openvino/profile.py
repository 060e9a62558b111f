"""OpenVINO's times of a model's kernels, as a trace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from suite.core.arrays import Ints
from suite.execution.measurement import Trace

if TYPE_CHECKING:
    import openvino


def trace_of(
    kernels: Sequence[openvino.ProfilingInfo], names: Sequence[str], devices: Ints
) -> Trace:
    """What ran in one inference, kernel after kernel: OpenVINO tells how long, not when.

    ``devices`` (int[ops]) is the placement of the operations ``names``. A kernel is called after
    one of the operations that it computes; others, such as a change of layout, have names of their
    own, and the device of what else is in their part of the model.
    """
    ran = [one for one in kernels if one.status == type(one).Status.EXECUTED]
    places = dict(zip(names, devices.tolist(), strict=True))
    split = [_split(one.node_name) for one in ran]
    homes = {part: places[name] for part, name in split if name in places}
    ends = np.cumsum([one.real_time.total_seconds() for one in ran], dtype=np.float64)
    return Trace(
        tuple(name for _, name in split),
        tuple(f"{one.node_type}, {one.exec_type}" for one in ran),
        np.array([places.get(name, homes.get(part, -1)) for part, name in split], np.int32),
        np.concatenate([[0.0], ends[:-1]]) if len(ends) else ends,
        ends,
    )


def _split(name: str) -> tuple[str, str]:
    """``subgraph3: Add_7`` -> its part of the model and its own name; one part has no number."""
    found = re.fullmatch(r"(subgraph\d+): (.*)", name)
    return (found[1], found[2]) if found else ("", name)
