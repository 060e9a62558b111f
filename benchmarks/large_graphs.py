"""Graphs of as many operations as asked for, made rather than captured, and a machine for them.

``unrolled`` is a training step of stacked recurrent layers, as deep as it is long: repeated
structure, weights read in every time step, sums of as many gradients. ``layered`` is drawn at
random, with the statistics of the suite's captured graphs: 1.7 edges an operation, a few dozen
types and sizes, one tensor in five a control edge, one in ten an alias, hubs, colocation classes.

The same number of operations and the same seed give the same graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.machine import Link, Machine
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine

LAYERS = 64
WIDTH, BATCH = 1024, 32
"""Of a cell: numbers of the hidden state, and sequences."""
STATE = 4 * WIDTH * BATCH
"""Bytes of a hidden state."""
WEIGHTS = 4 * (2 * WIDTH) * (4 * WIDTH)
"""Bytes of a layer's weights: of what comes from below and from before, to four gates."""
PRODUCT = 2.0 * BATCH * (2 * WIDTH) * (4 * WIDTH)
"""FLOP of one product with the weights."""


@dataclass(frozen=True)
class Op:
    """An operation of a cell. What it reads is ``name``, or ``name@where`` in another cell."""

    type: str
    states: float
    """Bytes of its output, in hidden states."""
    reads: tuple[str, ...]


FORWARD = {
    "concat": Op("ConcatV2", 2, ("h@below", "h@before")),
    "matmul": Op("MatMul", 4, ("concat", "read@layer")),
    "bias": Op("BiasAdd", 4, ("matmul",)),
    "split": Op("Split", 4, ("bias",)),
    "i": Op("Sigmoid", 1, ("split",)),
    "f": Op("Sigmoid", 1, ("split",)),
    "o": Op("Sigmoid", 1, ("split",)),
    "j": Op("Tanh", 1, ("split",)),
    "keep": Op("Mul", 1, ("f", "c@before")),
    "new": Op("Mul", 1, ("i", "j")),
    "c": Op("AddV2", 1, ("keep", "new")),
    "out": Op("Tanh", 1, ("c",)),
    "h": Op("Mul", 1, ("out", "o")),
}
BACKWARD = {
    "dh": Op("AddN", 1, ("below@above", "before@after", "h@cell")),
    "dout": Op("Mul", 1, ("dh", "o@cell")),
    "do": Op("SigmoidGrad", 1, ("dh", "o@cell", "out@cell")),
    "dtanh": Op("TanhGrad", 1, ("dout", "out@cell")),
    "dc": Op("AddN", 1, ("dtanh", "dkeep@after")),
    "di": Op("SigmoidGrad", 1, ("dc", "i@cell", "j@cell")),
    "dj": Op("TanhGrad", 1, ("dc", "j@cell", "i@cell")),
    "df": Op("SigmoidGrad", 1, ("dc", "f@cell")),
    "dkeep": Op("Mul", 1, ("dc", "f@cell")),
    "gates": Op("ConcatV2", 4, ("di", "df", "do", "dj")),
    "dbias": Op("BiasAddGrad", 4 / BATCH, ("gates",)),
    "dx": Op("MatMul", 2, ("gates", "read@layer")),
    "below": Op("Slice", 1, ("dx",)),
    "before": Op("Slice", 1, ("dx",)),
    "dw": Op("MatMul", WEIGHTS / STATE, ("gates", "concat@cell")),
}
ONCE = {
    "weights": Op("VarHandleOp", 8 / STATE, ()),
    "read": Op("ReadVariableOp", WEIGHTS / STATE, ("weights",)),
    "sum": Op("AddN", WEIGHTS / STATE, ("dw@steps",)),
    "sum_bias": Op("AddN", 4 / BATCH, ("dbias@steps",)),
    "update": Op("ResourceApplyAdam", 0, ("weights", "sum", "sum_bias")),
}
"""Of a layer; the first two before all cells, the others behind them."""
AHEAD = ("weights", "read")


