"""A machine of CPUs alone, seen as one of accelerators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suite.problem import Problem


def twin(problem: Problem) -> Problem:
    """The same problem with its CPUs called GPUs, if it has no GPU; else ``problem`` itself.

    Placers share work out over GPUs. Costs, links and the order of the devices stay, every
    operation has a kernel everywhere, and a placement of the twin is one of ``problem``.
    """
    machine, graph = problem.machine, problem.graph
    if machine.gpus:
        return problem
    names = [device.name for device in machine.devices]
    # Links may name kinds, which change: name both ends of every pair.
    between = machine.link_of.items() if machine.n_devices > 1 else ()
    links = tuple(replace(link, source=names[s], target=names[t]) for (s, t), link in between)
    devices = tuple(replace(device, kind="gpu") for device in machine.devices)
    seen = replace(machine, devices=devices, links=links)
    kernels = np.ones(graph.n_ops, np.bool_)
    return replace(problem, machine=seen, graph=replace(graph, gpu_kernel=kernels))
