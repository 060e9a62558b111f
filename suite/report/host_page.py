"""One page on a host that was measured: what it has, what ran on it, how true the simulator is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from suite.bench.record import RECORDS, read_record
from suite.formats.atomic import atomic
from suite.formats.machine_toml import load_machine

if TYPE_CHECKING:
    from suite.execution.host import Host

NAME = "host.md"


def write_host_page(name: str, host: Host, output: Path) -> Path:
    """Write NAME into ``reports/`` below ``output``, where the records of machine ``name`` are."""
    parts = [f"# {name}", _host(host), _links(name, host), _runs(name, output), _fidelity(output)]
    path = output / "reports" / NAME
    with atomic(path) as temporary:
        temporary.write_text("\n\n".join(filter(None, parts)) + "\n", encoding="utf-8")
    return path


def _host(host: Host) -> str:
    lines = [
        f"{host.cores} cores, {host.memory / 1e9:.0f} GB; TensorFlow {host.tensorflow}"
        + (f"; driver {host.driver}" if host.driver else ""),
        "",
        "| device, as TensorFlow calls it |",
        "|---|",
        *(f"| {device} |" for device in host.sees),
    ]
    if host.gpus:
        lines += ["", "| GPU | model | memory | free at the start |", "|---|---|---|---|"]
    lines += [
        f"| {gpu.number} | {gpu.model} | {gpu.memory / 1e9:.1f} GB | {gpu.free / 1e9:.1f} GB |"
        for gpu in host.gpus
    ]
    return "\n".join(lines)


def _links(name: str, host: Host) -> str:
    """What the profile has measured, with the driver's word for it."""
    machine = load_machine(name)
    lines = [
        "## Links, as profiled",
        "",
        "| from | to | driver's word | latency | the next may follow after | bandwidth |",
        "|---|---|---|---|---|---|",
    ]
    for (source, target), link in sorted(machine.link_of.items()):
        ends = [machine.devices[i].name for i in (source, target)]
        numbers = [_number(end, host) for end in ends]
        word = host.links.get("-".join(sorted(filter(None, numbers), key=int)), "")
        waits = f"{link.latency * 1e6:.0f} us | {link.held * 1e6:.1f} us"
        speed = f"{waits} | {link.bandwidth / 1e9:.2f} GB/s"
        lines.append(f"| {ends[0]} | {ends[1]} | {word} | {speed} |")
    return "\n".join(lines) if machine.n_devices > 1 else ""


def _number(device: str, host: Host) -> str:
    """The driver's number of a device of the machine; "" of what is no GPU."""
    kind, _, index = device.partition(":")
    return host.gpus[int(index)].number if kind == "gpu" and host.gpus else ""


def _runs(name: str, output: Path) -> str:
    """How the runs of each grid ended."""
    counts: dict[str, Counter[str]] = {}
    for path in sorted(output.glob(RECORDS)):
        grid, machine = path.relative_to(output).parts[:2]
        if machine == name:
            counts.setdefault(grid, Counter())[read_record(path)["status"]] += 1
    lines = ["## Runs", "", "| grid | runs |", "|---|---|"]
    for grid, found in counts.items():
        words = ", ".join(f"{n} {status}" for status, n in sorted(found.items()))
        lines.append(f"| {grid} | {words} |")
    tables = sorted(path.name for path in (output / "reports").glob("*.md") if path.name != NAME)
    return "\n".join([*lines, "", *(f"- [{table}]({table})" for table in tables)])


def _fidelity(output: Path) -> str:
    """How the simulator's step times agree with the measured ones."""
    path = output / "reports" / "fidelity.json"
    if not path.exists():
        return ""
    found = json.loads(path.read_text("utf-8"))
    lines = [
        "## Simulated against measured",
        "",
        "| task | Spearman | median error |",
        "|---|---|---|",
    ]
    for task, figures in {**found["tasks"], "all": found}.items():
        lines.append(
            f"| {task} | {_figure(figures['spearman'])} |"
            f" {_figure(figures['median_absolute_percentage_error'])} % |"
        )
    return "\n".join(lines)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
