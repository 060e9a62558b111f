"""The placement that a record keeps: device numbers in an npz beside it, named by the record."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import digest
from suite.core.errors import InputError
from suite.core.graph import OpGraph

RECORD = "placebench-record-1"


def read_devices(path: Path) -> NDArray[np.int32]:
    """Read the placement beside a record: int32[ops]; InputError if it is missing or damaged."""
    beside = path.with_suffix(".npz")
    try:
        with np.load(beside, allow_pickle=False) as data:
            return np.asarray(data["devices"], np.int32)
    except Exception as error:
        raise InputError(
            f"{beside} is missing or damaged ({error});"
            " put it beside its record, or run the cell again"
        ) from None


def recorded_names(record: Mapping[str, Any], path: Path, graph: OpGraph) -> dict[str, str]:
    """Of the record at ``path``: operation name -> device name, for the operations of ``graph``.

    Raises InputError where the record has no placement, one of another graph, or one that is
    damaged. Warns where it is of another graph of that size, as of another batch.
    """
    if "placement_hash" not in record:
        status = record.get("status")
        raise InputError(f"{path} is the record of a cell without a placement ({status!r})")
    about, names = record.get("graph"), record.get("capacity")
    if not isinstance(about, dict) or not isinstance(names, dict):
        raise InputError(f"{path} does not say which graph and devices it is of; run it again")
    here = {"ops": graph.n_ops, "tensors": graph.n_tensors, "edges": len(graph.consumers)}
    # Records made before edges were counted do not have them.
    if other := [f"{about[k]} {k} for {n}" for k, n in here.items() if about.get(k, n) != n]:
        raise InputError(
            f"{path} places {about.get('name')!r}, another graph than {graph.name!r}"
            f" ({', '.join(other)}); give the task and the batch of the record"
        )
    devices = read_devices(path)
    unlike = digest([devices]) != record["placement_hash"] or devices.shape != (graph.n_ops,)
    if unlike or devices.min(initial=0) < 0 or devices.max(initial=0) >= len(names):
        raise InputError(f"the placement beside {path} is not the one it was made of; run it again")
    # Times that were measured belong to a machine; the record may be of one without, or of another.
    same = graph.fingerprint, replace(graph, seconds={}).fingerprint
    if about.get("fingerprint", same[0]) not in same:
        warnings.warn(
            f"{path} was made of a graph with as many operations, but not of the same"
            f" ({about.get('flops')} FLOP; here {graph.flops.sum()}): was the batch, an input,"
            " a measured time or the order of operations another?",
            stacklevel=4,  # whoever called what reads the file
        )
    called = list(names)
    return {op: called[device] for op, device in zip(graph.op_names, devices.tolist(), strict=True)}
