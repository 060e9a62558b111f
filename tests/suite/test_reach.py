"""Release and delivery times of a graph small enough to work out by hand."""

import numpy as np
import pytest

from suite.bounds.alike import NEVER
from suite.bounds.critical_path import release_and_delivery
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table

DEVICE = {"memory": "1 GB", "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
CPU, GPU = ({"name": f"{kind}:0", "kind": kind, **DEVICE} for kind in ("cpu", "gpu"))
LINKS = [
    {"from": "cpu", "bandwidth": 1e9, "latency": 100e-9},
    {"from": "gpu", "bandwidth": 1e9, "latency": 200e-9},
]
MACHINE = machine_from_table({"name": "m", "device": [CPU, GPU], "link": LINKS})


def reach(durations, labels=None):
    """A fork: op 0 feeds 1 (50 bytes) and 2 (control); ``durations`` are (cpu, gpu) ns, 0: not."""
    graph = OpGraph.create(
        "fork", "abc", "xyz", [0, 0], [(0, 1), (1, 2)], tensor_bytes=[50, 0], colocation=labels
    )
    durations = np.array(durations, np.int64)
    seconds = np.where(durations > 0, durations * 1e-9, np.inf)
    release, delivery = release_and_delivery(Problem(graph, MACHINE, seconds), durations)
    return release.tolist(), delivery.tolist()


def test_an_input_comes_from_where_its_producer_is_best_off():
    release, delivery = reach([(500, 10), (30, 40), (30, 40)])
    assert release == [[0, 0], [10 + 250, 10], [10 + 200, 10]]
    assert delivery == [[30, 40], [0, 0], [0, 0]]


def test_transfers_differ_by_direction_and_size():
    release, delivery = reach([(500, 0), (0, 40), (0, 3)])
    assert release == [[0, NEVER], [NEVER, 500 + 150], [NEVER, 500 + 100]]
    assert delivery == [[150 + 40, NEVER], [NEVER, 0], [NEVER, 0]]


@pytest.mark.parametrize(
    ("labels", "released", "delivered"), [(None, 260, 280), (["v", "v", None], 500, 400)]
)
def test_members_of_a_class_share_a_device(labels, released, delivered):
    release, delivery = reach([(500, 10), (30, 400), (30, 40)], labels)
    assert release[1] == [released, 10]
    assert delivery[0] == [30, delivered]
