"""Scotch and METIS: balance, cuts, weights, and input that would crash or mislead them."""

from dataclasses import replace

import numpy as np
import pytest

from baselines.list_scheduling.memory import class_bytes
from baselines.partitioning.arcs import check_arcs
from baselines.partitioning.class_graph import MAX_LOAD, class_graph, integer_loads
from baselines.partitioning.metis import k_way
from baselines.partitioning.problem import ask, homes_outside
from baselines.partitioning.scotch import static_map
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.search.placer import Search
from suite.search.registry import make_placer

GPU_PARTITIONERS = ["mincut", "metis"]
PARTITIONERS = ["scotch", *GPU_PARTITIONERS]


def machine_of(gpus, links=None):
    device = {"memory": "1 GB", "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
    devices = [{"name": "cpu:0", "kind": "cpu", **device}]
    devices += [{"name": f"gpu:{i}", "kind": "gpu", **device} for i in range(gpus)]
    links = links or [{"bandwidth": 1e9, "latency": 1e-6}]
    return machine_from_table({"name": "m", "device": devices, "link": links})


def problem_of(edges, machine, **graph):
    """``edges``: (from, to, bytes), a tensor each."""
    ops = 1 + max(max(a, b) for a, b, _ in edges)
    graph = {"seconds": {"cpu": 0.1, "gpu": 0.1}} | graph
    built = OpGraph.create(
        "g",
        [f"op{i}" for i in range(ops)],
        ["Op"] * ops,
        [a for a, _, _ in edges],
        [(t, b) for t, (_, b, _) in enumerate(edges)],
        tensor_bytes=[size for _, _, size in edges],
        **graph,
    )
    return Problem.create(built, machine)


def place(name, problem, seed=0, **parameters):
    return make_placer(name, parameters).place(problem, Search(problem, None, seed=seed)).devices


def two_clusters(size=20, bridge=1, gpus=2):
    rng = np.random.default_rng(0)
    edges = [(size - 1, size, bridge)]
    for start in (0, size):
        for i in range(start + 1, start + size):
            edges += [(int(rng.integers(start, i)), i, 10**6), (i - 1, i, 10**6)]
    return problem_of(edges, machine_of(gpus))


def grid(side, machine, **graph):
    """A square mesh: op (i, j) feeds its right and lower neighbours."""
    at = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [
            np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1),
            np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1),
        ]
    )
    return problem_of([(a, b, 1000) for a, b in pairs.tolist()], machine, **graph)


@pytest.mark.parametrize("name", GPU_PARTITIONERS)
def test_two_clusters_are_cut_at_the_bridge(name):
    devices = place(name, two_clusters())
    assert set(devices[:20]) | set(devices[20:]) == {1, 2}
    assert len(set(devices[:20])) == len(set(devices[20:])) == 1


def test_scotch_cuts_at_the_bridge_where_no_cpu_takes_a_share():
    slow_cpu = {"cpu": 1000.0, "gpu": 0.1}
    graph = two_clusters().graph
    problem = Problem.create(
        OpGraph.create(
            "g",
            graph.op_names,
            graph.op_types,
            graph.producer,
            list(zip(*map(np.ndarray.tolist, graph.edges), strict=True)),
            tensor_bytes=graph.tensor_bytes,
            seconds=slow_cpu,
        ),
        machine_of(2),
    )
    devices = place("scotch", problem)
    assert sorted({int(devices[0]), int(devices[20])}) == [1, 2]
    assert len(set(devices[:20])) == len(set(devices[20:])) == 1


@pytest.mark.parametrize("name", GPU_PARTITIONERS)
@pytest.mark.parametrize("gpus", [2, 4, 8])
def test_the_gpus_are_balanced_and_the_cpu_is_left_alone(name, gpus):
    devices = place(name, grid(24, machine_of(gpus)))
    share = np.bincount(devices, minlength=gpus + 1) / len(devices)
    assert share[0] == 0
    assert share[1:] == pytest.approx(np.full(gpus, 1 / gpus), rel=0.06)


@pytest.mark.parametrize("name", GPU_PARTITIONERS)
def test_only_classes_without_a_kernel_are_on_the_cpu(name):
    kernel = np.arange(100) % 10 > 0
    labels = [f"row{i // 10}" if i % 10 < 2 else None for i in range(100)]
    problem = grid(10, machine_of(2), gpu_kernel=kernel, colocation=labels)
    assert np.flatnonzero(place(name, problem) == 0).tolist() == [
        i for i in range(100) if i % 10 < 2
    ]


