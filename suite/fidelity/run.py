"""Runs drawn placements for real and simulates them: a record each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from suite.bench.cell import Cell
from suite.bench.made_by import PROTOCOL, code_of_modules
from suite.bench.provenance import provenance
from suite.bench.record import (
    FORMAT,
    Record,
    finished,
    read_devices,
    records_below,
    write_record,
)
from suite.core.arrays import Ints, digest
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.execution.measurement import Backend, Measurement, Step, Timing
from suite.fidelity.breakdown import breakdown
from suite.fidelity.sample_placements import Drawn
from suite.simulator.judges import own_semantics
from suite.simulator.result import SEMANTICS_VERSION
from suite.simulator.timeline import Timeline, timeline

GRID = "fidelity"


def compare(
    task: str,
    problem: Problem,
    step: Step,
    drawn: Sequence[Drawn],
    backend: Backend,
    timing: Timing,
    results: Path,
    number: int = 1,
) -> Iterator[tuple[Cell, Record]]:
    """Measure and simulate placements, in an order of their own; yield each with its record.

    What a step is taken to be is the machine's own: OpenVINO's devices, say, take turns. In round
    ``number``, from 1, what is recorded under the same settings is run again only if its record has
    fewer rounds. Records go below ``results``, kinds of placements in the place of placers. At the
    end those of other settings go: searches on an older profile found other placements, and perhaps
    more of them.
    """
    code = code_of_modules(*PROTOCOL, "suite.fidelity.breakdown")
    # Were they run as they are drawn, a machine that warms up would look like a kind's doing.
    order = np.random.default_rng(number - 1).permutation(len(drawn))
    semantics = own_semantics(problem.machine)

    def fingerprint(cell: Cell, devices: Ints) -> str:
        rules = semantics.name, SEMANTICS_VERSION
        # How long one waits for a run makes no difference to one that has ended.
        protocol = vars(replace(timing, timeout=Timing.timeout)).items()
        settings = (*rules, backend.name, protocol, cell.name)
        return digest([problem.fingerprint, devices, str(settings)])

    for one in (drawn[i] for i in order):
        cell = _cell(problem, task, one.kind, one.number)
        mark = fingerprint(cell, one.placement.devices)
        record, _ = finished(cell.path(results), mark, code["digest"])
        if record is None or len(_rounds(record)) < number:
            measurement = backend.measure(step, one.placement.devices, timing)
            if record is None:
                line = timeline(problem, one.placement.devices, semantics=semantics).copies()
                record = _record(cell, one, line, measurement)
                record |= {
                    "backend": backend.name,
                    "semantics": semantics.name,
                    "fingerprint": mark,
                    "planned": len(drawn),
                }
                record["code"] = code
            else:
                record |= _outcome(measurement, _rounds(record)) | {"parameters": one.about}
            write_record(record, one.placement.devices, cell.path(results))
        yield cell, record
    for path in records_below(_folder(problem, task, results)):
        cell = _cell(problem, task, path.parent.name, int(path.stem.removeprefix("seed")))
        if _outdated(path, partial(fingerprint, cell)):
            path.unlink()
            path.with_suffix(".npz").unlink(missing_ok=True)


def unrecorded(task: str, problem: Problem, drawn: Sequence[Drawn], results: Path) -> bool:
    """Whether some placement has no record at all, so that :func:`compare` will run it."""
    cells = (_cell(problem, task, one.kind, one.number) for one in drawn)
    return any(not cell.path(results).exists() for cell in cells)


def _rounds(record: Record) -> list[list[float]]:
    """The seconds of the steps that count in each round."""
    rounds: list[list[float]] = record.get("rounds", [record["step_times"]])
    return rounds


def _outcome(measurement: Measurement, before: list[list[float]]) -> Record:
    """What a measurement says of a placement, after these rounds; a failure stands for them all."""
    rounds = [*before, list(measurement.kept)]
    seconds = [second for one in rounds for second in one]
    return {
        "status": measurement.status,
        "reason": measurement.reason,
        "step_time": median(seconds) if measurement.status == "ok" else None,
        "step_times": seconds,
        "rounds": rounds,
    }


def _cell(problem: Problem, task: str, kind: str, number: int) -> Cell:
    machine = problem.machine
    return Cell(GRID, machine.name, len(machine.gpus), task, kind, number)


def _folder(problem: Problem, task: str, results: Path) -> Path:
    """Where all records of a task are."""
    return _cell(problem, task, "", 0).path(results).parent


def _outdated(path: Path, fingerprint: Callable[[Ints], str]) -> bool:
    """Whether a record is damaged or was made under other settings than those of now."""
    try:
        mark = fingerprint(read_devices(path))
    except InputError:
        return True
    return finished(path, mark, None)[1] in ("damaged", "changed")


def _record(cell: Cell, drawn: Drawn, line: Timeline, measurement: Measurement) -> Record:
    problem, result = line.problem, line.result
    names = [device.name for device in problem.machine.devices]
    return {
        "format": FORMAT,
        "cell": cell.as_dict(),
        **_outcome(measurement, []),
        "outputs": [list(values) for values in measurement.outputs],
        "virtual": measurement.virtual,
        "peak_memory": _known(names, measurement.peak_memory),
        "memory_source": measurement.memory_source,
        "capacity": {device.name: device.memory for device in problem.machine.devices},
        "simulated": {
            "step_time": result.step_time,
            "peak_memory": dict(zip(names, result.peak_memory.tolist(), strict=True)),
        },
        "breakdown": breakdown(line, measurement.traces),
        **_of_openvino(measurement, names),
        "parameters": drawn.about,
        "placement_hash": drawn.placement.hash,
        "graph": {
            "name": problem.graph.name,
            "ops": problem.graph.n_ops,
            "fingerprint": problem.graph.fingerprint,
        },
        "provenance": provenance(),
    }


def _of_openvino(measurement: Measurement, names: Sequence[str]) -> dict[str, Any]:
    """In how many parts a network was run, and how its outputs compare (docs/openvino.md)."""
    if measurement.parts is None:
        return {}
    return {
        "parts": measurement.parts,
        "outputs_against": measurement.outputs_against(names),
    }


def _known(names: Sequence[str], peaks: Sequence[int | None]) -> dict[str, Any]:
    """Bytes of the devices that told them."""
    pairs = zip(names, peaks, strict=False)
    return {name: peak for name, peak in pairs if peak is not None}
