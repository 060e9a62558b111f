"""Placers for GPUs, for a CPU or for an expert's placement decline a problem that has none."""

import pytest

from suite.core.errors import Unsupported
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

FOR_GPUS = [
    *("gpu_only", "mincut", "metis", "mtkahypar", "restarts"),
    *("m_topo", "m_etf", "m_sct", "heft", "etf"),
]


@pytest.mark.parametrize("name", ["cpu_only", "human_expert", *FOR_GPUS])
def test_a_machine_without_what_it_takes_is_declined_with_the_reason(name):
    k40 = load_machine("k40")
    machine = k40.with_gpus(0)
    if name == "cpu_only":
        machine = Machine("no-cpu", tuple(k40.devices[i] for i in k40.gpus), k40.links)
    graph = OpGraph.create("one", ["a"], ["Op"], [], [], seconds={"cpu": 2e-3, "gpu": 1e-4})
    problem = Problem.create(graph, machine)
    with pytest.raises(Unsupported, match=r"no (CPU|GPU|human)"):
        make_placer(name, {}).place(problem, Search(problem, Simulator(problem)))