def test_scotch_gives_each_device_work_in_proportion_to_its_speed():
    problem = grid(40, machine_of(3), seconds={"cpu": 0.8, "gpu": 0.1})
    count = np.bincount(place("scotch", problem), minlength=4)
    assert count / 1600 == pytest.approx(np.array([1, 8, 8, 8]) / 25, rel=0.05)


def test_work_that_must_be_on_the_cpu_uses_up_the_cpus_share():
    kernel = np.arange(400) >= 80
    problem = grid(20, machine_of(3), gpu_kernel=kernel)
    devices = place("scotch", problem)
    assert (devices[:80] == 0).all()
    assert np.bincount(devices) == pytest.approx(np.full(4, 100), rel=0.05)


def test_a_share_is_used_up_by_time_there_not_elsewhere():
    """8 operations of 0.8 s leave the CPU time for as many again, while 3 GPUs share the rest."""
    kernel = np.arange(400) >= 8
    problem = grid(20, machine_of(3), gpu_kernel=kernel, seconds={"cpu": 0.8, "gpu": 0.1})
    assert np.bincount(place("scotch", problem))[0] == pytest.approx(16, abs=2)


@pytest.mark.parametrize("near", [[(0, 1), (2, 3)], [(0, 3), (1, 2)], [(0, 2), (1, 3)]])
def test_scotch_keeps_heavy_edges_off_the_slow_link(near):
    """Two pairs of GPUs, fast links inside a pair and slow ones across."""
    links = [{"bandwidth": 1e8, "latency": 1e-5}]
    for a, b in [*near, *(pair[::-1] for pair in near)]:
        link = {"from": f"gpu:{a}", "to": f"gpu:{b}", "bandwidth": 1e10, "latency": 1e-7}
        links.append(link)
    size, edges = 16, []
    for quarter in range(4):
        for i in range(quarter * size + 1, (quarter + 1) * size):
            edges += [(i - 1, i, 10**7), (quarter * size, i, 10**7)]
    edges += [(i, i + 3 * size, 10**6) for i in range(size)]
    edges += [(i, i + size, 10**6) for i in range(size, 2 * size)]
    devices = place("mincut", problem_of(edges, machine_of(4, links)))
    homes = [set((devices[q * size : (q + 1) * size] - 1).tolist()) for q in range(4)]
    assert homes[0] | homes[3] in map(set, near)
    assert homes[1] | homes[2] in map(set, near)


def test_scotch_meets_the_weights_of_devices_behind_unequal_links():
    links = [{"bandwidth": 1e9, "latency": 1e-6}]
    links.append({"from": "cpu", "bandwidth": 2e8, "latency": 1e-6})
    problem = grid(40, machine_of(3, links), seconds={"cpu": 0.8, "gpu": 0.1})
    count = np.bincount(place("scotch", problem), minlength=4)
    assert count / 1600 == pytest.approx(np.array([1, 8, 8, 8]) / 25, rel=0.1)


@pytest.mark.parametrize("name", PARTITIONERS)
def test_seeds_are_used(name):
    problem = grid(24, machine_of(4))
    assert len({place(name, problem, seed=s).tobytes() for s in range(4)}) > 1


@pytest.mark.parametrize("name", PARTITIONERS)
def test_times_of_any_size_are_balanced(name):
    """Loads as large as a year in nanoseconds would overflow unscaled."""
    for unit in (1e-9, 1e8):
        problem = grid(16, machine_of(2), seconds={"cpu": unit, "gpu": unit})
        parts = 3 if name == "scotch" else 2
        count = np.bincount(place(name, problem))[-parts:]
        assert count == pytest.approx(np.full(parts, 256 / parts), rel=0.06)


def test_loads_are_in_proportion_and_their_sum_is_capped():
    loads = integer_loads(np.array([1e-9, 2e12, 1e12, 0.0]))
    assert loads.sum() <= MAX_LOAD
    assert loads.min() == 1
    assert loads[1] == pytest.approx(2 * loads[2], rel=1e-6)


def test_the_class_graph_merges_edges_and_counts_a_tensor_once_per_reading_class():
    graph = OpGraph.create(
        "g",
        ["a", "b", "c", "d"],
        ["Op"] * 4,
        [0, 1],
        [(0, 1), (0, 2), (0, 3), (1, 2)],
        tensor_bytes=[1000, 0],
        colocation=[None, None, "x", "x"],
    )
    problem = Problem.create(graph, machine_of(2))
    built = class_graph(problem, np.arange(3))
    assert built.offsets.tolist() == [0, 2, 4, 6]
    assert built.neighbours.tolist() == [1, 2, 0, 2, 0, 1]
    latency, tensor = 1e-6, 2e-6
    assert built.seconds == pytest.approx([tensor, tensor, tensor, latency, tensor, latency])


