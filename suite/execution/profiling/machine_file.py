"""What was measured, as a machine's TOML file."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict
from math import isnan

import numpy as np

from suite.core.machine import Device, Machine
from suite.execution.profiling.devices import DeviceFigures
from suite.execution.profiling.profiler import HostProfile
from suite.formats.machine_toml import PARTS, machine_from_table

Entries = dict[str, str | int | float]


def machine_toml(name: str, profile: HostProfile, source: str, rules: Entries) -> str:
    """The machine as a TOML file; its ``op_times`` are in a folder of its name.

    ``rules``: what else the file says of how a step runs there, such as ``dispatch``.
    """
    machine, figures = profile.machine, profile.devices
    once = isnan(profile.disagreement)
    differ = f"repeated measurements differ by {profile.disagreement:.1%} (median)"
    lines = ["# measured once: nothing tells how far off it is" if once else f"# {differ}"]
    if profile.in_steps:
        lines += [f"# latencies: {1e6 * profile.in_steps:.0f} us of them in steps in pieces only"]
    lines += [f"name = {json.dumps(name)}", f"source = {json.dumps(source)}"]
    lines += _lines({"op_times": f"{name}-ops", **rules})
    lines += ["", "[origin]", *_lines(dict.fromkeys(PARTS, "measured"))]
    spreads = profile.device_spreads
    for device, found, spread in zip(machine.devices, figures, spreads, strict=True):
        known: Entries = {} if once else {"spread": spread}
        lines += ["", "[[device]]", *_lines(_device_entries(device, found) | known)]
    for kind in dict.fromkeys(device.kind for device in machine.devices):
        first = next(f for d, f in zip(machine.devices, figures, strict=True) if d.kind == kind)
        lines += ["", f"[efficiency.{kind}]", f"convolution = {first.convolution:.4g}"]
    for (s, t), (fit, ends) in profile.links.items():
        entries: Entries = {"from": machine.devices[s].name, "to": machine.devices[t].name}
        entries |= {"bandwidth": fit.bandwidth, "latency": fit.latency, "channel": "pair"}
        if fit.gap is not None:
            entries["gap"] = fit.gap
        if fit.scheduling_latency:
            entries["scheduling_latency"] = fit.scheduling_latency
        occupied = {k: v for k, v in asdict(ends).items() if k != "error" and 0 < v < np.inf}
        lines += ["", "[[link]]"]
        lines += [f"# fitted within {fit.error:.1%}, occupancy {ends.error:.1%} (root mean square)"]
        lines += _lines(entries | occupied)
        about = _lines(asdict(profile.link_spreads[s, t]))
        lines += [] if once else [f"spread = {{ {', '.join(about)} }}"]
    return "\n".join(lines) + "\n"


def machine_of(profile: HostProfile, rules: Entries) -> Machine:
    """The machine itself, as it is known so far."""
    return machine_from_table(tomllib.loads(machine_toml("profile", profile, "", rules)))


def _device_entries(device: Device, figures: DeviceFigures) -> Entries:
    several = {"parallelism": device.parallelism} if device.parallelism > 1 else {}
    return {
        "name": device.name,
        "kind": device.kind,
        "memory": device.memory,
        "peak_flops": figures.peak_flops,
        "memory_bandwidth": figures.memory_bandwidth,
        "launch_overhead": figures.launch_overhead,
        "host_overhead": figures.host_overhead,
        **several,
    }


def _lines(values: Entries) -> list[str]:
    return [
        f"{key} = {value:.4g}" if isinstance(value, float) else f"{key} = {json.dumps(value)}"
        for key, value in values.items()
    ]
