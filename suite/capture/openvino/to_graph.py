"""OpenVINO's model -> OpGraph: one operation a layer of its IR, constants and all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from suite.capture.openvino.op_costs import (
    bytes_touched,
    constant_ops,
    costs_nothing,
    flops,
    port_bytes,
    read_outputs,
)
from suite.core.errors import InputError
from suite.core.graph import OpGraph

if TYPE_CHECKING:
    import openvino

_BODIES = ("If", "Loop", "TensorIterator")
_ALIASING = ("Reshape", "Squeeze", "Unsqueeze")
_KINDS = ("cpu", "gpu")


def to_graph(
    model: openvino.Model, name: str, metadata: Mapping[str, object] | None = None
) -> OpGraph:
    """Return a model's graph; InputError if a shape is open, or if it has loops or branches.

    Operations, their order and the edges are those of the IR (``get_ordered_ops``). What OpenVINO
    computes when it compiles the model, and what hands on a buffer, takes no time on any device.
    Nothing is colocated: a weight that lies elsewhere than its reader is sent in each inference.
    """
    ops = model.get_ordered_ops()
    check(ops)
    constant = constant_ops(ops)
    free = [known or costs_nothing(op) for op, known in zip(ops, constant, strict=True)]
    tensors: dict[tuple[str, int], int] = {}
    producer: list[int] = []
    size: list[int] = []
    shapes: list[list[int]] = []
    for i, op in enumerate(ops):
        for port in read_outputs(op):
            tensors[op.get_name(), port.get_index()] = len(producer)
            producer.append(i)
            size.append(port_bytes(port))
            shapes.append(list(port.get_shape()))
    reads = [[tensors[_tensor(read)] for read in op.inputs()] for op in ops]
    alias = np.full(len(producer), -1, np.int32)
    for op, known, read in zip(ops, constant, reads, strict=True):
        in_place = known and op.get_type_name() == "Convert"
        if read and (in_place or op.get_type_name() in _ALIASING):
            alias[tensors[op.get_name(), 0]] = read[0]
    facts = {"openvino": version("openvino"), "parameters": _parameters(ops), **(metadata or {})}
    return OpGraph.create(
        name,
        op_names(ops),
        [op.get_type_name() for op in ops],
        producer,
        [(tensor, i) for i, read in enumerate(reads) for tensor in read],
        flops=[0.0 if none else flops(op) for op, none in zip(ops, free, strict=True)],
        bytes_touched=[0.0 if n else bytes_touched(op) for op, n in zip(ops, free, strict=True)],
        tensor_bytes=size,
        alias_of=alias,
        shapes=shapes,
        seconds={kind: np.where(free, 0.0, np.nan) for kind in _KINDS},
        metadata=facts,
    )


def op_names(ops: Sequence[openvino.Node]) -> list[str]:
    """The names that people know operations by; a second one of a name gets a number."""
    seen: Counter[str] = Counter()
    names = []
    for op in ops:
        name = op.get_friendly_name()
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return names


def check(ops: Sequence[openvino.Node]) -> None:
    """Refuse open shapes, and operations that hold others (InputError)."""
    for op in ops:
        name, kind = op.get_friendly_name(), op.get_type_name()
        if kind in _BODIES:
            raise InputError(
                f"operation {name!r} is a loop or a branch ({kind}), which would be one operation;"
                " export the model unrolled"
            )
        for port in op.outputs():
            shape = port.get_partial_shape()
            if shape.is_dynamic:
                raise InputError(
                    f"operation {name!r} ({kind}) has the open shape {shape}: it depends on data,"
                    " or on an input's size; give sizes with --input NAME=SIZE,SIZE,..."
                )


def _tensor(read: openvino.Input) -> tuple[str, int]:
    source = read.get_source_output()
    return source.get_node().get_name(), source.get_index()


def _parameters(ops: Sequence[openvino.Node]) -> int:
    """Elements of all constants that are no integers."""
    constants = (op.output(0) for op in ops if op.get_type_name() == "Constant")
    return sum(prod(c.get_shape()) for c in constants if c.get_element_type().is_real())
