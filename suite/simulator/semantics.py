"""What a simulated step pays for transfers and memory: one frozen set of rules per preset.

``placebench`` is docs/simulator.md; the others are what the simulators of published placers assume.
Op times and the speed of links are the machine's under all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from suite.core.arrays import Bools, Ints
from suite.core.errors import InputError

CHANNELS = ("machine", "pair", "sender", "device")
CONTROL = ("empty", "header", "output")
MEMORY = ("tensors", "outputs", "first-output")
UNREAD = ("freed", "kept", "ignored")
LIMITS = ("above", "reached", "none")
HEADER = 4
"""Bytes of a control edge under ``header``."""


@dataclass(frozen=True)
class Semantics:
    """The rules of one simulator."""

    name: str
    """Part of every record's identity."""
    channels: str = "machine"
    """What a transfer waits for: the channels that the ``machine`` names; the private queue of its
    ``pair`` of devices; the queue of its ``sender``; one channel per ``device`` for both ways,
    booked ahead by each operation when it becomes ready."""
    broadcast: bool = False
    """Whether one transfer serves all other devices; otherwise each gets its own."""
    free: bool = False
    """Whether transfers take no time."""
    trailing_latency: bool = False
    """Whether a link's latency holds its channel after the arrival instead of delaying it."""
    rest: float = 0.0
    """Seconds that a device pauses after an operation that takes time; readers do not wait."""
    control: str = "empty"
    """What crosses for a control edge: nothing (``empty``: the latency alone), a ``header`` of 4
    bytes, or the producer's first ``output``, shared with those who read it."""
    memory: str = "tensors"
    """What is counted: ``tensors``, originals and received copies; or per operation one block,
    freed when the last reader on any device has ended, of all its ``outputs`` or of its
    ``first-output``; copies are free then."""
    aliases: bool = True
    """Whether an alias takes no memory of its own (``tensors``)."""
    variables: bool = True
    """Whether variables are counted."""
    alloc_at_end: bool = False
    """Whether outputs are allocated when their operation ends and its inputs have been freed."""
    unread: str = "freed"
    """Outputs that nothing reads: ``freed`` when their operation ends, ``kept``, or ``ignored``."""
    sequential: bool = False
    """Whether one device works or one tensor moves at any time: a step takes the sum of it all."""
    limit: str = "above"
    """When a device is out of memory: a peak ``above`` its memory, one that has ``reached`` it, or
    never (``none``)."""

    def __post_init__(self) -> None:
        """Refuse unknown words and combinations that no simulator has."""
        words = {"channels": CHANNELS, "control": CONTROL, "memory": MEMORY}
        for field, known in (words | {"unread": UNREAD, "limit": LIMITS}).items():
            if getattr(self, field) not in known:
                value = getattr(self, field)
                raise InputError(f"{field} is {value!r}; one of {', '.join(known)}")
        if not 0 <= self.rest < 1:
            raise InputError(f"rest is {self.rest!r} s; give 0 to 1")
        if self.broadcast and (self.channels != "sender" or not self.blocks):
            raise InputError("a broadcast has no single channel and copy; use sender and outputs")
        if self.booked and (self.rest or self.trailing_latency):
            raise InputError("channels booked ahead know no rest and no trailing latency")
        if self.blocks and self.alloc_at_end:
            raise InputError("allocation at the end is for tensors")

    @property
    def booked(self) -> bool:
        """Whether channels are booked ahead."""
        return self.channels == "device"

    @property
    def of_machine(self) -> bool:
        """Whether the machine says what transfers wait for and occupy, and what runs next."""
        return self.channels == "machine"

    @property
    def blocks(self) -> bool:
        """Whether memory counts one block per operation."""
        return self.memory != "tensors"

    def full(self, peak: Ints, memory: Ints) -> Bools:
        """Where the peaks, int64[..., devices] bytes, are out of the memory int64[devices]."""
        if self.limit == "none":
            return np.zeros(peak.shape, np.bool_)
        return np.asarray(peak >= memory if self.limit == "reached" else peak > memory)


PLACEBENCH = Semantics("placebench")

_PRESETS = (
    PLACEBENCH,
    # Addanki et al., Placeto (NeurIPS 2019): sim/tf_placement_sim of the authors' code.
    Semantics(
        "placeto",
        channels="sender",
        broadcast=True,
        trailing_latency=True,
        rest=5.7e-6,
        control="output",
        memory="first-output",
        variables=False,
        limit="none",
    ),
    # Jeon et al., Baechi (SoCC 2020): placer/virtual_scheduler.py and device.py of their code.
    Semantics(
        "baechi",
        channels="device",
        control="header",
        memory="outputs",
        unread="kept",
        limit="none",
    ),
    # TensorFlow Grappler's virtual cluster: grappler/costs/virtual_scheduler.cc.
    Semantics(
        "grappler",
        channels="pair",
        free=True,
        control="header",
        aliases=False,
        alloc_at_end=True,
        unread="ignored",
        limit="reached",
    ),
)
PRESETS: Mapping[str, Semantics] = MappingProxyType({p.name: p for p in _PRESETS})
"""By name, the default first."""


HETERO = Semantics("hetero", channels="pair", sequential=True)
"""OpenVINO's plugin HETERO, which infers the parts of a network one after another, on one device
each, with tensors between them in host memory (its ``sync_infer_request.cpp``)."""
KNOWN: Mapping[str, Semantics] = MappingProxyType({**PRESETS, HETERO.name: HETERO})
"""By name; beside the presets what machines say of themselves."""


def preset(name: str) -> Semantics:
    """Return semantics by name; InputError lists those there are."""
    if name not in KNOWN:
        raise InputError(f"no semantics {name!r}; one of {', '.join(KNOWN)}")
    return KNOWN[name]
