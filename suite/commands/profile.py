"""placebench profile: measure this host into a machine."""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.commands._common import command, count
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.core.machine import Machine
    from suite.execution.measurement import Backend
    from suite.formats.machine_toml import machine_from_table


def add(parsers: Any) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "profile",
        "Measure this host into a machine: speeds and overheads of its devices, latency and"
        " bandwidth between each pair, and with --task the time of every operation of a task."
        " Leave the host alone meanwhile.",
        "  placebench profile two_cores --cpus 2\n"
        "  placebench profile two_cores --cpus 2 --task rnnlm --task inception_v3\n"
        "  placebench profile my_gpus --backend session --gpus 2",
    )
    parser.add_argument("name", help="the machine's name from now on")
    parser.add_argument("--backend", choices=("cluster", "session"), default="cluster")
    parser.add_argument("--cluster", type=Path, metavar="FILE", help="the cluster's servers (TOML)")
    parser.add_argument("--cpus", type=count, default=1, help="CPUs: servers, or logical ones (1)")
    parser.add_argument("--gpus", type=count, default=0, help="GPUs (0)")
    parser.add_argument("--memory", help="of a CPU device (default: 90 %% of the host's, shared)")
    parser.add_argument("--gpu-memory", default="8 GB", help="of a GPU device (8 GB)")
    parser.add_argument("--task", action="append", default=[], help="time its operations, too")
    parser.add_argument(
        "--output", type=Path, help="folder of the machine (default: in the cache, found by name)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure, write, say where."""
    from suite.execution.backends import make_backend

    if not re.fullmatch(r"\w+", arguments.name):
        raise InputError(f"{arguments.name!r} cannot name a machine; use letters and digits")
    machine = _machine(arguments)
    with make_backend(arguments.backend, machine, arguments.cluster) as backend:
        path = _profile(arguments, machine, backend)
    print(f"wrote {path}")
    return 0


def _machine(arguments: argparse.Namespace) -> Machine:
    """The devices to measure, with figures that nothing uses."""

    kinds = ["cpu"] * arguments.cpus + ["gpu"] * arguments.gpus
    if not arguments.cpus:
        raise InputError("--cpus is 0; give at least 1, for what only runs on a CPU")
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    share = arguments.memory or int(0.9 * total / arguments.cpus)
    unknown = dict.fromkeys(("peak_flops", "memory_bandwidth", "launch_overhead"), 1.0)
    devices = [
        {
            "name": f"{kind}:{kinds[:i].count(kind)}",
            "kind": kind,
            "memory": share if kind == "cpu" else arguments.gpu_memory,
            **unknown,
        }
        for i, kind in enumerate(kinds)
    ]
    link = {"bandwidth": 1.0, "latency": 0.0}
    return machine_from_table({"name": arguments.name, "device": devices, "link": [link]})


def _profile(arguments: argparse.Namespace, machine: Machine, backend: Backend) -> Path:
    from suite.core.paths import cache_folder
    from suite.execution.profiling import profiler
    from suite.formats.atomic import atomic

    folder = arguments.output or cache_folder() / "machines"
    figures, fits = [], {}
    with tempfile.TemporaryDirectory(prefix="placebench-") as probes:
        for i, device in enumerate(machine.devices):
            figures.append(profiler.measure_device(backend, i, Path(probes)))
            print(f"{device.name}: {figures[-1].peak_flops / 1e9:.1f} GFLOP/s", flush=True)
        for s, t in profiler.pairs(machine):
            link = profiler.measure_link(backend, s, t, Path(probes))
            ends = profiler.measure_occupancy(backend, s, t, Path(probes))
            fits[s, t] = link, ends
            print(f"{machine.devices[s].name} -> {machine.devices[t].name}: {link}; {ends}")
    _time_tasks(arguments.task, machine, backend, folder / f"{arguments.name}-ops")
    path: Path = folder / f"{arguments.name}.toml"
    dispatch = "stack" if backend.name == "cluster" else "fifo"
    text = profiler.machine_toml(
        arguments.name, machine, figures, fits, _source(arguments), dispatch
    )
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def _time_tasks(tasks: list[str], machine: Machine, backend: Backend, folder: Path) -> None:
    """Time the operations of tasks, one task after another, several times: the fastest step counts.

    A host that others disturb does so for seconds to minutes.
    """
    from suite.capture.cache import load_graph
    from suite.execution.measurement import Step
    from suite.execution.profiling import profiler
    from suite.formats.measured_costs import write_op_times

    devices = [*machine.cpus[:1], *machine.gpus[:1]]
    graphs = {task: load_graph(task) for task in tasks}
    steps = {task: Step.of_task(task) for task in tasks}
    found: dict[tuple[str, int], list[profiler.OpTimes]] = {
        key: [] for key in product(tasks, devices)
    }
    for _ in range(profiler.ROUNDS):
        for (task, device), times in found.items():
            graph, step = graphs[task], steps[task]
            times.append(profiler.measure_ops(backend, graph, step, device, machine.cpus[0]))
    best = {key: min(times, key=lambda one: one.step_time) for key, times in found.items()}
    for (task, device), fastest in best.items():
        words = f"{fastest.step_time:.4g} s a step, traced times x {fastest.factor:.2f}"
        print(f"{task} on {machine.devices[device].name}: {words}", flush=True)
    for task, graph in graphs.items():
        seconds = {machine.devices[d].kind: best[task, d].seconds for d in devices}
        write_op_times(graph, seconds, folder, task)


def _source(arguments: argparse.Namespace) -> str:
    from suite.bench.provenance import provenance

    about = provenance()
    versions = about["versions"]
    return (
        f"placebench profile, backend {arguments.backend}, {about['created']}: {about['cpu']},"
        f" TensorFlow {versions['tensorflow']}, commit {about['commit']}"
    )
