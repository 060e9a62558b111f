"""Reading workloads: units, and one clear line for what cannot be used."""

import json
from math import inf

import pytest
from small_workloads import document, edge, load, node

from suite.core.errors import InputError
from suite.tarnawski.reader import read_split


def test_units_are_those_asked_for(tmp_path):
    data = document([node(0), node(1)], [{**edge(0, 1, 0.5), "size": 2**20}])
    workload = load(tmp_path, data)
    assert workload.cost.tolist() == [0.5, 0]
    assert workload.bandwidth == pytest.approx(2**20 / 0.5e-3)
    slow = load(tmp_path, data, cost_unit="s", time_unit="us")
    assert slow.cost.tolist() == [500, 0]
    assert slow.cpu.tolist() == [0.01, 0.01]
    assert slow.bandwidth == pytest.approx(2**20 / 0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": [edge(0, 1), edge(1, 0)]}, "cycle"),
        ({"edges": [edge(0, 7)]}, "node 7"),
        ({"edges": [edge(0, 1, 1.0), edge(0, 2, 2.0)]}, "cost 1 and 2"),
        ({"edges": [edge(0, 1, 2.0), edge(0, 2, 1.0)]}, "cost 2 and 1"),
        ({"edges": [edge(0, 1, -1.0)]}, "not negative"),
        ({"nodes": [node(0), node(0)]}, "one id"),
        ({"nodes": [{"id": 1}]}, "supportedOnFpga"),
        ({"maxFPGAs": -1}, "maxFPGAs"),
        ({"maxCPUs": 1.5}, "maxCPUs is 1.5; give a whole number"),
        ({"maxFPGAs": 0, "maxCPUs": 0}, "no device"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, change, message):
    data = document([node(0), node(1), node(2)], []) | change
    with pytest.raises(InputError, match=message):
        load(tmp_path, data)


def test_a_split_of_the_forward_pass_is_one_for_training(tmp_path):
    """The backward node of a colour class is where its forward node is."""
    nodes = [node(0, colorClass=0), node(1, colorClass=1)]
    nodes += [node(10 + i, isBackwardNode=True, colorClass=i) for i in range(2)]
    ends = [(0, 1), (1, 11), (11, 10)]
    workload = load(tmp_path, document(nodes, [edge(*pair) for pair in ends]))
    path = tmp_path / "expert.json"
    path.write_text(json.dumps({"fpgas": [{"nodes": [0]}, {"nodes": [1]}], "cpus": []}))
    assert read_split(path, workload).device.tolist() == [0, 1, 0, 1]


def test_numbers_and_colours_are_those_of_the_file(tmp_path):
    nodes = [node(3, 9, 2, size=7), node(1, 8, 4, supportedOnFpga=False), node(2, colorClass="x")]
    nodes += [node(4, colorClass="x", isBackwardNode=True), node(5)]
    sizes = [{**edge(source, 5, 1.0), "size": size} for source, size in ((3, 10), (1, 2), (2, 3))]
    workload = load(tmp_path, document(nodes, sizes, accelerators=3, cpus=2, memory=70))
    assert workload.ids.tolist() == [3, 1, 2, 4, 5]
    assert workload.size.tolist() == [7, 0, 0, 0, 0]
    assert (workload.cpu[:2].tolist(), workload.accelerator[:2].tolist()) == ([9, 8], [2, inf])
    assert workload.colour.tolist() == [0, 1, 2, 2, 3]
    assert workload.backward.tolist() == [False] * 3 + [True, False]
    assert workload.edges.tolist() == [[0, 4], [1, 4], [2, 4]]
    assert (workload.accelerators, workload.cpus, workload.memory) == (3, 2, 70)
    # In bytes a second: the median of 10, 2 and 3 a millisecond.
    assert workload.bandwidth == 3000


def test_cpus_follow_accelerators_in_a_split(tmp_path):
    workload = load(tmp_path, document([node(0), node(1), node(2)], [], cpus=2))
    path = tmp_path / "expert.json"
    parts = {"fpgas": [{"nodes": [1]}], "cpus": [{"nodes": [0]}, {"nodes": [2]}]}
    path.write_text(json.dumps(parts))
    assert read_split(path, workload).device.tolist() == [2, 0, 3]


def test_a_colour_class_on_two_devices_says_nothing_of_its_other_nodes(tmp_path):
    workload = load(tmp_path, document([node(i, colorClass=0) for i in range(3)], []))
    path = tmp_path / "expert.json"
    path.write_text(json.dumps({"fpgas": [{"nodes": [0]}, {"nodes": [1]}]}))
    with pytest.raises(InputError, match="does not place 1 nodes, such as 2"):
        read_split(path, workload)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ({"fpgas": [{"nodes": [0]}], "cpus": [{"nodes": [0, 1]}]}, "places node 0 twice"),
        ({"cpus": [{"nodes": [0]}, {"nodes": [1]}]}, "uses 2 cpus, small has 1"),
        ({"fpgas": [{"nodes": []}] * 3}, "uses 3 fpgas, small has 2"),
        ({"fpgas": [{"nodes": [0, 7]}]}, "places node 7, which small has not"),
        ({"fpgas": [{"nodes": [0]}]}, "does not place 1 nodes, such as 1"),
    ],
)
def test_a_split_that_does_not_fit_is_refused(tmp_path, split, message):
    workload = load(tmp_path, document([node(0), node(1)], [edge(0, 1)]))
    path = tmp_path / "expert.json"
    path.write_text(json.dumps(split))
    with pytest.raises(InputError, match=message):
        read_split(path, workload)
