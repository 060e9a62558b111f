"""The settings that decide a record, as one digest; its code has another (made_by)."""

from __future__ import annotations

import json
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from typing import Any

from suite.bench.cell import SIMULATOR, Job
from suite.bench.load_problem import timed_graph, times_in_use
from suite.bench.record import FORMAT
from suite.core.arrays import digest
from suite.core.uncertainty import Judging
from suite.formats.machine_spread import load_spread
from suite.formats.machine_toml import load_machine
from suite.formats.policy_file import PolicyFile
from suite.search.placer import Placer
from suite.search.registry import make_placer
from suite.search.training import policy_field, policy_path
from suite.simulator.result import SEMANTICS_VERSION


def fingerprint(job: Job, machine: str | None = None) -> str:
    """16 hexadecimal digits of all settings of a job: a change makes its cell run again.

    Of the placer's parameters, those count that are not at their defaults. ``machine`` is the file
    of the cell's machine; None: it is looked up by its name.
    """
    cell, placer = job.cell, make_placer(job.placer, job.parameters)
    machine = machine or cell.machine
    settings = {
        "format": FORMAT,
        "cell": cell.name,
        "graph": timed_graph(cell.task, machine, job.graph_file).fingerprint,
        "machine": load_machine(machine).with_gpus(cell.gpus).fingerprint,
        "backend": job.backend,
        "semantics": [semantics(job), SEMANTICS_VERSION],
        "placer": job.placer,
        "parameters": chosen(placer),
        "evaluations": job.max_evaluations,
        "seconds": job.max_seconds,
        "seed": job.base_seed,
    }
    # What came later counts where it is used: older records keep their fingerprints.
    policy = policy_path(placer)
    if policy is not None:
        settings["policy"] = PolicyFile.load(policy).digest
    judge = judging_of(job, machine)
    if judge is not None:
        settings["judge"] = judge
    if job.measure_top is not None:
        settings["measure_top"] = asdict(job.measure_top)
    return digest([json.dumps(settings, sort_keys=True)])


def judging_of(job: Job, machine: str | None = None) -> list[Any] | None:
    """What decides how a job's search is judged, fit for JSON; None where nothing was asked."""
    return None if job.judge is None else [asdict(job.judge), recorded_spread(job, machine)]


def recorded_spread(job: Job, machine: str | None = None) -> str:
    """The fingerprint of the uncertainty that the cell's machine records, where that is asked for.

    InputError where the machine records none.
    """
    if not isinstance(job.judge, Judging) or job.judge.spread is not None:
        return ""
    machine = machine or job.cell.machine
    kept = times_in_use(job.cell.task, machine, job.graph_file)
    return load_spread(machine, kept).fingerprint


def semantics(job: Job) -> str:
    """The name of what a step is taken to be."""
    return job.semantics if job.backend == SIMULATOR else "tensorflow"


def chosen(placer: Placer) -> dict[str, str]:
    """The parameters of a placer that are not at their defaults, as JSON with sorted keys.

    Not the name of a policy file, whose content counts.
    """
    if not is_dataclass(placer):
        return {}
    found = {}
    for field in fields(placer):
        if not field.init or field.name == policy_field(placer):
            continue  # it follows from the others; or it is a name
        value = _canonical(getattr(placer, field.name))
        default = default_of(field)
        if default is MISSING or value != _canonical(default):
            found[field.name] = value
    return found


def default_of(field: Field[Any]) -> object:
    """What a dataclass's field is where nothing is given, made anew; MISSING where it must be."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def _canonical(value: object) -> str:
    """JSON in which tuples are lists, 2.0 is 2 and the order of keys does not matter."""
    return json.dumps(_plain(value), sort_keys=True, default=str)


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
