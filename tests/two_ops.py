"""Two operations, a CPU and a GPU: small enough to compute by hand."""

GRAPH = {
    "format": "placebench-graph-1",
    "name": "two_ops",
    "ops": [
        {
            "name": "a",
            "type": "MatMul",
            "persistent_bytes": 4096,
            "gpu_kernel": True,
            "colocation": None,
            "seconds": {"cpu": 0.5, "gpu": 0.1},
        },
        {
            "name": "b",
            "type": "Relu",
            "colocation": None,
            "seconds": {"cpu": 0.5, "gpu": 0.1},
        },
    ],
    "tensors": [
        {"producer": "b", "bytes": 4000000, "consumers": []},
        {"producer": "a", "bytes": 1000000, "consumers": ["b"]},
    ],
}
PLACEMENT = {
    "format": "placebench-placement-1",
    "graph": "two_ops",
    "machine": "two",
    "devices": {"a": "gpu:0", "b": "cpu:0"},
}
MACHINE = """
name = "two"
[[device]]
name = "cpu:0"
kind = "cpu"
memory = "4 MB"
peak_flops = 1e11
memory_bandwidth = 1e10
launch_overhead = 2e-6
[[device]]
name = "gpu:0"
kind = "gpu"
memory = "1 GB"
peak_flops = 1e12
memory_bandwidth = 1e11
launch_overhead = 2e-6
[[link]]
bandwidth = 1e9
latency = 2e-5
channel = "pair"
"""
