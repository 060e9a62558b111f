"""Random small problems and placements for property tests."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table

CHANNELS = ("pair", "copy-engines", "shared")
DISPATCH = ("fifo", "fifo", "stack")


@st.composite
def graphs(draw, max_ops=9):
    """DAGs with colocation, control edges, empty and unread tensors, aliases, ties in time."""
    n = draw(st.integers(1, max_ops))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    producer, consumers, size, alias, in_host = [], [], [], [], []
    for op in range(n):
        for _ in range(rng.integers(0, 4)):
            tensor = len(producer)
            readers = rng.permutation(np.arange(op + 1, n))[: rng.integers(0, 4)]
            mine = [t for t, o in consumers if o == op]
            producer.append(op)
            size.append(int(rng.choice([0, 0, 1, 10, 1000, 12345])))
            in_host.append(rng.random() < 0.2)
            alias.append(int(rng.choice(mine)) if mine and rng.random() < 0.4 else -1)
            consumers += [(tensor, int(o)) for o in readers]
    labels = [str(k) if k < 3 else None for k in rng.integers(0, 9, n)]
    tick = 1e-9 * float(rng.choice([1, 100]))
    return OpGraph.create(
        "random",
        [f"op{i}" for i in range(n)],
        ["Op"] * n,
        producer,
        consumers,
        colocation=labels,
        persistent_bytes=rng.choice([0, 0, 500], n),
        gpu_kernel=rng.random(n) < 0.9,
        tensor_bytes=size,
        alias_of=alias if alias else -1,
        host_memory=in_host if in_host else False,
        seconds={k: rng.integers(1, 6, n) * tick for k in ("cpu", "gpu")},
    )


@st.composite
def machines(draw, min_gpus=0, max_gpus=4, in_turn=False):
    """One CPU and some GPUs, with any mix of channel kinds, overheads and dispatch.

    Half of them may do several things at once, unless all is to be ``in_turn``: run operations,
    send one tensor behind another, hand on what is in host memory.
    """
    gpus = draw(st.integers(min_gpus, max_gpus))
    memory = draw(st.sampled_from([2_000, 20_000, 10**9]))
    base = {"memory": memory, "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
    devices = [{"name": "cpu:0", "kind": "cpu", **base}]
    devices += [{"name": f"gpu:{i}", "kind": "gpu", **base} for i in range(gpus)]
    at_once = not in_turn and draw(st.booleans())
    if at_once:
        for device in devices:
            device["parallelism"] = draw(st.integers(1, 3))
    bandwidth = st.sampled_from([1e9, 1e10, 3e11])
    latency = st.sampled_from([0.0, 1e-9, 2e-9, 5e-8])
    ends = st.sampled_from([None, "cpu", "gpu", *(["gpu:0"] if gpus else [])])
    links = [{"bandwidth": draw(bandwidth), "latency": draw(latency)}]
    links[0]["channel"] = draw(st.sampled_from(CHANNELS))
    links[0] |= draw(occupancies()) | draw(gaps(links[0], at_once))
    for _ in range(draw(st.integers(0, 2))):
        link = {"bandwidth": draw(bandwidth), "latency": draw(latency)}
        link["channel"] = draw(st.sampled_from(CHANNELS))
        link |= draw(occupancies()) | draw(gaps(link, at_once))
        link |= {k: v for k in ("from", "to") if (v := draw(ends))}
        if (link.get("from"), link.get("to")) not in [(x.get("from"), x.get("to")) for x in links]:
            links.append(link)
    table = {"name": "random", "device": devices, "link": links}
    table["dispatch"] = draw(st.sampled_from(DISPATCH))
    table["one_process"] = at_once and draw(st.booleans())
    return machine_from_table(table)


@st.composite
def occupancies(draw):
    """How long transfers keep their ends from computing, or wait for them; mostly not at all."""
    if not draw(st.booleans()):
        return {}
    overhead = st.sampled_from([0.0, 1e-9, 3e-9, 5e-8])
    kinds = "send_overhead", "receive_overhead", "scheduling_latency"
    ends = {k: draw(overhead) for k in kinds}
    return ends | draw(st.sampled_from([{}, {"copy_bandwidth": 7e9}]))


@st.composite
def gaps(draw, link, at_once):
    """How long a transfer holds its channel beside its bytes; by default its latency."""
    share = draw(st.sampled_from([0.0, 0.5, 1.0])) if at_once else 1.0
    return {"gap": share * link["latency"]} if share < 1 else {}


@st.composite
def problems(draw, max_ops=9, **machine):
    """A small problem."""
    return Problem.create(draw(graphs(max_ops)), draw(machines(**machine)))


@st.composite
def placed(draw, max_ops=9, **machine):
    """A small problem and the devices of a random valid placement, int32[ops]."""
    problem = draw(problems(max_ops, **machine))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return problem, random_devices(problem, rng)


def random_devices(problem, rng):
    """A uniformly random allowed device for every colocation class, int32[ops]."""
    choice = [rng.choice(np.flatnonzero(row)) for row in problem.allowed]
    return np.array(choice, np.int32)[problem.graph.colocation]


def every_placement(problem, limit=150):
    """All placements of classes, int32[ops] each, or ``limit`` of them picked at random."""
    options = [np.flatnonzero(row) for row in problem.allowed]
    if math.prod(len(o) for o in options) <= limit:
        rows = itertools.product(*options)
    else:
        rng = np.random.default_rng(0)
        rows = ([rng.choice(o) for o in options] for _ in range(limit))
    return [np.array(row, np.int32)[problem.graph.colocation] for row in rows]
