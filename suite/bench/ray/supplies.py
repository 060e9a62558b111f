"""What the cells of a grid need on a node: machines, captured graphs, graph files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import ray

from suite.bench.cell import Job
from suite.bench.ray.messages import Files
from suite.capture.cache import graph_path
from suite.core.paths import MACHINES
from suite.formats.machine_toml import load_machine, machine_path

GRAPHS = "graphs"
"""Folder of graph files in the cache of a node, each below a digest of its content."""


def machine_files(names: Iterable[str]) -> Files:
    """The machines that were profiled, or otherwise made, here; with their measured times."""
    files: dict[str, bytes] = {}
    for name in sorted(set(names)):
        path = machine_path(name)
        if path.parent == MACHINES:
            continue
        files[f"machines/{path.name}"] = path.read_bytes()
        times = load_machine(path).op_times
        for file in sorted(times.glob("*.npz")) if times is not None else ():
            files[f"machines/{file.relative_to(path.parent)}"] = file.read_bytes()
    return files


class Shipped:
    """Graphs in Ray's object store: put there once, fetched by each node that lacks them."""

    def __init__(self) -> None:
        """Nothing is there yet."""
        self._references: dict[str, Any] = {}

    def of(self, job: Job) -> tuple[Job, dict[str, Any]]:
        """The job as a node gets it, and reference to its graph by its path below the cache.

        A graph that is gone is not sent: the cell will say so.
        """
        path = graph_path(job.cell.task) if job.graph_file is None else Path(job.graph_file)
        if not path.exists():
            return job, {}
        if job.graph_file is None:
            return job, {path.name: self._reference(path.name, path)}
        name = f"{GRAPHS}/{_digest(path)}/{path.name}"
        return replace(job, graph_file=name), {name: self._reference(name, path)}

    def _reference(self, name: str, path: Path) -> Any:
        if name not in self._references:
            self._references[name] = ray.put(path.read_bytes())
        return self._references[name]


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
