"""Reads the JSON files of Tarnawski et al. (github.com/msr-fiddle/dnn-partitioning) as they are."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any, TypedDict, cast

import numpy as np

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.tarnawski.workload import Floats, Origin, Split, Workload

MILLISECONDS = {"s": 1e3, "ms": 1.0, "us": 1e-3}
"""Units of time that a file may be in, in ms."""


class _Node(TypedDict, total=False):
    id: int
    supportedOnFpga: bool
    fpgaLatency: float
    cpuLatency: float
    size: float
    isBackwardNode: bool
    colorClass: Hashable


class _Link(TypedDict, total=False):
    sourceId: int
    destId: int
    cost: float
    size: float


class _Document(TypedDict, total=False):
    """A file as its authors describe it; whether it is like that shows when it is read."""

    nodes: list[_Node]
    edges: list[_Link]
    maxFPGAs: float
    maxCPUs: float
    maxSizePerFPGA: float
    placebench: dict[str, Any]


def read_workload(path: Path, time_unit: str = "ms", cost_unit: str = "ms") -> Workload:
    """Read a workload whose node times and edge costs are in these units (MILLISECONDS).

    Raises InputError for an unusable file: what is missing, negative, cyclic or contradictory.
    """
    data = _load(path)
    try:
        return _workload(
            path, cast(_Document, data), MILLISECONDS[time_unit], MILLISECONDS[cost_unit]
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path} is no workload of dnn-partitioning: {what}") from None


def read_split(path: Path, workload: Workload) -> Split:
    """Read a split (``fpgas`` and ``cpus`` with node ids); InputError when it does not fit."""
    data, position = _load(path), {int(i): p for p, i in enumerate(workload.ids)}
    for kind, most in (("fpgas", workload.accelerators), ("cpus", workload.cpus)):
        if len(data.get(kind, [])) > most:
            raise InputError(f"{path} uses {len(data[kind])} {kind}, {workload.name} has {most}")
    device = np.full(workload.nodes, -1, np.int64)
    parts = [(d, part) for d, part in enumerate(data.get("fpgas", []))]
    parts += [(workload.accelerators + d, part) for d, part in enumerate(data.get("cpus", []))]
    for number, part in parts:
        for node in part["nodes"]:
            if node not in position:
                raise InputError(f"{path} places node {node}, which {workload.name} has not")
            if device[position[node]] >= 0:
                raise InputError(f"{path} places node {node} twice")
            device[position[node]] = number
    device = _with_colours(device, workload)
    if (device < 0).any():
        missing = workload.ids[device < 0]
        raise InputError(f"{path} does not place {len(missing)} nodes, such as {missing[0]}")
    return Split.of(device)


def _with_colours(
    device: np.ndarray[tuple[int], np.dtype[np.int64]], workload: Workload
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Nodes without a device where others of their colour class are, if these are on one.

    So the authors read a split of the forward pass for training.
    """
    placed = device >= 0
    for node in np.flatnonzero(~placed):
        there = np.unique(device[placed & (workload.colour == workload.colour[node])])
        if len(there) == 1:
            device[node] = there[0]
    return device


def _load(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}); check the file") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} holds no JSON object; check the file")
    return data


def _workload(path: Path, data: _Document, time: float, unit: float) -> Workload:
    nodes, links = data["nodes"], data["edges"]
    ids = np.array([int(node["id"]) for node in nodes], np.int64)
    if len(set(ids.tolist())) < len(ids) or not len(ids):
        raise InputError(f"{path} has no nodes, or two with one id")
    position = {int(i): p for p, i in enumerate(ids)}
    for link in links:
        for end in (link["sourceId"], link["destId"]):
            if end not in position:
                raise InputError(f"{path}: an edge names node {end}, which is not there")
    ends = [[position[link["sourceId"]], position[link["destId"]]] for link in links]
    edges = np.array(ends, np.int64).reshape(-1, 2)
    supported = np.array([bool(node["supportedOnFpga"]) for node in nodes])
    accelerator = _numbers(nodes, "fpgaLatency", path) * time
    colours = [node.get("colorClass") for node in nodes]
    workload = Workload(
        path.stem,
        ids,
        _numbers(nodes, "cpuLatency", path) * time,
        np.where(supported, accelerator, np.inf),
        _numbers([{"size": node.get("size", 0)} for node in nodes], "size", path),
        np.array([bool(node.get("isBackwardNode", False)) for node in nodes]),
        _colours(colours),
        edges,
        _costs(path, links, edges, len(ids)) * unit,
        _whole(data["maxFPGAs"], "maxFPGAs", path),
        _whole(data["maxCPUs"], "maxCPUs", path),
        float(_numbers([data], "maxSizePerFPGA", path)[0]),
        _bandwidth(links, unit),
        Origin(**data["placebench"]) if "placebench" in data else None,
    )
    if not workload.devices:
        raise InputError(f"{path} has no device; set maxFPGAs or maxCPUs")
    topological_order(workload.nodes, edges, str(path))
    return workload


def _numbers(entries: Sequence[Mapping[str, object]], key: str, path: Path) -> Floats:
    values = np.array([entry[key] for entry in entries], np.float64)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise InputError(f"{path}: {key} must be finite and not negative")
    return values


def _whole(value: float, key: str, path: Path) -> int:
    if not isfinite(value) or value != int(value) or not 0 <= value <= 1000:
        raise InputError(f"{path}: {key} is {value!r}; give a whole number up to 1000")
    return int(value)


def _colours(colours: Sequence[Hashable]) -> Ints:
    numbers: dict[Hashable, int] = {}
    for position, colour in enumerate(colours):
        # A node without colour is a class of its own.
        numbers.setdefault(("own", position) if colour is None else colour, len(numbers))
    keys = (("own", p) if c is None else c for p, c in enumerate(colours))
    return np.array([numbers[key] for key in keys], np.int64)


def _costs(path: Path, links: Sequence[_Link], edges: Ints, nodes: int) -> Floats:
    """The one cost that all out-edges of a node must have."""
    cost = np.full(nodes, nan)
    for value, source in zip(_numbers(links, "cost", path), edges[:, 0], strict=True):
        if cost[source] == cost[source] and not np.isclose(cost[source], value, 1e-9, 1e-12):
            raise InputError(f"{path}: out-edges of one node cost {cost[source]:g} and {value:g}")
        cost[source] = value
    return np.where(np.isnan(cost), 0.0, cost)


def _bandwidth(links: Sequence[_Link], unit: float) -> float:
    rates = [
        link["size"] / (link["cost"] * unit) * 1e3
        for link in links
        if link.get("size", 0) > 0 and link["cost"] > 0
    ]
    return float(np.median(rates)) if rates else nan


def topological_order(nodes: int, edges: Ints, what: str) -> Ints:
    """Depth-first topological order (int64[nodes]); InputError names ``what`` if there is none.

    Depth first, so that a branch is finished before the next begins.
    """
    waiting = np.bincount(edges[:, 1], minlength=nodes)
    after: list[list[int]] = [[] for _ in range(nodes)]
    for source, destination in edges.tolist():
        after[source].append(destination)
    stack, order = [v for v in range(nodes - 1, -1, -1) if not waiting[v]], []
    while stack:
        v = stack.pop()
        order.append(v)
        for w in after[v]:
            waiting[w] -= 1
            if not waiting[w]:
                stack.append(w)
    if len(order) < nodes:
        raise InputError(f"{what}: the edges form a cycle; give a directed acyclic graph")
    return np.array(order, np.int64)
