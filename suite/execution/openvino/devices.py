"""OpenVINO's devices for those of a machine: the host's own, and stand-ins for what it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suite.core.cores import cores

if TYPE_CHECKING:
    import openvino

Settings = dict[str, object]
"""OpenVINO's properties, by name."""


@dataclass(frozen=True)
class Devices:
    """What a machine's devices are here."""

    names: tuple[str, ...]
    """OpenVINO's name of each, in the machine's order."""
    settings: dict[str, Settings]
    """Name -> how it computes."""
    virtual: bool
    """Whether a device stands in for one that the host lacks: they share its cores."""


def open_devices(core: openvino.Core, kinds: Sequence[str]) -> Devices:
    """Find or make a device for each of a machine's ``kinds`` (``cpu``, ``gpu``).

    The host's CPU and its Intel GPUs come first, discrete ones before others. What is missing is a
    second copy of the CPU plugin: placements are split, tensors copied and results the same as
    anywhere, but no second processor is there. To be as unlike as a CPU and a GPU are, a stand-in
    for a GPU then has all cores of this process, CPUs have one. CPUs compute in float32.
    """
    there = core.available_devices
    gpus = [name for name in there if name.partition(".")[0] == "GPU"]
    gpus.sort(key=lambda name: "DISCRETE" not in str(core.get_property(name, "DEVICE_TYPE")))
    free = {"cpu": [name for name in there if name == "CPU"], "gpu": gpus}
    names, exact = [], {"INFERENCE_PRECISION_HINT": "f32"}
    settings: dict[str, Settings] = {}
    own = []
    for number, kind in enumerate(kinds):
        own.append(bool(free[kind]))
        name = free[kind].pop(0) if free[kind] else f"CPU_{kind}_{number}"
        if not own[-1]:
            # OpenVINO takes a second name for the plugin only where the first is part of it.
            core.register_plugin("openvino_intel_cpu_plugin", name)
        names.append(name)
        settings[name] = dict(exact) if name.startswith("CPU") else {}
    if not all(own):
        for kind, name in zip(kinds, names, strict=True):
            if name.startswith("CPU"):
                settings[name]["INFERENCE_NUM_THREADS"] = cores() if kind == "gpu" else 1
                # As HETERO sets it for models in several parts, parts would use all cores anyway.
                settings[name]["EXCLUSIVE_ASYNC_REQUESTS"] = False
    return Devices(tuple(names), settings, not all(own))
