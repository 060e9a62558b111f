"""Variants of problems: what a cut keeps, what a scale changes, what new wires may join."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs, problems
from unrolled import unrolled

from suite.bench.variants import LEAST_KEPT, SIZES, cut, rewired, scaled, variant
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine

SEEDS = st.integers(0, 2**32 - 1)


def reads(graph: OpGraph) -> set[tuple[str, str]]:
    tensors, consumers = graph.edges
    makers = graph.producer[tensors]
    names = graph.op_names
    return {(names[a], names[b]) for a, b in zip(makers, consumers, strict=True)}


@given(graphs(), SEEDS)
def test_a_cut_keeps_a_stretch_its_variables_and_all_edges_inside(
    graph: OpGraph, seed: int
) -> None:
    found = cut(graph, np.random.default_rng(seed))
    kept = set(found.op_names)
    assert len(kept) >= LEAST_KEPT * graph.n_ops
    variables = {graph.op_names[op] for op in np.flatnonzero(graph.persistent_bytes)}
    assert variables <= kept
    at = [i for i, name in enumerate(graph.op_names) if name in kept - variables]
    between = set(graph.op_names[at[0] : at[-1] + 1]) if at else set()
    assert between <= kept
    inside = {(a, b) for a, b in reads(graph) if a in kept and b in kept}
    assert reads(found) == inside
    classes = dict(zip(graph.op_names, graph.colocation, strict=True))
    for one, number in zip(found.op_names, found.colocation, strict=True):
        for other, same in zip(found.op_names, found.colocation, strict=True):
            assert (number == same) == (classes[one] == classes[other])


def test_a_scale_is_one_factor_a_type_and_one_for_all_tensors() -> None:
    graph = unrolled(steps=6, layers=2)
    found = scaled(graph, np.random.default_rng(1))
    there = graph.flops > 0
    factors = found.flops[there] / graph.flops[there]
    types = np.array(graph.op_types)[there]
    assert all(np.ptp(factors[types == kind]) < 1e-12 for kind in set(types))
    assert len({round(float(factor), 9) for factor in factors}) == len(set(types))
    large = graph.tensor_bytes >= 1000
    sizes = found.tensor_bytes[large] / graph.tensor_bytes[large]
    assert np.ptp(sizes) < 0.01
    assert SIZES[0] <= sizes[0] <= SIZES[1]
    assert (found.persistent_bytes <= graph.persistent_bytes).all()


@given(graphs(), SEEDS)
def test_new_wires_carry_what_the_old_ones_did(graph: OpGraph, seed: int) -> None:
    found = rewired(graph, np.random.default_rng(seed))

    def inputs(one: OpGraph) -> list[Counter[tuple[int, ...]]]:
        tensors, consumers = one.edges
        facts = np.column_stack([one.shapes, one.tensor_bytes, one.host_memory])
        counts: list[Counter[tuple[int, ...]]] = [Counter() for _ in one.op_names]
        for tensor, op in zip(tensors, consumers, strict=True):
            counts[op][tuple(facts[tensor].tolist())] += 1
        return counts

    assert inputs(found) == inputs(graph)


def test_some_wires_are_new() -> None:
    graph = unrolled(steps=30, layers=3)
    new = reads(rewired(graph, np.random.default_rng(0))) - reads(graph)
    assert 0 < len(new) < 0.1 * len(graph.consumers)


@given(problems(), SEEDS, st.integers(1, 3))
def test_a_number_and_a_seed_make_one_variant(problem: Problem, seed: int, number: int) -> None:
    found = variant(problem, number, seed)
    assert found.fingerprint == variant(problem, number, seed).fingerprint
    assert found.machine is problem.machine


def test_numbers_make_different_variants() -> None:
    graph = unrolled(steps=10, layers=2)
    problem = Problem.create(graph, load_machine("k40").with_gpus(2))
    assert len({variant(problem, number, 0).fingerprint for number in range(1, 6)}) == 5
