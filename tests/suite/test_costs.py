"""Operation times by hand."""

import numpy as np
import pytest

from suite.core.costs import op_seconds
from suite.core.graph import OpGraph
from suite.formats.machine_toml import machine_from_table

TABLE = {
    "name": "m",
    "device": [
        {
            "name": "cpu:0",
            "kind": "cpu",
            "memory": "8 GB",
            "peak_flops": 1e9,
            "memory_bandwidth": 1e9,
            "launch_overhead": 0.5,
        },
        {
            "name": "gpu:0",
            "kind": "gpu",
            "memory": "8 GB",
            "peak_flops": 1e12,
            "memory_bandwidth": 1e11,
            "launch_overhead": 0.25,
            "host_overhead": 0.125,
        },
    ],
    "link": [{"bandwidth": 1e9, "latency": 0}],
    "efficiency": {"gpu": {"matmul": 0.5, "elementwise": {"compute": 1.0, "memory": 0.25}}},
}


def seconds(op_type, **arguments):
    graph = OpGraph.create("g", ["a"], [op_type], [], [], **arguments)
    return op_seconds(graph, machine_from_table(TABLE))[0].tolist()


@pytest.mark.parametrize(
    ("op_type", "arguments", "expected"),
    [
        ("MatMul", {"flops": 2e12, "bytes_touched": 1e9}, [2000.5, 4.25]),
        ("MatMul", {"flops": 1e9, "bytes_touched": 1e12}, [1000.5, 20.25]),
        ("Relu", {"flops": 1e9, "bytes_touched": 1e11}, [100.5, 4.25]),
        ("Conv2D", {"flops": 1e12}, [1000.5, 1.25]),
        ("Identity", {}, [0.5, 0.125]),
        ("Where", {"gpu_kernel": False}, [0.5, np.inf]),
        ("MatMul", {"flops": 1e12, "seconds": {"gpu": [3.0]}}, [1000.5, 3.0]),
        ("MatMul", {"flops": 1e12, "seconds": {"gpu": [np.nan]}}, [1000.5, 2.25]),
    ],
)
def test_the_larger_of_compute_and_memory_plus_overhead(op_type, arguments, expected):
    assert seconds(op_type, **arguments) == pytest.approx(expected)
