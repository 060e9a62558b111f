"""Measured times of the operations of a graph, beside the machine on which they were taken."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.core.paths import MACHINES
from suite.formats.atomic import atomic
from suite.formats.machine_toml import load_machine, machine_path


def times_name(graph: OpGraph, task: str | None) -> str:
    """By which name a graph's times are kept: its task's, or its own fingerprint's.

    A model that is no task may be another graph tomorrow, and has no times then.
    """
    return f"model-{graph.fingerprint}" if task is None else task


def with_op_times(graph: OpGraph, machine: Machine, task: str) -> OpGraph:
    """The graph with the machine's measured times, where it has some of this name.

    They replace the cost model's for operations that were measured, per kind of device. Raises
    InputError for a damaged file, or one of another capture of the task.
    """
    found = _read(machine, task)
    if found is None:
        return graph
    path, fingerprint, seconds, _ = found
    if fingerprint != graph.fingerprint:
        raise InputError(f"{path} is of another capture of {task}; profile it again")
    for kind, values in seconds.items():
        if len(values) != graph.n_ops:
            raise _damaged(path, task, f"{len(values)} times on {kind}, not {graph.n_ops}")
    return replace(graph, seconds=seconds)


def as_measured(machine: Machine, graph: OpGraph) -> Machine:
    """The machine as it runs this graph: several operations at once where their times say so.

    A profile's times of a CPU's operations are those of operations that run beside one another, and
    :attr:`Device.parallelism` belongs to them. The cost model knows only the whole CPU's speed, so
    that a graph without measured times has one operation after another there, each with all cores.
    """
    if machine.op_times is None:
        return machine
    devices = tuple(
        device if device.kind in graph.seconds else replace(device, parallelism=1)
        for device in machine.devices
    )
    return replace(machine, devices=devices)


def op_spreads(machine: Machine, task: str) -> dict[str, Floats]:
    """Relative spreads of a task's measured times: device kind -> float64[ops], NaN where none.

    Empty where the task was not measured; InputError where it was, but its spread not recorded.
    """
    found = _read(machine, task)
    if found is None:
        return {}
    path, _, seconds, spreads = found
    if seconds.keys() != spreads.keys():
        raise InputError(f"{path} records no spread; profile {task} again, or state a spread")
    return spreads


def _read(
    machine: Machine, task: str
) -> tuple[Path, str, dict[str, Floats], dict[str, Floats]] | None:
    """File, its graph's fingerprint, seconds and spreads by device kind; None: no such file."""
    if machine.op_times is None:
        return None
    path = machine.op_times / f"{task}.npz"
    if not path.exists():
        if not machine.op_times.is_dir():
            _warn_of_no(machine.op_times)
        return None
    try:
        with np.load(path, allow_pickle=False) as data:
            parts = {name: data[name] for name in data.files}
            fingerprint = str(parts.pop("fingerprint"))
        _check(parts)
    except Exception as error:  # one changed byte of a zip raises any of a dozen kinds
        raise _damaged(path, task, error) from None
    return path, fingerprint, _kinds(parts, "seconds/"), _kinds(parts, "spread/")


def _check(parts: Mapping[str, NDArray[Any]]) -> None:
    """Raise ValueError for what are no times of the same operations, nor shares from 0 to 1."""
    shapes = {values.shape for values in parts.values()}
    for name, values in parts.items():
        if values.dtype != np.float64 or values.ndim != 1 or len(shapes) > 1:
            raise ValueError(f"{name} is {values.dtype}{list(values.shape)}")
        most = 1.0 if name.startswith("spread/") else np.finfo(np.float64).max
        for value in values[(values < 0) | (values > most)][:1]:
            raise ValueError(f"{name} has {value}")


def _damaged(path: Path, task: str, why: object) -> InputError:
    return InputError(f"{path} is damaged ({why}); profile {task} again")


@cache
def _warn_of_no(folder: Path) -> None:
    """Say once that a machine's measured times are gone; processes of a pool leave it to theirs."""
    if multiprocessing.parent_process() is None:
        warnings.warn(
            f"{folder}, the machine's measured times, is not there: operations take what its"
            " figures give; copy the folder along with the machine's file, or profile again",
            stacklevel=2,
        )


def _kinds(parts: Mapping[str, Floats], start: str) -> dict[str, Floats]:
    return {name.removeprefix(start): v for name, v in parts.items() if name.startswith(start)}


def write_op_times(
    graph: OpGraph,
    seconds: Mapping[str, Floats],
    folder: Path,
    task: str,
    spreads: Mapping[str, Floats] | None = None,
) -> Path:
    """Write seconds (device kind -> float64[ops], NaN where not measured) for a task.

    ``spreads`` are their relative standard deviations, of the same shape; None: not known.
    """
    path = folder / f"{task}.npz"
    arrays: dict[str, Any] = {f"seconds/{kind}": values for kind, values in sorted(seconds.items())}
    arrays |= {f"spread/{kind}": values for kind, values in sorted((spreads or {}).items())}
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, fingerprint=np.array(graph.fingerprint), **arrays)
    return path


def kept_machine(folder: Path) -> Path:
    """Where a folder of records keeps the machine that they were made with."""
    return folder / "machine.toml"


def machine_of_records(folder: Path, name: str) -> str:
    """Name or file of the machine of the records in a folder: the one kept there, if there is one.

    Whether this host knows another by that name, or none, does not matter then.
    """
    kept = kept_machine(folder)
    return str(kept) if kept.exists() else name


def keep_machine(name_or_path: str | Path, folder: Path) -> None:
    """Copy a machine of this host, and its measured times, beside the records made with it.

    :func:`kept_machine` is then a machine that simulates the same anywhere. Machines that come with
    placebench are not copied.
    """
    path = machine_path(name_or_path)
    if path.parent == MACHINES:
        return
    _copy(path, kept_machine(folder))
    times = load_machine(path).op_times
    if times is None or not times.is_dir():
        return
    # Also where no model was timed: then nothing has been lost.
    (folder / times.name).mkdir(exist_ok=True)
    for file in sorted(times.glob("*.npz")):
        _copy(file, folder / times.name / file.name)


def _copy(source: Path, target: Path) -> None:
    content = source.read_bytes()
    if not target.exists() or target.read_bytes() != content:
        with atomic(target) as temporary:
            temporary.write_bytes(content)
