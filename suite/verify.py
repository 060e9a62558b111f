"""Re-simulates recorded placements and compares them bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from suite.arrays import digest
from suite.errors import InputError
from suite.record import Record, read_devices, read_record
from suite.run import make_problem, tools


def verify(results: Path) -> Iterator[tuple[Path, str]]:
    """Yield every record with a placement and what differs ("" where every bit agrees).

    Records of graphs given as files are checked only as far as their placement's hash.
    """
    for path in sorted(results.glob("*/*/*/*/*/seed*.json")):
        try:
            record = read_record(path)
            if record["status"] in ("ok", "oom"):
                yield path, _difference(record, path)
        except InputError as error:
            yield path, str(error)


def _difference(record: Record, path: Path) -> str:
    devices, cell = read_devices(path), record["cell"]
    if digest([np.asarray(devices, np.int32)]) != record["placement_hash"]:
        return "the placement is not the recorded one"
    problem = make_problem(cell["task"], cell["machine"], cell["gpus"])
    if problem.graph.fingerprint != record["graph"]["fingerprint"]:
        return "the graph has changed since (TensorFlow or model version)"
    result = tools(problem).simulator.run(devices)
    names = [d.name for d in problem.machine.devices]
    peak = dict(zip(names, result.peak_memory.tolist(), strict=True))
    if result.step_time != record["step_time"]:
        return f"step time is {result.step_time}, recorded {record['step_time']}"
    return "" if peak == record["peak_memory"] else f"peak memory is {peak}"
