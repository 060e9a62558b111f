"""Cross-check: our step times against TensorFlow Grappler's own virtual cluster.

Same graph, same device properties; our launch overheads and efficiencies are switched off, and our
transfers are free, since Grappler's are. Two differences of the cost models remain, so each is
taken away in turn: Grappler adds compute and memory time where we take the larger of the two, and
rounds to whole microseconds ("its op times": our simulator fed with Grappler's time of each op).

    python benchmarks/grappler.py --tasks inception_v3 rnnlm nmt_2
"""

from __future__ import annotations

import argparse
import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from suite.bench.load_problem import make_problem
from suite.capture.cache import graph_def_path, load_graph
from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.machine import Link, Machine
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.simulator.compiled.judge import Simulator

HOST = "/job:localhost/replica:0/task:0/device:"
SM_CORES = 192
"""CUDA cores per multiprocessor that Grappler assumes for architecture 3.x."""
CLOCK_MHZ = 745


def bare_machine(gpus: int) -> Machine:
    """Return the k40 machine without overheads and efficiencies, with free transfers.

    Its CPU does one FLOP per cycle and core, as Grappler counts CPUs.
    """
    machine = load_machine("k40").with_gpus(gpus)
    devices = tuple(
        replace(
            d,
            launch_overhead=0.0,
            host_overhead=0.0,
            peak_flops=18 * 2.3e9 if d.kind == "cpu" else d.peak_flops,
        )
        for d in machine.devices
    )
    free = Link(bandwidth=1e30, latency=0.0, channel="pair")
    return replace(machine, devices=devices, links=(free,), efficiency={})


def properties(machine: Machine) -> list[Any]:
    """The machine's devices as Grappler's NamedDevice protocol buffers."""
    from tensorflow.core.protobuf.device_properties_pb2 import DeviceProperties, NamedDevice

    named = []
    for device in machine.devices:
        kilobytes = int(device.memory_bandwidth / 1e3)
        if device.kind == "cpu":
            entry = DeviceProperties(type="CPU", num_cores=18, frequency=2300)
        else:
            cores = round(device.peak_flops / (2 * SM_CORES * CLOCK_MHZ * 1e6))
            entry = DeviceProperties(
                type="GPU",
                vendor="NVIDIA",
                num_cores=cores,
                frequency=CLOCK_MHZ,
                environment={"architecture": "3.5"},
            )
        entry.bandwidth, entry.memory_size = kilobytes, 1 << 50
        named.append(NamedDevice(name=HOST + device.name.upper(), properties=entry))
    return named


def grappler(path: Path, graph: OpGraph, machine: Machine, devices: Ints) -> tuple[float, Any]:
    """Return (step time in seconds, time of each operation: float64[ops]) by Grappler."""
    import tensorflow as tf
    from tensorflow.python.grappler import cluster, item

    meta = tf.compat.v1.MetaGraphDef()
    raw = path.read_bytes()
    meta.graph_def.ParseFromString(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    where = dict(zip(graph.op_names, np.asarray(devices).tolist(), strict=True))
    for node in meta.graph_def.node:
        node.device = HOST + machine.devices[where[node.name]].name.upper()
    read = {name.lstrip("^").split(":")[0] for node in meta.graph_def.node for name in node.input}
    sinks = [node.name for node in meta.graph_def.node if node.name not in read]
    meta.collection_def["train_op"].node_list.value.extend(sinks)
    virtual = cluster.Cluster(devices=properties(machine))
    costs, seconds, _ = virtual.MeasureCosts(
        item.Item(meta, ignore_colocation=True, ignore_user_placement=False)
    )
    index = {name: i for i, name in enumerate(graph.op_names)}
    times = np.zeros(graph.n_ops)
    for cost in costs:
        if cost.node in index:
            times[index[cost.node]] = cost.compute_cost * 1e-9
    return float(seconds), times


def compare(task: str, kind: str) -> str:
    """One Markdown row: a placement of a task under both."""
    full = make_problem(task, "k40", 2)
    machine = bare_machine(2)
    problem = Problem.create(full.graph, machine, full.expert)
    graph = problem.graph
    if kind == "human":
        assert full.expert is not None
        devices = np.asarray(full.expert, np.int32)
    else:
        device = 0 if kind == "cpu" else 1
        allowed = problem.allowed[graph.colocation, device]
        devices = np.where(allowed, device, 0).astype(np.int32)
    theirs, times = grappler(graph_def_path(task), graph, machine, devices)
    ours = Simulator(problem).run(devices).step_time
    seconds = np.where(np.isfinite(problem.seconds), times[:, None], np.inf)
    fed = Simulator(Problem(graph, machine, seconds)).run(devices).step_time
    return (
        f"| {task} | {kind} | {theirs:.4f} | {fed:.4f} | {fed / theirs:.3f}"
        f" | {ours:.4f} | {ours / theirs:.3f} |"
    )


def main() -> None:
    """Print the comparison as a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", default=["inception_v3", "rnnlm", "nmt_2"])
    tasks = parser.parse_args().tasks
    for task in tasks:
        load_graph(task)
    import tensorflow as tf

    tf.compat.v1.disable_eager_execution()
    print("| task | placement | Grappler s | ours, its op times s | ratio | ours s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for task in tasks:
        for kind in ("cpu", "gpu", "human"):
            print(compare(task, kind), flush=True)


if __name__ == "__main__":
    main()
