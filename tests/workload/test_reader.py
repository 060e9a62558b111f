"""Reading workloads: units, and one clear line for what cannot be used."""

import pytest
from small_workloads import document, edge, load, node

from suite.core.errors import InputError


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
        ({"edges": [edge(0, 1, -1.0)]}, "not negative"),
        ({"nodes": [node(0), node(0)]}, "one id"),
        ({"nodes": [{"id": 1}]}, "supportedOnFpga"),
        ({"maxFPGAs": -1}, "maxFPGAs"),
        ({"maxFPGAs": 0, "maxCPUs": 0}, "no device"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, change, message):
    data = document([node(0), node(1), node(2)], []) | change
    with pytest.raises(InputError, match=message):
        load(tmp_path, data)
