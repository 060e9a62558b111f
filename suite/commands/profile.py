"""placebench profile: measure this host into a machine."""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from suite.commands._common import (
    Subparsers,
    add_cluster,
    add_open_arguments,
    command,
    count,
    minutes,
    positive,
)
from suite.commands._profiled_models import (
    Model,
    cut_models,
    keep_times,
    load_models,
    one_of_each_kind,
    run_models,
    run_pieces,
    time_models,
)
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.core.machine import Machine
    from suite.execution.measurement import Backend
    from suite.execution.profiling.machine_file import Entries
    from suite.execution.profiling.profiler import HostProfile


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "profile",
        "Measure this host into a machine: speeds and overheads of its devices, latency and"
        " bandwidth between each pair, and with --task the time of every operation of a model."
        " Leave the host alone meanwhile.",
        "  placebench profile two_cores --cpus 2\n"
        "  placebench profile two_cores --cpus 2 --task rnnlm --task inception_v3\n"
        "  placebench profile my_gpus --backend session --gpus 2\n"
        "  placebench profile my_host --cpus 2 --task net:step\n"
        "  placebench profile my_host --cpus 2 --task net.keras --batch 64\n"
        "  placebench profile intel --backend openvino --gpus 1 --task net.onnx\n"
        "  placebench profile busy_host --cpus 2 --wait 30",
    )
    parser.add_argument("name", help="the machine's name from now on")
    parser.add_argument("--backend", choices=("cluster", "session", "openvino"), default="cluster")
    add_cluster(parser)
    parser.add_argument(
        "--cpus", type=positive, default=1, help="CPUs: servers, or logical ones (1)"
    )
    parser.add_argument("--gpus", type=count, default=0, help="GPUs (0)")
    parser.add_argument("--memory", help="of a CPU device (default: 90 %% of the host's, shared)")
    parser.add_argument(
        "--gpu-memory",
        help="of a GPU device (default: 95 %% of the memory that nvidia-smi says is free; with"
        " --backend openvino 8 GB)",
    )
    parser.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="MODEL",
        help="time the operations of this task, file or package.module:function, too (repeatable);"
        " on a device that is too small for the whole of it, they get no times of their own",
    )
    add_open_arguments(parser)
    parser.add_argument(
        "--rounds",
        type=positive,
        metavar="N",
        help="how often everything is measured (3; with 1, nothing tells a busy host)",
    )
    parser.add_argument(
        "--wait",
        type=minutes,
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
    from suite.execution.backends import make_backend
    from suite.execution.profiling.samples import ROUNDS
    from suite.formats.atomic import check_can_be_made
    from suite.formats.machine_toml import check_own_name, profiles_folder

    if arguments.rounds is None:
        arguments.rounds = ROUNDS
    if not re.fullmatch(r"\w+", arguments.name):
        raise InputError(f"{arguments.name!r} cannot name a machine; use letters and digits")
    if arguments.output is None:
        check_own_name(arguments.name)
    path = (arguments.output or profiles_folder()) / f"{arguments.name}.toml"
    check_can_be_made(path)
    if arguments.backend == "session" and arguments.cpus > 1 and not arguments.force:
        raise InputError(
            "logical CPUs of one session share their memory, so that no transfer can be timed; take"
            " --backend cluster, or add --force for a link whose figures mean little"
        )
    machine = _machine(arguments)
    expose = arguments.expose
    with tempfile.TemporaryDirectory(prefix="placebench-") as folder:
        models = load_models(arguments, Path(folder))
        with make_backend(arguments.backend, machine, arguments.cluster, expose=expose) as backend:
            _profile(arguments, machine, backend, models, path)
    print(f"wrote {path}")
    return 0


def _machine(arguments: argparse.Namespace) -> Machine:
    """The devices to measure, with figures that nothing uses."""
    from suite.formats.machine_toml import machine_from_table

    gpu_memory = _gpu_memory(arguments)
    kinds = ["cpu"] * arguments.cpus + ["gpu"] * arguments.gpus
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    share = arguments.memory or int(0.9 * total / arguments.cpus)
    # A session's only CPU has TensorFlow's whole pool of threads; several CPUs have one each.
    whole = arguments.backend == "session" and arguments.cpus == 1
    threads = len(os.sched_getaffinity(0)) if whole else 1
    unknown = dict.fromkeys(("peak_flops", "memory_bandwidth", "launch_overhead"), 1.0)
    devices = [
        {
            "name": f"{kind}:{kinds[:i].count(kind)}",
            "kind": kind,
            "memory": share if kind == "cpu" else gpu_memory,
            "parallelism": threads if kind == "cpu" else 1,
            **unknown,
        }
        for i, kind in enumerate(kinds)
    ]
    link = {"bandwidth": 1.0, "latency": 0.0}
    return machine_from_table({"name": arguments.name, "device": devices, "link": [link]})


def _gpu_memory(arguments: argparse.Namespace) -> str | int:
    """Of a GPU: what was said, else what the driver tells of this host's."""
    if arguments.gpu_memory is not None:
        said: str = arguments.gpu_memory
        return said
    if arguments.backend == "openvino" or not arguments.gpus:
        return "8 GB"
    from suite.execution.host import usable_memory

    try:
        if arguments.cluster is not None:
            raise InputError("the servers of a cluster file may be on other hosts")
        return usable_memory(arguments.gpus)
    except InputError as error:
        why = str(error).partition(";")[0]
        raise InputError(f"{why}; say how much a GPU has, as --gpu-memory '16 GB'") from None


def _profile(
    arguments: argparse.Namespace,
    machine: Machine,
    backend: Backend,
    models: dict[str, Model],
    path: Path,
) -> None:
    from suite.execution.profiling.machine_file import machine_toml
    from suite.formats.atomic import atomic
    from suite.simulator.semantics import HETERO

    rules: Entries = {"dispatch": "fifo", "backend": backend.name}
    if backend.name == "openvino":
        rules["semantics"] = HETERO.name
    if backend.name == "session":
        rules["one_process"] = True
    fitting = run_models(models, machine, backend)
    profile = _measure(arguments, machine, backend)
    for device, figures in zip(machine.devices, profile.devices, strict=True):
        print(f"{device.name}: {figures.peak_flops / 1e9:.1f} GFLOP/s")
    for (s, t), (link, ends) in profile.links.items():
        print(f"{machine.devices[s].name} -> {machine.devices[t].name}: {link}; {ends}")
    seconds, spreads = time_models(models, fitting, machine, backend, arguments.rounds)
    # In pieces, what a model takes on each kind of device has to be known.
    kinds = len(one_of_each_kind(machine))
    whole = {name: times for name, times in seconds.items() if len(times) == kinds}
    if backend.name == "openvino" and whole and machine.gpus:
        profile = cut_models(profile, backend, models, whole)
    elif whole and machine.n_devices > 1:
        profile = run_pieces(profile, backend, models, whole, rules)
    # All at once, and last: a profile that is broken off leaves the one before as it was.
    keep_times(models, machine, seconds, spreads, path.with_name(f"{arguments.name}-ops"))
    with atomic(path) as temporary:
        text = machine_toml(arguments.name, profile, _source(arguments), rules)
        temporary.write_text(text, encoding="utf-8")


def _measure(arguments: argparse.Namespace, machine: Machine, backend: Backend) -> HostProfile:
    from suite.execution.profiling.profiler import HostProbes, Profiler, Rounds, profile_host
    from suite.execution.profiling.samples import ALLOWED, ALLOWED_BESIDE_GPUS

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
        launched = backend.name == "session" and bool(machine.gpus)
        allowed = ALLOWED_BESIDE_GPUS if launched else ALLOWED
        return profile_host(profiler, patience, arguments.force, tell, arguments.rounds, allowed)


def _source(arguments: argparse.Namespace) -> str:
    from suite.bench.provenance import provenance

    about = provenance()
    library = "openvino" if arguments.backend == "openvino" else "tensorflow"
    return (
        f"placebench profile, backend {arguments.backend}, {about['created']}: {about['cpu']},"
        f" {library} {about['versions'][library]}, commit {about['commit']}"
    )
