"""FLOP and bytes of OpenVINO's operations, from their shapes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from suite.capture.products import summed

if TYPE_CHECKING:
    import openvino

_WITHOUT_WORK = ("Parameter", "Result", "Reshape", "Squeeze", "Unsqueeze")
"""They hand on a buffer."""
_DRAWN = ("RandomUniform", "Multinomial", "ReadValue")
"""What differs from run to run although all that it reads is constant."""
_PARTIAL = ("Gather", "GatherElements", "GatherND", "Slice", "StridedSlice")
"""They read no more of their first input than they write."""
_KERNELS = {
    "Convolution": 1,
    "GroupConvolution": 2,
    "ConvolutionBackpropData": 1,
    "GroupConvolutionBackpropData": 2,
}
"""Convolutions, and the first of their weights' dimensions that is part of one output's sum."""
_RECURRENT = {
    **{"LSTMSequence": 4, "GRUSequence": 3, "RNNSequence": 3},
    **{"LSTMCell": 3, "GRUCell": 2, "RNNCell": 2},
}
"""Recurrent layers, and where among their inputs the two weights begin."""


def constant_ops(operations: list[openvino.Node]) -> list[bool]:
    """Which operations, in topological order, OpenVINO computes when it compiles a model.

    Constants, and all that is computed from constants alone: among them the Convert behind each
    constant that is stored as float16.
    """
    constant: dict[str, bool] = {}
    for op in operations:
        kind, before = op.get_type_name(), [source.get_name() for source in sources(op)]
        known = bool(before) and all(constant[name] for name in before)
        constant[op.get_name()] = kind == "Constant" or (known and kind not in (*_DRAWN, "Result"))
    return list(constant.values())


def costs_nothing(op: openvino.Node) -> bool:
    """Whether an operation hands on a buffer, or stands for an input or an output."""
    return op.get_type_name() in _WITHOUT_WORK


def sources(op: openvino.Node) -> list[openvino.Node]:
    """The operations that an operation reads, one for each of its inputs."""
    return [read.get_source_output().get_node() for read in op.inputs()]


def read_outputs(op: openvino.Node) -> list[openvino.Output]:
    """The outputs that something reads; others, such as where a maximum lay, are not computed."""
    return [port for port in op.outputs() if port.get_target_inputs()]


def flops(op: openvino.Node) -> float:
    """FLOP of one operation: two for each multiplication of a sum, else one per output element."""
    kind = op.get_type_name()
    shapes = [_shape(port) for port in op.inputs()]
    written = sum(prod(_shape(port)) for port in read_outputs(op))
    if kind in _KERNELS:
        # Backwards, each element of the input is spread over a kernel.
        sums = prod(shapes[0]) if kind.endswith("BackpropData") else written
        return 2.0 * sums * prod(shapes[1][_KERNELS[kind] :])
    if kind == "DeformableConvolution":  # offsets come before its weights
        return 2.0 * written * prod(shapes[2][1:])
    if kind == "MatMul":
        rank, transposed = len(shapes[0]), op.get_attributes()["transpose_a"]
        return 2.0 * written * shapes[0][-2 if transposed and rank > 1 else -1]
    if kind == "ScaledDotProductAttention":
        return 4.0 * prod(shapes[0]) * shapes[1][-2]
    if kind in _RECURRENT:
        first = _RECURRENT[kind]
        steps = shapes[0][1] if kind.endswith("Sequence") else 1
        return 2.0 * shapes[0][0] * steps * sum(map(prod, shapes[first : first + 2]))
    if kind == "Einsum":
        return 2.0 * written * prod(summed(op.get_attributes()["equation"], shapes))
    return float(written)


def bytes_touched(op: openvino.Node) -> float:
    """Bytes that one operation reads and writes, weights included, in its own element types."""
    written = sum(port_bytes(port) for port in read_outputs(op))
    if op.get_type_name() in _PARTIAL:
        return 2.0 * written
    return float(written + sum(port_bytes(read.get_source_output()) for read in op.inputs()))


def port_bytes(port: openvino.Output) -> int:
    """Bytes of a tensor; elements of fewer than 8 bits are packed."""
    bits = int(port.get_element_type().bitwidth)
    return (prod(_shape(port)) * bits + 7) // 8


def _shape(port: openvino.Input | openvino.Output) -> tuple[int, ...]:
    return tuple(int(size) for size in port.get_shape())
