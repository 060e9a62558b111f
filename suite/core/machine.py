"""Machine: named devices, the links between them, and the efficiencies of operation classes.

It is read from a TOML file by :mod:`suite.formats.machine_toml`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats, Ints, digest
from suite.core.errors import InputError

CHANNELS = ("pair", "copy-engines", "shared")
DISPATCH = ("fifo", "stack")
OP_CLASSES = ("convolution", "matmul", "elementwise", "movement")


@dataclass(frozen=True)
class Device:
    """One CPU or GPU."""

    name: str
    kind: str
    """``cpu``, ``gpu`` or another word; ``gpu`` devices run only operations with a GPU kernel."""
    memory: int
    """Bytes."""
    peak_flops: float
    """FLOP per second."""
    memory_bandwidth: float
    """Bytes per second."""
    launch_overhead: float
    """Seconds added to every operation."""
    host_overhead: float
    """Seconds of an operation that launches no kernel (Identity, Reshape, Const, ...)."""
    parallelism: int = field(default=1, repr=False)
    """How many operations it runs at once: of a CPU, the threads of TensorFlow's inter-op pool."""


@dataclass(frozen=True)
class Link:
    """What a transfer from one device to another costs, and which channel it occupies."""

    bandwidth: float
    """Bytes per second."""
    latency: float
    """Seconds per transfer."""
    channel: str
    """``pair`` (private), ``copy-engines`` (sender's and receiver's) or ``shared`` (one root)."""
    source: str | None = None
    """Device name or kind it starts from; None: any."""
    target: str | None = None
    """Device name or kind it leads to; None: any."""
    name: str = "shared"
    """The name of the root that ``shared`` transfers occupy."""
    send_overhead: float = field(default=0.0, repr=False)
    """Seconds for which a transfer keeps its sender from computing (LogP's o), beside copying."""
    receive_overhead: float = field(default=0.0, repr=False)
    """Seconds for which it keeps its receiver from computing."""
    copy_bandwidth: float = field(default=math.inf, repr=False)
    """Bytes per second at which either end copies a tensor, computing nothing meanwhile."""
    gap: float | None = field(default=None, repr=False)
    """Seconds for which a transfer holds its channel beside its bytes (LogP's g): the next one may
    start before this one has arrived. None: all of its latency."""
    scheduling_latency: float = field(default=0.0, repr=False)
    """Seconds that a transfer takes longer where its sender computes on: what is to send it must
    wait for a core (the operating system's scheduling latency)."""

    @property
    def held(self) -> float:
        """Seconds for which a transfer holds its channel beside its bytes."""
        return self.latency if self.gap is None else self.gap

    @property
    def occupancy(self) -> tuple[float, float, float]:
        """Seconds of the sender, of the receiver, and of each per byte."""
        return self.send_overhead, self.receive_overhead, 1.0 / self.copy_bandwidth

    def specificity(self, source: Device, target: Device) -> int:
        """How closely it names this pair: -1 not at all, 4 both by name."""
        score = 0
        for wanted, device in ((self.source, source), (self.target, target)):
            if wanted not in (None, device.name, device.kind):
                return -1
            score += 0 if wanted is None else 2 if wanted == device.name else 1
        return score