def test_a_class_that_no_gpu_can_run_is_fixed_or_left_out():
    problem = problem_of([(0, 1, 8), (1, 2, 8)], machine_of(2), gpu_kernel=[1, 0, 1])
    assert ask(problem, np.arange(3), fixed=True).fixed.tolist() == [-1, 0, -1]
    left_out = ask(problem, np.array([1, 2]), fixed=False)
    assert left_out.asked.tolist() == [True, False, True]
    assert len(left_out.neighbours) == 0


def test_a_home_is_found_wherever_the_machine_lists_it():
    machine = machine_of(2)
    machine = replace(machine, devices=machine.devices[::-1])
    problem = problem_of([(0, 1, 8), (1, 2, 8)], machine, gpu_kernel=[1, 0, 1])
    assert ask(problem, np.arange(3), fixed=True).fixed.tolist() == [-1, 2, -1]
    assert place("scotch", problem)[1] == place("mincut", problem)[1] == 2


def test_a_home_is_the_fastest_cpu():
    """Nine FLOP, which the CPUs take 9 s, 1 s and 4.5 s for."""
    machine = machine_of(2)
    cpu, *gpus = machine.devices
    cpus = [replace(cpu, name=f"cpu:{i}", peak_flops=flops) for i, flops in enumerate((1, 9, 2))]
    machine = replace(machine, devices=(*cpus, *gpus))
    problem = problem_of([(0, 1, 8)], machine, gpu_kernel=[1, 0], seconds={}, flops=[9.0, 9.0])
    assert homes_outside(problem, np.array([3, 4])).tolist() == [-1, 1]


PATH = {
    "offsets": np.array([0, 1, 3, 4]),
    "neighbours": np.array([1, 0, 2, 1]),
    "loads": np.array([1, 1, 1]),
    "edge_loads": np.array([1, 1, 1, 1]),
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"neighbours": np.array([1, 0, 9, 1])}, r"outside 0\.\.2"),
        ({"neighbours": np.array([1, 0, -1, 1])}, r"outside 0\.\.2"),
        ({"offsets": np.array([0, 1, 3, 9])}, "number of arcs, 4"),
        ({"offsets": np.array([0, 3, 1, 4])}, "number of arcs, 4"),
        ({"neighbours": np.array([1, 1, 2, 1])}, "its own neighbour"),
        ({"neighbours": np.array([1, 2, 2, 1])}, "same vertices"),
        ({"neighbours": np.array([2, 0, 2, 1])}, "its reverse"),
        ({"edge_loads": np.array([1, 2, 1, 1])}, "its reverse"),
        ({"edge_loads": np.array([1, 1, 1])}, "3 for 4 arcs"),
        ({"loads": np.array([1, 1])}, "2 loads for 3 vertices"),
        ({"loads": np.array([0.7, 1.0, 1.0])}, "scale to integers"),
        ({"loads": np.array([0, 1, 1])}, "must be >= 1"),
        ({"loads": np.array([1, 1, 2**40])}, "sum to at most 1000000000"),
    ],
)
def test_a_graph_that_would_crash_or_mislead_them_is_refused_before_the_call(change, message):
    bad = PATH | change
    with pytest.raises(ValueError, match=message):
        check_arcs(**bad)
    with pytest.raises(ValueError, match=message):
        k_way(**bad, speeds=np.array([1, 1]), imbalance=0.03, seed=2)
    target = {"speeds": np.array([1, 1]), "costs": np.ones((2, 2), np.int64)}
    with pytest.raises(ValueError, match=message):
        static_map(**bad, **target, fixed=np.full(3, -1), flags=0, imbalance=0.1, seed=2)


CHAIN = [(0, 1, 1000), (1, 2, 1000)]


def test_a_class_that_only_some_of_the_devices_run_stays_among_them():
    device = {"memory": "1 GB", "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
    devices = [{"name": f"{kind}:0", "kind": kind, **device} for kind in ("cpu", "gpu", "npu")]
    links = [{"bandwidth": 1e9, "latency": 1e-6}]
    machine = machine_from_table({"name": "m", "device": devices, "link": links})
    seconds = {"cpu": 1e-6, "gpu": 1e-3, "npu": 1e-3}
    problem = problem_of(CHAIN, machine, gpu_kernel=[True, False, True], seconds=seconds)
    assert homes_outside(problem, np.array([1, 2])).tolist() == [-1, 2, -1]


def test_an_alias_takes_no_bytes_of_its_own():
    assert class_bytes(problem_of(CHAIN, machine_of(1), alias_of=[-1, 0])).tolist() == [1000, 0, 0]
