"""Whatever is in baselines/ answers every problem with a valid placement, the same for one seed."""

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from suite.core.errors import Unsupported
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.core.placement import check_devices
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.search.placer import Search
from suite.search.registry import make_placer, modules
from suite.simulator.compiled.judge import Simulator

NEED_GPU = {
    "gpu_only",
    "mincut",
    "metis",
    "mtkahypar",
    "m_topo",
    "m_etf",
    "m_sct",
    "heft",
    "etf",
    "restarts",
}
LIMITED = {"m_etf", "m_sct", "heft", "etf"}
NATIVE = {"scotch", "mincut", "metis", "mtkahypar", "annealing", "restarts"}
PLACERS = modules("baselines")


def place(name, problem, seed, **parameters):
    if name == "mtkahypar" and find_spec("mtkahypar") is None:
        pytest.skip("the optional package mtkahypar is not installed")
    search = Search(problem, Simulator(problem), seed=seed, max_evaluations=200)
    return make_placer(name, parameters).place(problem, search)


def check(name, problem, seed):
    if name == "human_expert" or (name in NEED_GPU and not problem.machine.gpus):
        with pytest.raises(Unsupported):
            place(name, problem, seed)
        return
    try:
        placement = place(name, problem, seed)
    except Unsupported:
        if name not in LIMITED:
            raise
        return
    check_devices(problem, placement.devices)
    assert place(name, problem, seed).hash == placement.hash


@pytest.mark.parametrize("name", sorted(set(PLACERS) - NATIVE))
@settings(max_examples=25, deadline=None)
@given(problem=problems(max_ops=20), seed=st.integers(0, 2**32 - 1))
def test_it_answers_random_problems(name, problem, seed):
    check(name, problem, seed)


@pytest.mark.parametrize("name", sorted(NATIVE))
@settings(max_examples=6, deadline=None)
@given(problem=problems(max_ops=30, max_gpus=8), seed=st.integers(0, 2**32 - 1))
def test_a_native_partitioner_answers_random_problems(name, problem, seed):
    check(name, problem, seed)


def chain(ops=12, *, cpu=True, gpus=2, **graph):
    machine = load_machine("k40").with_gpus(gpus)
    names = [f"op{i}" for i in range(ops)]
    edges = [(i, i + 1) for i in range(ops - 1)]
    graph = {"tensor_bytes": 1000, "seconds": {"cpu": 2e-3, "gpu": 1e-4}} | graph
    built = OpGraph.create("chain", names, ["Op"] * ops, range(ops - 1), edges, **graph)
    if cpu:
        return Problem.create(built, machine)
    gpu_only = Machine("no-cpu", tuple(machine.devices[i] for i in machine.gpus), machine.links)
    return Problem.create(built, gpu_only)


@pytest.mark.parametrize("name", sorted(set(PLACERS) - {"cpu_only", "human_expert"}))
@pytest.mark.parametrize("gpus", [1, 3])
def test_it_needs_no_cpu(name, gpus):
    problem = chain(cpu=False, gpus=gpus)
    check_devices(problem, place(name, problem, 0).devices)


@pytest.mark.parametrize("name", PLACERS)
@pytest.mark.parametrize("ops", [0, 1, 2])
def test_tiny_graphs_and_more_devices_than_operations(name, ops):
    problem = chain(ops, gpus=8, tensor_bytes=0)
    if name == "human_expert":
        problem = Problem.create(problem.graph, problem.machine, np.ones(ops, np.int32))
    assert len(place(name, problem, 0).devices) == ops


@pytest.mark.parametrize("name", PLACERS)
def test_work_that_takes_no_time_is_placed_too(name):
    problem = chain(seconds={"cpu": 0.0, "gpu": 0.0})
    if name == "human_expert":
        problem = Problem.create(problem.graph, problem.machine, np.ones(12, np.int32))
    check_devices(problem, place(name, problem, 0).devices)


@pytest.mark.parametrize("name", ["cpu_only", "human_expert", *sorted(NEED_GPU)])
def test_a_machine_without_what_it_takes_is_declined_with_the_reason(name):
    problem = chain(cpu=name != "cpu_only", gpus=0 if name != "cpu_only" else 2)
    with pytest.raises(Unsupported, match=r"no (CPU|GPU|human)"):
        place(name, problem, 0)
