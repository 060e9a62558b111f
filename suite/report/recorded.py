"""The problem and the placement behind a record, read from files; nothing is captured for it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from suite.bench.load_problem import kept_graph
from suite.capture.cache import graph_path
from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.graph_npz import load_graph_file
from suite.formats.machine_toml import known_machines, load_machine
from suite.formats.measured_costs import as_measured, machine_of_records, with_op_times
from suite.formats.recorded_placement import read_devices
from suite.search.registry import tasks


def machine_of(records: pd.DataFrame) -> Machine | None:
    """The machine of records of one grid and machine: that kept beside them, else by its name.

    None where it is not known here.
    """
    name, folder = str(records["machine"].iloc[0]), Path(records["path"].iloc[0]).parents[3]
    kept = machine_of_records(folder, name)
    return None if kept == name and name not in known_machines() else load_machine(kept)


def recorded(record: pd.Series) -> tuple[Problem, Ints]:
    """Return the problem and the placement (int32[ops]) of a row of a record frame.

    InputError says in words without paths what is missing.
    """
    problem = recorded_problem(record)
    return problem, recorded_devices(record, problem)


def recorded_problem(record: pd.Series) -> Problem:
    """Return the problem of a row of a record frame.

    The graph is the one that the results keep, else the cached one; it is never captured here,
    since a report must not take minutes. InputError where it is not there.
    """
    name = machine_of_records(Path(record["path"]).parents[3], str(record["machine"]))
    machine = load_machine(name).with_gpus(int(record["gpus"]))
    graph = _graph(record, machine)
    return Problem.create(graph, as_measured(machine, graph))


def recorded_devices(record: pd.Series, problem: Problem) -> Ints:
    """Return the placement, int32[ops], beside the record; InputError where it is not there."""
    cell = "/".join(str(record[name]) for name in ("grid", "task", "placer"))
    cell += f"/seed{record['seed']}"
    try:
        devices = read_devices(Path(record["path"]))
    except InputError:
        raise InputError(
            f"the placement of {cell} is missing or damaged; run the cell again"
        ) from None
    return Placement.of(problem, devices).devices


def _graph(record: pd.Series, machine: Machine) -> OpGraph:
    task, wanted = str(record["task"]), str(record["graph"].get("fingerprint", ""))
    kept = kept_graph(Path(record["path"]).parents[4], task, wanted)
    places = [kept, graph_path(task)] if task in tasks() else [kept]
    found = next((path for path in places if path.exists()), None)
    if found is None:
        raise InputError(
            f"the graph of {task} is not cached here: `placebench graph {task}` captures it"
        )
    try:
        graph = load_graph_file(found)
    except InputError:
        raise InputError(f"the cached graph of {task} is damaged; capture it again") from None
    # A graph given as a file was kept with the times that it had, whatever was measured since.
    graph = graph if found == kept else with_op_times(graph, machine, task)
    if graph.fingerprint != wanted:
        raise InputError(
            f"the graph of {task} here is not the recorded one: the model, its capture or"
            " TensorFlow have changed; run the cell again"
        )
    return graph