class _Numbers:
    """Which operation is where: layers' variables, cells forward, cells backward, updates."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.names = list(FORWARD), list(BACKWARD)
        self.first_forward = LAYERS * len(AHEAD)
        cells = steps * LAYERS
        self.first_backward = self.first_forward + cells * len(FORWARD)
        self.first_update = self.first_backward + cells * len(BACKWARD)
        self.count = self.first_update + LAYERS * (len(ONCE) - len(AHEAD))

    def of(self, name: str, step: Ints, layer: Ints) -> Ints:
        """int64: the operation of a name, in a cell or a layer."""
        if name in FORWARD:
            cell, place = step * LAYERS + layer, self.names[0].index(name)
            return self.first_forward + cell * len(FORWARD) + place
        if name in BACKWARD:
            # Backwards in time, from the last layer down: what is read comes first.
            cell = (self.steps - 1 - step) * LAYERS + LAYERS - 1 - layer
            return self.first_backward + cell * len(BACKWARD) + self.names[1].index(name)
        if name in AHEAD:
            return layer * len(AHEAD) + AHEAD.index(name)
        rest = [other for other in ONCE if other not in AHEAD]
        return self.first_update + layer * len(rest) + rest.index(name)


AWAY = {"": (0, 0), "cell": (0, 0), "below": (0, -1), "above": (0, 1)}
AWAY |= {"before": (-1, 0), "after": (1, 0), "layer": (0, 0), "steps": (0, 0)}
"""Where another cell is: steps and layers from this one."""


def unrolled(n_ops: int, seed: int = 0) -> OpGraph:
    """Stacked LSTM layers over so many steps that there are about ``n_ops`` operations.

    Nothing is drawn; ``seed`` is there for :data:`GRAPHS`.
    """
    per_step = LAYERS * (len(FORWARD) + len(BACKWARD))
    steps = max(1, round((n_ops - LAYERS * len(ONCE)) / per_step))
    numbers = _Numbers(steps)
    step, layer = (axis.reshape(-1) for axis in np.indices((steps, LAYERS)))
    once = np.zeros(LAYERS, np.int64), np.arange(LAYERS)
    names = np.empty(numbers.count, object)
    types = np.empty(numbers.count, object)
    size, flops = np.zeros(numbers.count, np.int64), np.zeros(numbers.count)
    ends: list[tuple[Ints, Ints]] = []
    for name, op in (FORWARD | BACKWARD | ONCE).items():
        at_step, at_layer = once if name in ONCE else (step, layer)
        here = numbers.of(name, at_step, at_layer)
        scope = "" if name in FORWARD else "gradients/" if name in BACKWARD else "train/"
        where = zip(at_layer.tolist(), at_step.tolist(), strict=True)
        names[here] = [f"{scope}layer_{at}/step_{t}/{name}" for at, t in where]
        types[here] = op.type
        size[here] = round(op.states * STATE)
        flops[here] = PRODUCT if op.type == "MatMul" else op.states * STATE / 4
        for read in op.reads:
            ends.append(_edges(numbers, read, here, at_step, at_layer))
    persistent = np.zeros(numbers.count, np.int64)
    persistent[numbers.of("weights", *once)] = 3 * WEIGHTS  # Adam's two moments beside them
    together = np.arange(numbers.count)
    for name in ("read", "update"):
        together[numbers.of(name, *once)] = numbers.of("weights", *once)
    return _graph("unrolled", names, types, size, flops, ends, persistent, together)


def _edges(numbers: _Numbers, read: str, here: Ints, step: Ints, layer: Ints) -> tuple[Ints, Ints]:
    """(producers, readers) of one input of one operation, wherever there is such a cell."""
    name, _, where = read.partition("@")
    if where == "steps":
        step, layer = (axis.reshape(-1) for axis in np.indices((numbers.steps, LAYERS)))
        return numbers.of(name, step, layer), here[layer]
    steps, layers = AWAY[where]
    there = step + steps, layer + layers
    inside = (there[0] >= 0) & (there[0] < numbers.steps) & (there[1] >= 0) & (there[1] < LAYERS)
    return numbers.of(name, there[0][inside], there[1][inside]), here[inside]


TYPES = {
    "MatMul": 0.12,
    "Mul": 0.2,
    "AddV2": 0.12,
    "Sigmoid": 0.08,
    "Tanh": 0.08,
    "ConcatV2": 0.07,
    "Slice": 0.07,
    "Sum": 0.06,
    "Sqrt": 0.05,
    "RealDiv": 0.05,
    "Identity": 0.05,
    "Reshape": 0.05,
}
"""Share of each type in ``layered``, about that in the captured graphs of NMT and Inception-V3."""
HANDED_ON = ("Identity", "Reshape")
"""Types whose output may share the buffer of what they read."""


def layered(n_ops: int, seed: int = 0) -> OpGraph:
    """Operations at random, each reading up to three that came not long before."""
    rng = np.random.default_rng(seed)
    kinds = np.array(list(TYPES), object)
    types = kinds[rng.choice(len(kinds), n_ops, p=np.array(list(TYPES.values())))]
    # Powers of two with one factor of a few: a few dozen distinct sizes, of 256 bytes to 32 MB.
    sizes = np.int64(2) ** rng.integers(8, 24, n_ops) * rng.choice([1, 1, 1, 3], n_ops)
    size = np.where(rng.random(n_ops) < 0.2, 0, sizes)
    flops = np.where(types == "MatMul", 256.0, 0.25) * size
    near = 100.0
    count = rng.choice(4, n_ops, p=[0.1, 0.35, 0.35, 0.2])
    readers = np.repeat(np.arange(n_ops), count)
    producers = readers - 1 - np.minimum(readers, rng.exponential(near, len(readers))).astype(int)
    # One read in fifty is of the last hub before: one operation in 500, such as a weight.
    hub = rng.random(len(readers)) < 0.02
    producers = np.where(hub, np.maximum(readers - 1, 0) // 500 * 500, producers)
    kept = (producers >= 0) & (producers < readers)
    persistent = np.where(np.arange(n_ops) % 500 == 0, size, 0)
    # One operation in thirty shares a device with others nearby, in classes of about seven.
    tied = rng.random(n_ops) < 1 / 30
    together = np.where(tied, np.arange(n_ops) // 200 * 200, np.arange(n_ops))
    names = np.array([f"op_{i}/{kind}" for i, kind in enumerate(types.tolist())], object)
    ends = [(producers[kept], readers[kept])]
    return _graph("layered", names, types, size, flops, ends, persistent, together)


def _graph(
    name: str,
    names: NDArray[np.object_],
    types: NDArray[np.object_],
    size: Ints,
    flops: NDArray[np.float64],
    ends: list[tuple[Ints, Ints]],
    persistent: Ints,
    together: Ints,
) -> OpGraph:
    """A graph in which operation i makes tensor i; ``together`` numbers the colocation classes."""
    n = len(names)
    edges = np.unique(np.concatenate([source * n + reader for source, reader in ends]))
    tensors, consumers = np.divmod(edges, n)
    read = np.bincount(consumers, size[tensors], minlength=n)
    first = np.full(n, -1, np.int64)
    first[consumers[::-1]] = tensors[::-1]
    handed_on = np.isin(types.astype(str), HANDED_ON) & (first >= 0) & (size > 0)
    size = np.where(handed_on, size[first], size)
    _, classes = np.unique(together, return_inverse=True)
    return OpGraph(
        name=f"{name}_{n}",
        op_names=tuple(names.tolist()),
        op_types=tuple(types.tolist()),
        flops=flops,
        bytes_touched=np.where(persistent > 0, 0.0, read + size),
        persistent_bytes=persistent,
        gpu_kernel=np.ones(n, np.bool_),
        colocation=classes.reshape(-1),
        producer=np.arange(n),
        tensor_bytes=size,
        alias_of=np.where(handed_on, first, -1),
        host_memory=np.zeros(n, np.bool_),
        shapes=np.zeros((n, 0), np.int32),
        consumer_offsets=np.searchsorted(tensors, np.arange(n + 1)),
        consumers=consumers,
    )


GRAPHS: Mapping[str, Callable[[int, int], OpGraph]] = {"unrolled": unrolled, "layered": layered}
"""By name: graphs of about so many operations, of a seed."""


def cluster(hosts: int = 8, gpus: int = 8) -> Machine:
    """One CPU and ``hosts`` x ``gpus`` GPUs: machine ``h100_8`` several times.

    NVLink within a host; between hosts 400 Gb/s InfiniBand a GPU, 20 us a transfer (assumed).
    """
    one = load_machine("h100_8")
    gpu = one.devices[one.gpus[0]]
    names = [f"gpu:{i}" for i in range(hosts * gpus)]
    devices = (one.devices[0], *(replace(gpu, name=name) for name in names))
    between = Link(bandwidth=5e10, latency=2e-5, channel="copy-engines")
    fast = next(link for link in one.links if link.source is None)
    within = tuple(
        replace(fast, source=source, target=target)
        for i, source in enumerate(names)
        for j, target in enumerate(names)
        if i != j and i // gpus == j // gpus
    )
    to_cpu = tuple(link for link in one.links if link.source is not None)
    name = f"h100_{hosts}x{gpus}"
    return replace(one, name=name, devices=devices, links=(between, *to_cpu, *within))


def in_order(problem: Problem) -> NDArray[np.int32]:
    """int32[ops]: where an expert might put operations: layers, or stretches, one behind another.

    Each GPU has as much work, in the order of layers (``unrolled``), else of operations.
    """
    graph, gpus = problem.graph, np.array(problem.machine.accelerators)
    place = np.arange(graph.n_ops)
    if graph.name.startswith("unrolled"):
        place = np.array([int(name.split("layer_")[1].split("/")[0]) for name in graph.op_names])
    leaders = graph.classes[1][graph.classes[0][:-1]][graph.colocation]
    order = np.argsort(place[leaders], kind="stable")
    share = np.empty(graph.n_ops)
    work = problem.seconds[order, gpus[0]]
    share[order] = (np.cumsum(work) - work / 2) / work.sum()
    chosen = gpus[np.minimum(len(gpus) - 1, share * len(gpus)).astype(int)]
    return np.asarray(chosen[leaders], np.int32)


def at_random(problem: Problem, seed: int = 0) -> NDArray[np.int32]:
    """int32[ops]: every colocation class on any GPU."""
    rng = np.random.default_rng(seed)
    gpus = np.array(problem.machine.accelerators)
    chosen = gpus[rng.integers(0, len(gpus), problem.graph.n_classes)]
    return np.asarray(chosen[problem.graph.colocation], np.int32)
