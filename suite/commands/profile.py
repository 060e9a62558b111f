"""placebench profile: measure this host into a machine."""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from suite.commands._common import Subparsers, add_cluster, command, count, duration
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.core.arrays import Floats
    from suite.core.graph import OpGraph
    from suite.core.machine import Machine
    from suite.execution.measurement import Backend
    from suite.execution.profiling.profiler import HostProfile


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "profile",
        "Measure this host into a machine: speeds and overheads of its devices, latency and"
        " bandwidth between each pair, and with --task the time of every operation of a task."
        " Leave the host alone meanwhile.",
        "  placebench profile two_cores --cpus 2\n"
        "  placebench profile two_cores --cpus 2 --task rnnlm --task inception_v3\n"
        "  placebench profile my_gpus --backend session --gpus 2\n"
        "  placebench profile intel --backend openvino --gpus 1 --task hsdag_resnet50\n"
        "  placebench profile busy_host --cpus 2 --wait 30",
    )
    parser.add_argument("name", help="the machine's name from now on")
    parser.add_argument("--backend", choices=("cluster", "session", "openvino"), default="cluster")
    add_cluster(parser)
    parser.add_argument("--cpus", type=count, default=1, help="CPUs: servers, or logical ones (1)")
    parser.add_argument("--gpus", type=count, default=0, help="GPUs (0)")
    parser.add_argument("--memory", help="of a CPU device (default: 90 %% of the host's, shared)")
    parser.add_argument("--gpu-memory", default="8 GB", help="of a GPU device (8 GB)")
    parser.add_argument("--task", action="append", default=[], help="time its operations, too")
    parser.add_argument(
        "--rounds",
        type=count,
        metavar="N",
        help="how often everything is measured (3; with 1, nothing tells a busy host)",
    )
    parser.add_argument(
        "--wait",
        type=duration,
        metavar="MINUTES",
        help="on a busy host, measure on for so long until repeated measurements agree",
    )
    parser.add_argument(
        "--force", action="store_true", help="write the profile even where they make no sense"
    )
    parser.add_argument(
        "--output", type=Path, help="folder of the machine (default: in the cache, found by name)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure, write, say where."""
    from suite.capture.cache import load_graph
    from suite.execution.backends import make_backend
    from suite.execution.kept_session import KeptSession

    if arguments.rounds == 0:
        raise InputError("--rounds is 0; give at least 1")
    if not re.fullmatch(r"\w+", arguments.name):
        raise InputError(f"{arguments.name!r} cannot name a machine; use letters and digits")
    machine = _machine(arguments)
    graphs = {task: load_graph(task) for task in arguments.task}
    expose = arguments.expose
    kept = arguments.backend == "session" and arguments.cluster is None
    with (
        KeptSession(machine)
        if kept
        else make_backend(arguments.backend, machine, arguments.cluster, expose=expose)
    ) as backend:
        path = _profile(arguments, machine, backend, graphs)
    print(f"wrote {path}")
    return 0


def _machine(arguments: argparse.Namespace) -> Machine:
    """The devices to measure, with figures that nothing uses."""
    from suite.formats.machine_toml import machine_from_table

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


def _profile(
    arguments: argparse.Namespace, machine: Machine, backend: Backend, graphs: dict[str, OpGraph]
) -> Path:
    from suite.execution.profiling.machine_file import machine_toml
    from suite.formats.atomic import atomic
    from suite.formats.machine_toml import profiles_folder
    from suite.simulator.semantics import HETERO

    folder = arguments.output or profiles_folder()
    profile = _measure(arguments, machine, backend)
    for device, figures in zip(machine.devices, profile.devices, strict=True):
        print(f"{device.name}: {figures.peak_flops / 1e9:.1f} GFLOP/s")
    for (s, t), (link, ends) in profile.links.items():
        print(f"{machine.devices[s].name} -> {machine.devices[t].name}: {link}; {ends}")
    seconds = _time_tasks(graphs, machine, backend, folder / f"{arguments.name}-ops")
    if backend.name == "openvino" and graphs and machine.gpus:
        profile = _cut_tasks(profile, backend, graphs, seconds)
    path: Path = folder / f"{arguments.name}.toml"
    rules: dict[str, str | int | float] = {"dispatch": "fifo"}
    if backend.name == "cluster":
        rules["dispatch"] = "stack"
    elif backend.name == "openvino":
        rules["semantics"] = HETERO.name
    with atomic(path) as temporary:
        text = machine_toml(arguments.name, profile, _source(arguments), rules)
        temporary.write_text(text, encoding="utf-8")
    return path


def _measure(arguments: argparse.Namespace, machine: Machine, backend: Backend) -> HostProfile:
    from suite.execution.profiling.profiler import HostProbes, Profiler, Rounds, profile_host
    from suite.execution.profiling.samples import ROUNDS

    patience = 60 * (arguments.wait or 0.0)
    with tempfile.TemporaryDirectory(prefix="placebench-") as folder:
        profiler: Rounds
        if backend.name == "openvino":
            from suite.execution.openvino.profiler import InferenceProfiler

            profiler = InferenceProfiler(backend, machine, Path(folder))
        else:
            probes = HostProbes(Path(folder))
            profiler = Profiler(backend, machine, probes, arguments.force)
        tell = partial(print, flush=True)
        rounds = arguments.rounds or ROUNDS
        return profile_host(profiler, patience, arguments.force, tell, rounds)


def _time_tasks(
    graphs: dict[str, OpGraph], machine: Machine, backend: Backend, folder: Path
) -> dict[str, dict[int, Floats]]:
    """Time the operations of tasks, one task after another, several times: the fastest step counts.

    A host that others disturb does so for seconds to minutes. Returns task -> device ->
    float64[ops], of one device of each kind.
    """
    from suite.execution.profiling.op_times import OpTimes, measure_ops
    from suite.execution.profiling.samples import ROUNDS
    from suite.execution.profiling.spreads import op_spread
    from suite.execution.steps import step_of_task
    from suite.formats.measured_costs import write_op_times

    devices = [*machine.cpus[:1], *machine.gpus[:1]]
    steps = {task: step_of_task(task, backend.name) for task in graphs}
    found: dict[tuple[str, int], list[OpTimes]] = {key: [] for key in product(graphs, devices)}
    for _ in range(ROUNDS):
        for (task, device), times in found.items():
            graph, step = graphs[task], steps[task]
            times.append(measure_ops(backend, graph, step, device, machine.cpus[0]))
    best = {key: min(times, key=lambda one: one.step_time) for key, times in found.items()}
    for (task, device), fastest in best.items():
        words = f"{fastest.step_time:.4g} s a step, traced times x {fastest.factor:.2f}"
        print(f"{task} on {machine.devices[device].name}: {words}", flush=True)
    for task, graph in graphs.items():
        seconds = {machine.devices[d].kind: best[task, d].seconds for d in devices}
        spreads = {machine.devices[d].kind: op_spread(found[task, d]) for d in devices}
        write_op_times(graph, seconds, folder, task, spreads)
    return {task: {d: best[task, d].seconds for d in devices} for task in graphs}


def _cut_tasks(
    profile: HostProfile,
    backend: Backend,
    graphs: dict[str, OpGraph],
    seconds: dict[str, dict[int, Floats]],
) -> HostProfile:
    """Take what the tasks' own cuts cost for all links between a CPU and a GPU."""
    from suite.execution.openvino.cuts import fit_cuts, measure_cuts
    from suite.execution.steps import step_of_task

    cuts = []
    for task, times in seconds.items():
        cuts += measure_cuts(backend, graphs[task], step_of_task(task, backend.name), times)
    links = dict(profile.links)
    devices = profile.machine.devices
    for (s, t), (plain, ends) in links.items():
        if devices[s].kind != devices[t].kind:
            fit = fit_cuts(plain, cuts)
            links[s, t] = fit, ends
            print(f"{devices[s].name} -> {devices[t].name}, tasks in pieces: {fit}", flush=True)
    return replace(profile, links=links)


def _source(arguments: argparse.Namespace) -> str:
    from suite.bench.provenance import provenance

    about = provenance()
    library = "openvino" if arguments.backend == "openvino" else "tensorflow"
    return (
        f"placebench profile, backend {arguments.backend}, {about['created']}: {about['cpu']},"
        f" {library} {about['versions'][library]}, commit {about['commit']}"
    )
