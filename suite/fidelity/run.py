"""Runs drawn placements for real and simulates them: a record each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
    records_below,
    write_record,
)
from suite.core.arrays import Ints, digest
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.execution.measurement import Backend, Measurement, Step, Timing
from suite.fidelity.breakdown import breakdown
from suite.fidelity.sample_placements import Drawn
from suite.formats.machine_toml import load_machine
from suite.formats.measured_costs import kept_machine
from suite.formats.recorded_placement import read_devices
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
    fewer rounds. Records go below ``results``, kinds of placements in the place of placers. Those
    of other settings are replaced, and at the end go where nothing took their place: searches on an
    older profile found other placements, and perhaps more of them. :func:`check_none_goes` refuses
    that.
    """
    code = _code()
    # Were they run as they are drawn, a machine that warms up would look like a kind's doing.
    order = np.random.default_rng(number - 1).permutation(len(drawn))
    semantics = own_semantics(problem.machine)

    for one in (drawn[i] for i in order):
        cell = _cell(problem, task, one.kind, one.number)
        mark = _fingerprint(problem, backend.name, timing, cell, one.placement.devices)
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
    for path in outdated(task, problem, (), backend.name, timing, results):
        path.unlink()
        path.with_suffix(".npz").unlink(missing_ok=True)


def check_none_goes(
    problems: Mapping[str, Problem],
    drawn: Mapping[str, Sequence[Drawn]],
    backend: str,
    timing: Timing,
    results: Path,
) -> None:
    """Raise InputError where :func:`compare` of these tasks would replace or remove records.

    Also where the machine kept beside records, of other tasks perhaps, would become another one.
    """
    settings = backend, timing, results
    going = {path for t in problems for path in outdated(t, problems[t], drawn[t], *settings)}
    for problem in problems.values():
        folder = results / GRID / problem.machine.name
        kept = kept_machine(folder)
        if kept.exists() and load_machine(kept).fingerprint != problem.machine.fingerprint:
            going.update(records_below(folder))
    if going:
        words = f"1 record, {min(going)}, is" if len(going) == 1 else f"{len(going)} records are"
        first = "" if len(going) == 1 else f" ({min(going)}, ...)"
        raise InputError(
            f"{words} of another profile, backend, --steps, --seed or code than now{first}; give"
            " another --output, or --replace to delete what was measured"
        )


def outdated(
    task: str,
    problem: Problem,
    drawn: Sequence[Drawn],
    backend: str,
    timing: Timing,
    results: Path,
) -> list[Path]:
    """A task's records that are damaged or were made under other settings than those of now.

    Where a placement of ``drawn`` is to be recorded, that of another one, or one that other code
    made, counts as well.
    """
    wanted = {(one.kind, one.number): one.placement.devices for one in drawn}
    code, found = _code()["digest"], []
    for path in records_below(_folder(problem, task, results)):
        kind, number = path.parent.name, int(path.stem.removeprefix("seed"))
        cell, devices = _cell(problem, task, kind, number), wanted.get((kind, number))
        try:
            of = read_devices(path) if devices is None else devices
        except InputError:
            found.append(path)
            continue
        mark = _fingerprint(problem, backend, timing, cell, of)
        why = finished(path, mark, None if devices is None else code)[1]
        if why in ("damaged", "changed", "code"):
            found.append(path)
    return found


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


def _fingerprint(problem: Problem, backend: str, timing: Timing, cell: Cell, devices: Ints) -> str:
    """16 hexadecimal digits of all that decides the record of a placement, int32[ops]."""
    rules = own_semantics(problem.machine).name, SEMANTICS_VERSION
    # How long one waits for a run makes no difference to one that has ended.
    protocol = vars(replace(timing, timeout=Timing.timeout)).items()
    settings = (*rules, backend, protocol, cell.name)
    return digest([problem.fingerprint, devices, str(settings)])


def _code() -> dict[str, Any]:
    return code_of_modules(*PROTOCOL, "suite.fidelity.breakdown")


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
