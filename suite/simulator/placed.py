"""A placed graph as reference.py reads it: plain lists, control edges as the semantics has them."""

from __future__ import annotations

from suite.core.arrays import Ints
from suite.core.problem import Problem
from suite.simulator.semantics import HEADER, Semantics


class Placed:
    """Who reads what, where, and how many bytes cross."""

    def __init__(self, problem: Problem, devices: Ints, rules: Semantics) -> None:
        """``devices`` is int[ops]."""
        graph = problem.graph
        self.graph, self.machine, self.rules = graph, problem.machine, rules
        self.at = [int(d) for d in devices]
        self.size = [int(size) for size in graph.tensor_bytes]
        self.inputs: list[list[int]] = [[] for _ in range(graph.n_ops)]
        self.outputs: list[list[int]] = [[] for _ in range(graph.n_ops)]
        self.readers: list[list[int]] = [[] for _ in range(graph.n_tensors)]
        for tensor, op in enumerate(graph.producer):
            self.outputs[op].append(tensor)
        for tensor, consumer in zip(*graph.edges, strict=True):
            read = int(tensor)
            if rules.control == "output" and not self.size[read]:
                read = self.outputs[graph.producer[read]][0]
            if read not in self.inputs[consumer]:
                self.inputs[consumer].append(read)
                self.readers[read].append(int(consumer))
        if rules.control == "header":
            self.size = [size or HEADER for size in self.size]

    def targets(self, tensor: int) -> list[int]:
        """Other devices where the tensor is read, by index."""
        home = self.at[self.graph.producer[tensor]]
        return sorted({self.at[op] for op in self.readers[tensor]} - {home})

    def readers_on(self, tensor: int, device: int) -> int:
        """Number of its readers on a device."""
        return sum(self.at[op] == device for op in self.readers[tensor])
