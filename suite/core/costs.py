"""Analytic op times: the larger of compute and memory time, plus a launch overhead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suite.core.arrays import Bools, Floats, Ints
from suite.core.graph import OpGraph
from suite.core.machine import OP_CLASSES, Device, Machine

_HOST = """
    Const NoOp Placeholder PlaceholderWithDefault VarHandleOp ReadVariableOp Identity IdentityN
    Reshape ExpandDims Squeeze StopGradient PreventGradient Shape ShapeN Size Rank
    BroadcastGradientArgs ConcatOffset ControlTrigger EnsureShape
"""
_CONVOLUTIONS = ("Conv2D", "Conv3D", "DepthwiseConv", "Convolution")
_MATMUL = "MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum ScaledDotProductAttention"
_MOVEMENT = """
    Concat ConcatV2 Split SplitV Slice StridedSlice StridedSliceGrad Pad PadV2 MirrorPad
    Transpose Tile Pack Unpack Gather GatherV2 GatherNd ScatterNd ResourceGather
    ResourceScatterAdd ResourceScatterSub ResourceScatterUpdate TensorScatterAdd
    TensorScatterUpdate UnsortedSegmentSum Fill ZerosLike OnesLike OneHot Cast Copy
    InvertPermutation BroadcastTo Range Select SelectV2 ReverseV2 ReverseSequence
"""
_ROWS = 4096
"""Operations written at a time, so that their rows stay in the processor's caches."""
HOST_TYPES = frozenset(_HOST.split())
"""Operations that launch no kernel: they hand on a buffer or compute a shape on the host."""

_CLASS = dict.fromkeys(_MATMUL.split(), "matmul") | dict.fromkeys(_MOVEMENT.split(), "movement")


def op_class(op_type: str) -> int:
    """Index into OP_CLASSES of an operation type."""
    convolution = any(name in op_type for name in _CONVOLUTIONS)
    return OP_CLASSES.index("convolution" if convolution else _CLASS.get(op_type, "elementwise"))


def op_seconds(graph: OpGraph, machine: Machine) -> Floats:
    """Seconds of every operation on every device: float64[ops, devices], inf without a kernel.

    time = max(FLOP / (peak x efficiency), bytes / (bandwidth x efficiency)) + launch overhead,
    with the efficiency of the operation's class on that kind of device (1 where the machine does
    not say). Where the graph gives seconds for the device kind, they are taken as they are.
    """
    types = set(graph.op_types)
    class_of, on_host_of = {t: op_class(t) for t in types}, {t: t in HOST_TYPES for t in types}
    classes = np.array([class_of[t] for t in graph.op_types], np.int64)
    on_host = np.array([on_host_of[t] for t in graph.op_types], np.bool_)
    # Many devices are alike but for their names: their column is computed once.
    alike = [replace(device, name="", memory=0) for device in machine.devices]
    columns = {device: _column(graph, machine, device, classes, on_host) for device in set(alike)}
    times = np.empty((graph.n_ops, machine.n_devices))
    for first in range(0, graph.n_ops, _ROWS):
        part = slice(first, first + _ROWS)
        for d, device in enumerate(alike):
            times[part, d] = columns[device][part]
    times.setflags(write=False)
    return times


def _column(
    graph: OpGraph, machine: Machine, device: Device, classes: Ints, on_host: Bools
) -> Floats:
    """float64[ops]: seconds on one device."""
    table = machine.efficiency.get(device.kind, {})
    compute, memory = np.array([table.get(c, (1.0, 1.0)) for c in OP_CLASSES])[classes].T
    busy = np.maximum(
        graph.flops / (device.peak_flops * compute),
        graph.bytes_touched / (device.memory_bandwidth * memory),
    )
    seconds = busy + np.where(on_host, device.host_overhead, device.launch_overhead)
    if device.kind in graph.seconds:
        given = graph.seconds[device.kind]
        seconds = np.where(np.isnan(given), seconds, given)
    if device.kind == "gpu":
        seconds[~graph.gpu_kernel] = np.inf
    return np.asarray(seconds, np.float64)
