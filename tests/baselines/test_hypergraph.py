"""Mt-KaHyPar: what a net is, what it minimises, and what is said when it is not installed."""

from importlib.util import find_spec

import numpy as np
import pytest

import baselines.mtkahypar as module
from baselines.mtkahypar import MtKaHyPar
from baselines.partitioning.hypergraph import nets
from suite.core.errors import InputError, Unsupported
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.search.placer import Search
from suite.search.subprocess_call import NativeCrash, call

installed = pytest.mark.skipif(
    find_spec("mtkahypar") is None, reason="the optional package mtkahypar is not installed"
)


def problem_of(n, tensors, gpus=2, **graph):
    """``tensors``: (producer, readers, bytes); a transfer takes 1 us + 1 ns a byte."""
    device = {"memory": "1 GB", "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
    devices = [{"name": "cpu:0", "kind": "cpu", **device}]
    devices += [{"name": f"gpu:{i}", "kind": "gpu", **device} for i in range(gpus)]
    link = {"bandwidth": 1e9, "latency": 1e-6}
    machine = machine_from_table({"name": "m", "device": devices, "link": [link]})
    built = OpGraph.create(
        "g",
        [f"op{i}" for i in range(n)],
        ["Op"] * n,
        [producer for producer, _, _ in tensors],
        [(t, reader) for t, (_, readers, _) in enumerate(tensors) for reader in readers],
        tensor_bytes=[size for _, _, size in tensors],
        seconds={"cpu": np.ones(n), "gpu": np.ones(n)},
        **graph,
    )
    return Problem.create(built, machine)


def place(problem, seed=0):
    return MtKaHyPar().place(problem, Search(problem, None, seed=seed)).devices


def test_a_net_is_a_tensor_with_all_its_readers():
    tensors = [(0, [1, 2, 3], 1000), (0, [1, 2, 3], 500), (1, [2], 0), (2, [3], 7), (3, [4], 9)]
    colocation = [None, None, "x", "x", None]
    problem = problem_of(5, tensors, colocation=colocation, gpu_kernel=[1, 1, 1, 1, 0])
    offsets, pins, seconds = nets(problem, np.array([1, 2]), np.array([True, True, True, False]))
    assert offsets.tolist() == [0, 3, 5]
    assert pins.tolist() == [0, 1, 2, 1, 2]
    assert seconds == pytest.approx([3.5e-6, 1e-6])


@installed
def test_a_widely_read_tensor_is_sent_once():
    # Two cliques of five, and a tensor of op0 that all of them read: cut between the cliques, it
    # is sent once and nothing else is.
    cliques = [
        (a, list(range(a + 1, start + 5)), 5000)
        for start in (0, 5)
        for a in range(start, start + 4)
    ]
    problem = problem_of(10, [*cliques, (0, list(range(1, 10)), 2000)])
    devices = place(problem)
    assert set(devices[:5].tolist()) | set(devices[5:].tolist()) == {1, 2}
    assert len(set(devices[:5].tolist())) == len(set(devices[5:].tolist())) == 1


@installed
@pytest.mark.parametrize("gpus", [2, 4])
def test_the_gpus_are_balanced_and_what_has_no_kernel_is_on_the_cpu(gpus):
    tensors = [(i, [i + 1], 100) for i in range(399)]
    problem = problem_of(400, tensors, gpus, gpu_kernel=np.arange(400) % 20 > 0)
    count = np.bincount(place(problem), minlength=gpus + 1)
    assert count[0] == 20
    assert count[1:] == pytest.approx(np.full(gpus, 380 / gpus), rel=0.06)


@installed
def test_seeds_are_used_and_repeat():
    right = [(i, [i + 1], 100) for i in range(576) if i % 24 < 23]
    down = [(i, [i + 24], 100) for i in range(552)]
    problem = problem_of(576, right + down, gpus=4)
    answers = [place(problem, seed).tobytes() for seed in range(4)]
    assert len(set(answers)) > 1
    assert place(problem, 3).tobytes() == answers[3]


@installed
def test_pins_outside_the_vertices_are_refused_in_the_child():
    one_net = {"offsets": [0, 2], "pins": [0, 9], "loads": [1, 1], "net_loads": [1]}
    with pytest.raises(NativeCrash, match=r"a net has a vertex outside 0\.\.1"):
        call(
            "mtkahypar",
            "baselines.partitioning.mtkahypar:connectivity",
            one_net | {"imbalance": 0.1, "seed": 0, "parts": 2},
        )


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(Unsupported, match=r"pip install 'placebench\[hypergraph\]'"):
        place(problem_of(3, [(0, [1], 1), (1, [2], 1)]))


def test_an_imbalance_beyond_all_is_refused():
    with pytest.raises(InputError, match="between 0 and 1"):
        MtKaHyPar(imbalance=1.5)
