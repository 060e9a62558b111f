"""placebench host: check this host, profile it, run a grid and fidelity on it, and report."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from suite.commands._common import Subparsers, command, count, minutes
from suite.core.child_python import BLAS_THREADS, child_environment, python_command
from suite.core.errors import InputError
from suite.core.paths import GRIDS
from suite.core.units import format_count

if TYPE_CHECKING:
    from suite.execution.host import Host

TASKS = ("inception_v3", "rnnlm_small", "nmt_2_small", "nmt_4_small")
"""Whose placements are run and simulated: small enough for any GPU."""
REHEARSED = "rehearsal"
"""The grid of a rehearsal."""
REHEARSED_PLACEMENTS = 6
FORMAT = "placebench-host-1"
STEPS = 5


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "host",
        "Check this host's driver, GPUs, memory and links; profile it as machine NAME; run grid"
        " gpu and fidelity on as many GPUs as there are, at most eight; and write the report. A"
        " second call goes on where the first was stopped (docs/gpu.md).",
        "  placebench host my_gpus\n"
        "  placebench host my_gpus --check      # only look\n"
        "  placebench host my_gpus --gpus 2 --output runs/two\n"
        "  placebench host my_gpus --placements 8   # where minutes cost money\n"
        "  placebench host here --rehearse      # the same on two logical CPUs, in minutes",
    )
    parser.add_argument("name", help="the machine's name from now on")
    parser.add_argument("--gpus", type=count, metavar="N", help="use the first N (all, at most 8)")
    parser.add_argument("--check", action="store_true", help="check the host, and no more")
    parser.add_argument(
        "--rehearse",
        type=count,
        nargs="?",
        const=2,
        metavar="N",
        help="use N logical CPUs (2) in place of GPUs, and small steps in place of the tasks",
    )
    parser.add_argument(
        "--placements", type=count, default=24, metavar="N", help="of each task, for fidelity (24)"
    )
    parser.add_argument("--output", type=Path, help="records and report (runs/NAME)")
    parser.add_argument(
        "--wait",
        type=minutes,
        default=10.0,
        metavar="MINUTES",
        help="how long to measure on until a profile's rounds agree (10)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do one step after another; 1 when cells of a grid ended in errors."""
    from suite.execution.host import cpu_host, gpu_host

    name, rehearse = arguments.name, arguments.rehearse
    if not re.fullmatch(r"\w+", name):
        raise InputError(f"{name!r} cannot name a machine; use letters and digits")
    if rehearse is not None and (rehearse < 1 or arguments.gpus is not None):
        raise InputError("--rehearse takes 1 or more CPUs, and no --gpus")
    output: Path = arguments.output or Path("runs") / name
    print(f"1 of {STEPS}: check this host", flush=True)
    host = gpu_host(arguments.gpus) if rehearse is None else cpu_host()
    _tell(host)
    if arguments.check:
        return 0
    failed = False
    for number, (title, words) in enumerate(_steps(arguments, host, output), 2):
        print(f"{number} of {STEPS}: {title}", flush=True)
        if not words:
            continue
        print(shlex.join(["placebench", *words]), flush=True)
        command_line = python_command("-m", "suite.cli", *words)
        environment = child_environment()
        if BLAS_THREADS not in os.environ:  # a step is a command as a user calls it
            del environment[BLAS_THREADS]
        code = subprocess.run(command_line, env=environment, check=False).returncode
        if code != 1 or words[0] not in ("bench", "fidelity"):
            if code:
                return code
        else:  # some runs ended in errors: they are in the report
            failed = True
    from suite.report.host_page import write_host_page

    print(f"wrote {write_host_page(name, host, output)}")
    return 1 if failed else 0


def _tell(host: Host) -> None:
    """What the host has."""
    print(f"TensorFlow {host.tensorflow}: {', '.join(host.sees)}")
    print(f"{host.cores} cores, {host.memory / 1e9:.0f} GB")
    for gpu in host.gpus:
        print(
            f"GPU {gpu.number}: {gpu.model}, {gpu.free / 1e9:.1f} of {gpu.memory / 1e9:.1f} GB free"
        )
    if host.gpus:
        links = ", ".join(f"{pair} {words}" for pair, words in host.links.items())
        print(f"driver {host.driver}; links (nvidia-smi topo): {links or 'none'}", flush=True)


def _steps(
    arguments: argparse.Namespace, host: Host, output: Path
) -> Iterator[tuple[str, list[str]]]:
    """What each step is, and the words after ``placebench`` that do it; none where it is done."""
    from suite.formats.machine_toml import profiles_folder

    name, rehearse, results = arguments.name, arguments.rehearse, str(output)
    if rehearse is None:
        number, kind = len(host.gpus), "GPU"
    else:
        number, kind = rehearse, "logical CPU"
    devices = f"{format_count(number, kind)}"
    path = profiles_folder() / f"{name}.toml"
    if _profiled(name, path, f"{devices} of {host.hardware()}"):
        yield f"profile: {path} is there already", []
    else:
        yield f"profile: measure {devices} and the links between them", _profile(arguments, host)
    real = ["--machine", name, "--backend", "session", "--output", results]
    if rehearse is None:
        grid = ["gpu", "--gpus", str(len(host.gpus))]
        tasks = [*TASKS, "--placements", str(arguments.placements)]
    else:
        few = str(min(REHEARSED_PLACEMENTS, arguments.placements))
        grid, tasks = [REHEARSED], [str(GRIDS / f"{REHEARSED}.npz"), "--placements", few, "--plain"]
    yield f"grid {grid[0]}: run every placement on {devices}", ["bench", *grid, *real]
    yield "fidelity: run placements of many kinds, and simulate them", ["fidelity", *tasks, *real]
    reports = str(output / "reports")
    yield "report: tables and plots", ["report", "--results", results, "--output", reports]


def _profile(arguments: argparse.Namespace, host: Host) -> list[str]:
    words = ["profile", arguments.name, "--backend", "session"]
    if arguments.rehearse is not None:
        return [*words, "--cpus", str(arguments.rehearse), "--rounds", "1", "--force"]
    from suite.execution.host import usable

    memory = f"{usable(host.gpus) / 1e9:.1f} GB"
    words += ["--gpus", str(len(host.gpus)), "--gpu-memory", memory]
    words += [word for task in TASKS for word in ("--task", task)]
    return [*words, "--wait", f"{arguments.wait:g}"]


def _profiled(name: str, path: Path, hardware: str) -> bool:
    """Whether this very hardware has been profiled by this name; InputError if another has."""
    from suite.formats.json_file import read_json, write_json
    from suite.formats.machine_toml import check_own_name

    check_own_name(name)
    about = path.with_name(f"{name}-host.json")
    now = {"format": FORMAT, "hardware": hardware}
    if path.exists():
        advice = "give another name, or remove it"
        if not about.exists():
            raise InputError(f"{path} is of placebench profile, which keeps no hardware; {advice}")
        if read_json(about, FORMAT) != now:
            raise InputError(f"{path} is of other hardware; {advice}")
        return True
    write_json(now, about)
    return False