@dataclass(frozen=True, eq=False)
class Machine:
    """Devices in a fixed order, and a link for every ordered pair of them."""

    name: str
    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    efficiency: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    """Device kind -> operation class -> (compute, memory) share of the peak that is reached."""
    source: str = ""
    """Where the numbers come from."""
    op_times: Path | None = None
    """Folder of measured times of operations (:mod:`suite.formats.measured_costs`)."""
    dispatch: str = "fifo"
    """Which ready operation a device runs next: the one that waited longest (``fifo``); or the last
    one that its own work made ready, and where there is none, the first that a transfer did
    (``stack``: TensorFlow's executor on a single thread)."""
    backend: str = ""
    """What ran the steps that it was profiled by (:mod:`suite.execution.backends`), and so runs
    placements there unless another is asked for; empty: it is no profile."""
    one_process: bool = False
    """Whether one process has all devices, so that what TensorFlow keeps in host memory is handed
    from one to another without a copy (:attr:`OpGraph.in_host_memory`)."""

    def __post_init__(self) -> None:
        """Refuse a machine without devices, with twins, or with a pair that no link serves."""
        if not self.devices:
            raise InputError(f"machine {self.name}: no [[device]]; give at least one")
        if self.dispatch not in DISPATCH:
            raise InputError(
                f"machine {self.name}: dispatch is {self.dispatch!r}; one of {', '.join(DISPATCH)}"
            )
        names = [d.name for d in self.devices]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"machine {self.name}: two devices are named {name!r}")
        for device in self.devices:
            if device.parallelism < 1:
                raise InputError(
                    f"machine {self.name}: parallelism of {device.name} is {device.parallelism};"
                    " give at least 1"
                )
        for link in self.link_of.values() if len(names) > 1 else ():
            if link.held > link.latency:
                raise InputError(
                    f"machine {self.name}: the gap of a link is {link.held:g} s, more than its"
                    f" latency of {link.latency:g}; a channel is free again at the arrival"
                )

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        return len(self.devices)

    @cached_property
    def cpus(self) -> tuple[int, ...]:
        """Indices of the devices of kind ``cpu``."""
        return tuple(i for i, d in enumerate(self.devices) if d.kind == "cpu")

    @cached_property
    def gpus(self) -> tuple[int, ...]:
        """Indices of the devices of kind ``gpu``."""
        return tuple(i for i, d in enumerate(self.devices) if d.kind == "gpu")

    @cached_property
    def accelerators(self) -> tuple[int, ...]:
        """Indices of the devices that share the work: the GPUs; without any, several CPUs."""
        several = self.cpus if len(self.cpus) > 1 else ()
        return self.gpus or several

    @cached_property
    def memory(self) -> NDArray[np.int64]:
        """int64[devices]: bytes."""
        return np.array([d.memory for d in self.devices], np.int64)

    @cached_property
    def parallelism(self) -> NDArray[np.int64]:
        """int64[devices]: operations that each runs at once."""
        return np.array([d.parallelism for d in self.devices], np.int64)

    def index(self, name: str) -> int:
        """Return the index of a device; InputError lists the devices there are."""
        for i, device in enumerate(self.devices):
            if device.name == name:
                return i
        known = ", ".join(d.name for d in self.devices)
        raise InputError(f"machine {self.name} has no device {name!r}; it has {known}")

    @cached_property
    def link_of(self) -> Mapping[tuple[int, int], Link]:
        """The link of every ordered pair of devices: the one that names it most closely."""
        chosen = {}
        for s, source in enumerate(self.devices):
            for t, target in enumerate(self.devices):
                if s == t:
                    continue
                link = max(self.links, key=lambda k: k.specificity(source, target), default=None)
                if link is None or link.specificity(source, target) < 0:
                    raise InputError(
                        f"machine {self.name}: no [[link]] serves {source.name} -> {target.name};"
                        " add one without from and to as the default"
                    )
                chosen[s, t] = link
        return chosen

    def transfer_seconds(self, source: int, target: int, size: float) -> float:
        """Seconds to move ``size`` bytes from device ``source`` to ``target`` on a free channel."""
        if source == target:
            return 0.0
        link = self.link_of[source, target]
        return link.latency + size / link.bandwidth

    def missing_memory(self, peak: Ints) -> Floats:
        """float64[...]: memory that is missing, as a share of the device's that lacks most of it.

        Of any number of placements with their peak bytes, int64[..., devices]; 0 where all fits.
        """
        fullest = np.asarray((peak / self.memory).max(axis=-1), np.float64)
        return np.maximum(0.0, fullest - 1)

    @cached_property
    def channels(self) -> tuple[tuple[str, ...], NDArray[np.int32], NDArray[np.int32]]:
        """The queues of transfers: (names, first int32[devices, devices], second, same shape).

        A transfer from s to t holds ``first[s, t]`` and, unless it is -1, ``second[s, t]``.
        """
        names: dict[str, int] = {}
        first = np.full((self.n_devices, self.n_devices), -1, np.int32)
        second = first.copy()
        for (s, t), link in self.link_of.items():
            source, target = self.devices[s].name, self.devices[t].name
            if link.channel == "pair":
                first[s, t] = names.setdefault(f"{source}->{target}", len(names))
            elif link.channel == "shared":
                first[s, t] = names.setdefault(link.name, len(names))
            else:
                first[s, t] = names.setdefault(f"{source} send", len(names))
                second[s, t] = names.setdefault(f"{target} receive", len(names))
        return tuple(names), first, second

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever a number of the machine does."""
        links = sorted(self.link_of.items() if self.n_devices > 1 else ())
        efficiency = [(k, sorted(v.items())) for k, v in sorted(self.efficiency.items())]
        # What came later counts where it is used: older machines keep their fingerprints.
        later: list[object] = []
        if self.dispatch != DISPATCH[0]:
            later.append(self.dispatch)
        if self.occupied:
            later.append([link.occupancy for _, link in links])
        if self.pipelined:
            later.append(["gap", *(link.held for _, link in links)])
        if any(link.scheduling_latency for _, link in links):
            later.append(["scheduling", *(link.scheduling_latency for _, link in links)])
        if self.parallel:
            later.append(["parallelism", *self.parallelism.tolist()])
        if self.one_process:
            later.append("one process")
        return digest([self.devices, links, efficiency, *later])

    @property
    def occupied(self) -> bool:
        """Whether any transfer keeps a device from computing, or waits for one that computes."""
        links = self.link_of.values() if self.n_devices > 1 else ()
        return any(any(link.occupancy) or link.scheduling_latency for link in links)

    @property
    def pipelined(self) -> bool:
        """Whether any channel may take a transfer before the one before it has arrived."""
        links = self.link_of.values() if self.n_devices > 1 else ()
        return any(link.held < link.latency for link in links)

    @property
    def parallel(self) -> bool:
        """Whether any device runs several operations at once."""
        return bool((self.parallelism > 1).any())

    def with_gpus(self, count: int) -> Machine:
        """Return the machine without its GPUs after the first ``count``; InputError if too few.

        Devices of every other kind stay. So do links that name a GPU which goes: what they serve is
        no longer asked for.
        """
        if not 0 <= count <= len(self.gpus):
            raise InputError(f"machine {self.name} has {len(self.gpus)} GPUs, not {count}")
        dropped = set(self.gpus[count:])
        kept = tuple(d for i, d in enumerate(self.devices) if i not in dropped)
        return replace(self, devices=kept)
