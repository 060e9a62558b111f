"""Writes a coarsened task as a JSON file of Tarnawski et al. (github.com/msr-fiddle)."""

from __future__ import annotations

from typing import Any

import numpy as np

from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.tarnawski.coarsen import Coarse, alike, coarsen
from suite.tarnawski.workload import Origin


def document(problem: Problem, origin: Origin, cpus: int | None = None) -> dict[str, Any]:
    """The file of a problem's blocks: times and costs in ms, sizes in bytes.

    The node times are sums over their operations, so that an accelerator's call launches them one
    after the other. An output costs what the machine's link takes between GPU and CPU, each tensor
    by itself. All out-edges of a node have one cost in the format: where a node's tensors go to
    different readers, or stay in its colour as well, each set of readers gets a node of its own,
    without time, of the same colour. ``cpus`` is how many CPUs the algorithms may use, None for the
    machine's. InputError as :func:`suite.tarnawski.coarsen.alike` says, and without CPUs where some
    block has to go there.
    """
    coarse = coarsen(problem, origin.inference)
    nodes, edges = _nodes(problem, coarse), []
    sets = np.bincount([maker for maker, _, _ in coarse.outputs], minlength=len(nodes))
    apart = sets > 1
    for a, b in coarse.edges:
        apart[a] = True
        edges.append(_edge(a, b, 0.0, 0))
    for maker, readers, tensors in coarse.outputs:
        source = maker
        if apart[maker]:
            source = len(nodes)
            nodes.append(_output_of(nodes[maker], source))
            edges.append(_edge(maker, source, 0.0, 0))
        sizes = problem.graph.tensor_bytes[tensors].tolist()
        cost = 1e3 * _seconds(problem, sizes)
        edges += [_edge(source, reader, cost, sum(sizes)) for reader in readers]
    forced = [node["name"] for node in nodes if not node["supportedOnFpga"]]
    if cpus == 0 and forced:
        raise InputError(f"{forced[0]} has no GPU kernel: leave CPUs to the workload")
    return {
        "maxFPGAs": len(problem.machine.gpus),
        "maxCPUs": len(problem.machine.cpus) if cpus is None else cpus,
        "maxSizePerFPGA": problem.machine.devices[problem.machine.gpus[0]].memory,
        "placebench": origin.as_dict(),
        "nodes": nodes,
        "edges": edges,
    }


def _nodes(problem: Problem, coarse: Coarse) -> list[dict[str, Any]]:
    gpu, cpu = alike(problem.machine)
    held = coarse.node >= 0
    node, count = coarse.node[held], len(coarse.size)
    fast = np.bincount(node, problem.seconds[held, gpu], count)
    slow = np.bincount(node, problem.seconds[held, cpu], count)
    # A node's first operation gives it a name.
    first = np.flatnonzero(held)[np.unique(node, return_index=True)[1]]
    return [
        {
            "id": i,
            "name": problem.graph.op_names[first[i]],
            "supportedOnFpga": bool(np.isfinite(fast[i])),
            # JSON has no infinity; the flag above says it.
            "fpgaLatency": 1e3 * float(fast[i]) if np.isfinite(fast[i]) else 0.0,
            "cpuLatency": 1e3 * float(slow[i]),
            "size": int(coarse.size[i]),
            "isBackwardNode": bool(coarse.backward[i]),
            "colorClass": int(coarse.node_colour[i]),
        }
        for i in range(count)
    ]


def _output_of(maker: dict[str, Any], number: int) -> dict[str, Any]:
    nothing = {"fpgaLatency": 0.0, "cpuLatency": 0.0, "size": 0}
    return maker | nothing | {"id": number, "name": f"{maker['name']} -> {number}"}


def _edge(source: int, reader: int, cost: float, size: int) -> dict[str, Any]:
    return {"sourceId": source, "destId": reader, "cost": cost, "size": size}


def _seconds(problem: Problem, sizes: list[int]) -> float:
    gpu, cpu = alike(problem.machine)
    return sum(problem.machine.transfer_seconds(gpu, cpu, size) for size in sizes)
