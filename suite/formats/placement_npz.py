"""Placements on disk without a name per operation: what a graph of a million operations needs."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np

from suite.core.arrays import digest
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.atomic import atomic
from suite.formats.npz_archive import check_npz

PLACEMENT = "placebench-placement-1"


def save_placement(placement: Placement, problem: Problem, path: Path) -> None:
    """Write a placement whole or not at all."""
    names = [device.name for device in problem.machine.devices]
    header = {
        "format": PLACEMENT,
        "graph": problem.graph.name,
        "machine": problem.machine.name,
        "tensor_bytes": tensor_bytes(problem.graph),
        "devices": names,
        "operations": _operations(problem.graph),
    }
    devices = np.asarray(placement.devices).astype(np.min_scalar_type(max(0, len(names) - 1)))
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, header=text, devices=devices)


def load_placement(path: Path, problem: Problem) -> Placement:
    """Read what :func:`save_placement` wrote, for the same operations in the same order.

    Raises InputError if the file is damaged, or the placement is not valid for ``problem``. Warns
    as :func:`warn_of_other_sizes` does.
    """
    try:
        check_npz(path)
        with np.load(path, allow_pickle=False) as data:
            if data.files == ["devices"]:
                raise ValueError(f"it lies beside a record; give that, {path.stem}.json")
            header, devices = json.loads(bytes(data["header"])), data["devices"]
        if header["format"] != PLACEMENT:
            raise ValueError(f"format {header['format']}")
        if devices.ndim != 1 or devices.dtype.kind != "u":
            raise ValueError(f"devices are {devices.dtype}{list(devices.shape)}")
        names, operations = [str(name) for name in header["devices"]], header["operations"]
        then = header.get("tensor_bytes")
        if not isinstance(then, int | None):
            raise ValueError(f"tensor_bytes is {then!r}")
    except FileNotFoundError:
        raise InputError(f"cannot read {path}: no such file; check the path") from None
    except Exception as error:  # one changed byte of a zip raises any of a dozen kinds
        raise InputError(f"{path} is damaged or not a {PLACEMENT} file: {error}") from None
    if operations != _operations(problem.graph):
        raise InputError(
            f"{path} places other operations than those of {problem.graph.name};"
            " place that graph, or write the placement as JSON, which has their names"
        )
    warn_of_other_sizes(path, then, problem.graph)
    try:
        used = np.unique(devices)
        if len(used) and used[-1] >= len(names):
            raise InputError(f"device {used[-1]} has no name among {len(names)}")
        index = np.zeros(len(names), np.int32)
        index[used] = [problem.machine.index(names[device]) for device in used]
        return Placement.of(problem, index[devices])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def tensor_bytes(graph: OpGraph) -> int:
    """Bytes of all tensors together, by which a placement tells one batch from another."""
    return int(graph.tensor_bytes.sum())


def warn_of_other_sizes(path: Path, then: int | None, graph: OpGraph) -> None:
    """Warn where a placement was made for tensors of other sizes, as of another batch.

    ``then``: their bytes; None, of which nothing follows: its file does not say.
    """
    if then not in (None, now := tensor_bytes(graph)):
        warnings.warn(
            f"{path} was made where tensors have {then:,} bytes in all; here they have {now:,}:"
            " was the batch, or an input, another?",
            stacklevel=4,  # whoever called what reads the file
        )


def _operations(graph: OpGraph) -> str:
    """A digest of the names of a graph's operations, in their order."""
    return digest([graph.op_names])
