"""Small hand-made records, written to disk as ``placebench bench`` writes them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from suite.bench.cell import Cell
from suite.bench.grid import load_grid
from suite.bench.record import write_record
from suite.report.tables import hdp_table1
from suite.search.checkpoint import Checkpoint
from suite.search.registry import task as known_task

GPUS = {"inception_v3": 2, "resnet_152": 2, "rnnlm": 2, "nmt_2": 2, "nmt_4": 4, "nmt_8": 8}
"""HDP's tasks."""
GIB = 2**30


def record(
    task: str,
    placer: str,
    seconds: float | None,
    seed: int = 0,
    *,
    grid: str = "quick",
    machine: str = "k40",
    **more: Any,
) -> dict[str, Any]:
    """A record of one cell; ``more`` overrides its fields."""
    gpus = known_task(task).gpus
    devices = ["cpu:0", *(f"gpu:{i}" for i in range(gpus))]
    return {
        "format": "placebench-record-1",
        "cell": {
            "grid": grid,
            "machine": machine,
            "gpus": gpus,
            "task": task,
            "placer": placer,
            "seed": seed,
        },
        "backend": "simulator",
        "semantics": "placebench",
        "fingerprint": "f",
        "status": "ok",
        "reason": "",
        "step_time": seconds,
        "step_times": [] if seconds is None else [seconds],
        "peak_memory": dict.fromkeys(devices, GIB),
        "capacity": dict.fromkeys(devices, 4 * GIB),
        "busy": dict.fromkeys(devices, 0.1),
        "moved": {},
        "oom": [],
        "lower_bound": 0.05,
        "bound_kind": "load",
        "evaluations": 1,
        "wall_seconds": 0.5,
        "cpu_seconds": 0.5,
        "history": [],
        "utilisation": {
            "bin_seconds": (seconds or 0) / 4,
            "devices": {device: [0.0, 0.5, 1.0, 0.25] for device in devices},
        },
        "placement_hash": "h",
        "parameters": {},
        "code": {"digest": "c", "modules": [], "libraries": {}},
        "graph": {
            "name": task,
            "ops": 900,
            "ops_unpruned": 1000,
            "paper_ops": 2000,
            "tensors": 1100,
            "flops": 2.5e12,
            "parameters": 123456,
            "persistent_bytes": 4 * 10**9,
            "choices": ["vocabulary of 32,000"] if task == "nmt_2" else [],
            "fingerprint": f"graph of {task}",
        },
        "provenance": {
            "commit": "0123456789abcdef",
            "dirty": False,
            "python": "3.11.7",
            "versions": {"numpy": "2.4.6", "pymetis": None},
            "created": "today",
        },
    } | more


def write(results: Path, *records: dict[str, Any]) -> None:
    """Write records where their cells say."""
    for one in records:
        write_record(one, None, Cell(**one["cell"]).path(results))


def over_capacity(task: str) -> dict[str, Any]:
    """What an OOM record says otherwise."""
    devices = record(task, "gpu_only", 1.0)["capacity"]
    peak = dict.fromkeys(devices, 0) | {"gpu:0": 5 * GIB}
    return {"status": "oom", "oom": ["gpu:0"], "peak_memory": peak}


def failed(task: str, placer: str, status: str, reason: str) -> dict[str, Any]:
    """A record of a cell that came to nothing: it has no measurement and no graph."""
    whole = record(task, placer, None)
    kept = ("format", "cell", "backend", "semantics", "fingerprint", "code")
    kept += ("step_time", "step_times")
    start = {name: whole[name] for name in (*kept, "provenance")}
    return start | {"status": status, "reason": reason}


def planned(placers: Collection[str]) -> list[Cell]:
    """The cells of HDP's Table 1: of each task and placer those of the first grid with it."""
    first: dict[tuple[str, str], str] = {}
    cells = [job.cell for grid in hdp_table1.GRIDS for job in load_grid(grid).jobs]
    for cell in cells:
        first.setdefault((cell.task, cell.placer), cell.grid)
    return [c for c in cells if c.placer in placers and first[c.task, c.placer] == c.grid]


def full(
    placers: Collection[str] = hdp_table1.PLACERS, seconds: float = 2.0
) -> list[dict[str, Any]]:
    """Every record of HDP's Table 1, all equal in time but random, the NMT tasks OOM on one GPU."""
    made = []
    for cell in planned(placers):
        oom = cell.placer == "gpu_only" and cell.task.startswith("nmt")
        more = over_capacity(cell.task) if oom else {}
        time = seconds + cell.seed * (cell.placer == "random")
        made.append(record(cell.task, cell.placer, time, cell.seed, grid=cell.grid, **more))
    return made


def save_useless(checkpoint: Checkpoint) -> bytes:
    """Save a whole checkpoint without anything that a placer asks for; its bytes."""
    own = {"step": 3, "evaluations": 3, "elapsed": 1.0, "processor": 1.0, "best_time": None}
    own |= {"history": [], "notes": {}, "rng": np.random.default_rng(0).bit_generator.state}
    checkpoint.save(own, {"renamed": np.zeros(2)})
    return checkpoint.path.read_bytes()
