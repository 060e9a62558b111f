"""Steps of a few operations as problems: time in nanoseconds, links of one byte per nanosecond.

Operations are (name, device, nanoseconds), tensors (producer, bytes, readers) and perhaps the
number of the tensor whose buffer it shares.
"""

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
