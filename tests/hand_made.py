"""Steps of a few operations as problems: time in nanoseconds, links of one byte per nanosecond.

Operations are (name, device, nanoseconds), tensors (producer, bytes, readers) and perhaps the
number of the tensor whose buffer it shares.
"""

import numpy as np

from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table

NAMES = ("cpu:0", "gpu:0", "gpu:1", "gpu:2")


def machine(
    devices,
    channel="pair",
    latency=0,
    memory=10**9,
    dispatch="fifo",
    parallelism=1,
    one_process=False,
    **ends,
):
    """``ends``: what else the link has."""
    base = {"memory": memory, "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
    base["parallelism"] = parallelism
    table = [{"name": n, "kind": n[:3], **base} for n in NAMES[:devices]]
    link = {"bandwidth": 1e9, "latency": latency * 1e-9, "channel": channel, **ends}
    table = {"name": "hand", "device": table, "link": [link], "dispatch": dispatch}
    table["one_process"] = one_process
    return machine_from_table(table)


def case(ops, tensors, persistent=0, in_host=(), **arguments):
    """Problem and devices; ``in_host``: numbers of the tensors that are in host memory."""
    names, devices, durations = zip(*ops, strict=True)
    seconds = [1e-9 * d for d in durations]
    graph = OpGraph.create(
        "hand",
        names,
        ["Op"] * len(ops),
        [names.index(t[0]) for t in tensors],
        [(k, names.index(reader)) for k, t in enumerate(tensors) for reader in t[2]],
        tensor_bytes=[t[1] for t in tensors],
        alias_of=[t[3] if len(t) > 3 else -1 for t in tensors] or -1,
        host_memory=[k in in_host for k in range(len(tensors))] or False,
        persistent_bytes=persistent,
        seconds={"cpu": seconds, "gpu": seconds},
    )
    return Problem.create(graph, machine(max(devices) + 1, **arguments)), devices


def chains(gpus: int, times: int = 1, large_on_gpu: float = 1e-4) -> Problem:
    """A large operation, then ten small ones in a row and a large one, so often; and a lone one.

    In microseconds: small ones take 2 on the CPU and 10 on a GPU, large ones 1,000 and 100, and
    every transfer 15. The lone one is small and reads what the first makes.
    """
    names = ["first"]
    for at in range(times):
        names += [*(f"small_{at}_{i}" for i in range(10)), f"large_{at}"]
    row = len(names)
    names.append("lone")
    large = np.array([not name.startswith(("small", "lone")) for name in names])
    ends = [*zip(range(row - 1), range(1, row), strict=True), (0, row)]
    graph = OpGraph.create(
        "chains",
        names,
        np.where(large, "Large", "Small").tolist(),
        [producer for producer, _ in ends],
        [(tensor, reader) for tensor, (_, reader) in enumerate(ends)],
        seconds={
            "cpu": np.where(large, 1e-3, 2e-6).tolist(),
            "gpu": np.where(large, large_on_gpu, 1e-5).tolist(),
        },
    )
    return Problem.create(graph, machine(1 + gpus, latency=15_000))
