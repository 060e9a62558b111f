"""Small workloads of our own in the format of dnn-partitioning."""

import json

from hypothesis import strategies as st

from suite.tarnawski.reader import read_workload


def node(number, cpu=10.0, fast=1.0, **fields):
    """A node of the file format."""
    times = {"cpuLatency": cpu, "fpgaLatency": fast}
    return {"id": number, "supportedOnFpga": True, "isBackwardNode": False, **times, **fields}


def edge(source, destination, cost=0.5):
    """An edge of the file format."""
    return {"sourceId": source, "destId": destination, "cost": cost}


def document(nodes, edges, accelerators=2, cpus=1, memory=1e9):
    """A whole file."""
    limits = {"maxFPGAs": accelerators, "maxCPUs": cpus, "maxSizePerFPGA": memory}
    return {**limits, "nodes": nodes, "edges": edges}


def load(folder, data, **units):
    """Write and read a workload."""
    path = folder / "small.json"
    path.write_text(json.dumps(data))
    return read_workload(path, **units)


@st.composite
def documents(draw, most=6):
    """Random DAGs, some with a mirrored backward pass, some short of memory.

    In some, backward nodes read what the forward ones made.
    """
    n = draw(st.integers(2, most))
    train, joined = draw(st.booleans()), draw(st.booleans())
    whole = st.integers(0, 8)
    nodes, edges = [], []
    for v in range(n):
        sizes = {"size": draw(st.integers(0, 3)), "colorClass": v}
        supported = draw(st.integers(0, 5)) > 0
        nodes.append(node(v, draw(whole) * 2, draw(whole), supportedOnFpga=supported, **sizes))
        if train:
            times = (draw(whole) * 2, draw(whole))
            nodes.append(node(100 + v, *times, isBackwardNode=True, **sizes))
            nodes[-1]["supportedOnFpga"] = supported
    costs = [draw(st.integers(0, 4)) / 2 for _ in range(2 * n)]
    for u in range(n):
        for v in range(u + 1, n):
            if draw(st.booleans()):
                edges.append(edge(u, v, costs[u]))
                if train:
                    edges.append(edge(100 + v, 100 + u, costs[n + v]))
    if train and joined:
        edges += [edge(u, 100 + v, costs[u]) for u in range(n) for v in range(u, min(u + 2, n))]
    accelerators, cpus = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    return document(nodes, edges, accelerators, cpus, draw(st.sampled_from([4, 8, 1000])))
