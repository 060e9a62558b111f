"""Structure found without names: known answers, relabelling, and the scopes of real tasks."""

from __future__ import annotations

import re
import time
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr
from strategies import graphs
from unrolled import KINDS, scopes, unrolled

from baselines.structure.axis import find_axis
from baselines.structure.modules import RESOLUTIONS, TOTAL, exact_weights, find_modules
from baselines.structure.roles import find_roles, hubs
from baselines.structure.updates import find_last, find_updates
from suite.capture.cache import load_graph
from suite.core.arrays import Bools, Floats, Ints
from suite.core.graph import OpGraph


def same_partition(first: Ints, second: Ints) -> bool:
    pairs = len(np.unique(np.stack([first, second]), axis=1).T)
    return pairs == len(np.unique(first)) == len(np.unique(second))


def alike(graph: OpGraph) -> Floats:
    """Costs of tensors of which none is dearer than another."""
    return np.ones(len(graph.producer))


def test_steps_share_a_role_and_layers_do_not() -> None:
    graph = unrolled(steps=20, layers=3)
    roles = find_roles(graph)
    for kind in KINDS[1:]:
        # What is at most three edges from an end may look different.
        inner = [roles[scopes(graph, kind, layer)[3:-3]] for layer in range(3)]
        assert [len(np.unique(found)) for found in inner] == [1, 1, 1]
        assert len(np.unique([found[0] for found in inner])) == 3
    types = np.array(graph.op_types)
    assert all(len(np.unique(types[roles == role])) == 1 for role in np.unique(roles))


def test_metis_cuts_what_is_too_large_for_communities(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = unrolled(steps=20, layers=3)
    roles = find_roles(graph)
    monkeypatch.setattr("baselines.structure.modules.MOST", 3)
    monkeypatch.setattr("baselines.structure.modules.PARTS", (3, 6))
    modules = find_modules(graph, roles, alike(graph), seed=0)
    assert [len(np.unique(level)) for level in modules] == [3, 6]
    assert (modules == find_modules(graph, roles, alike(graph), seed=0)).all()
    for level in modules:
        assert all(len(np.unique(level[roles == role])) == 1 for role in np.unique(roles))
    # Three layers, three parts: hardly an edge between two parts.
    tensors, consumers = graph.edges
    apart = modules[0][graph.producer[tensors]] != modules[0][consumers]
    assert apart.mean() < 0.2


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=50))
def test_weights_are_shares_of_a_power_of_two(joined: list[float]) -> None:
    weights = exact_weights(np.array(joined))
    assert weights.sum() == TOTAL
    assert weights.min() >= 1
    shares = TOTAL * np.array(joined) / sum(joined)
    assert weights == pytest.approx(shares, abs=len(joined) + 2)


@given(st.data(), st.sampled_from(RESOLUTIONS))
def test_no_gain_of_the_method_is_rounded(data: st.DataObject, resolution: float) -> None:
    degree = data.draw(st.integers(1, TOTAL))
    to_old, to_new = (data.draw(st.integers(0, degree)) for _ in range(2))
    old, new = (data.draw(st.integers(0, 2 * TOTAL - degree)) for _ in range(2))

    def terms(total: int | Fraction, factor: float | Fraction) -> list[float | Fraction]:
        """By how much modularity grows as a role leaves one community and joins another.

        Blondel et al. 2008, equation 2, for a graph whose weights add up to ``total``.
        """
        leaves = -to_old / total + factor * (old * degree) / (2 * total**2)
        joins = leaves + to_new / total
        return [leaves, joins, joins - factor * (new * degree) / (2 * total**2)]

    exact = terms(Fraction(TOTAL), Fraction(resolution))
    assert [Fraction(term) for term in terms(TOTAL, resolution)] == exact


def test_hubs_are_what_all_steps_share() -> None:
    graph = unrolled(steps=20, layers=2)
    names = np.array(graph.op_names)[hubs(graph)]
    assert set(names) == {"weight/0", "weight/1", "sum/0", "sum/1", "loss"}
    assert not hubs(unrolled(steps=3, layers=2)).any()


def test_what_repeats_itself_is_no_hub() -> None:
    """Something is read by all 8 layers in each of 20 steps: more of them than readers of one."""
    steps, layers = 20, 8
    names = [f"weight/{layer}" for layer in range(layers)]
    names += [f"all/{step}" for step in range(steps)]
    names += [f"cell/{step}/{layer}" for step in range(steps) for layer in range(layers)]
    at = {name: number for number, name in enumerate(names)}
    reads = []
    for step in range(steps):
        for layer in range(layers):
            cell = at[f"cell/{step}/{layer}"]
            reads += [(at[f"weight/{layer}"], cell), (at[f"all/{step}"], cell)]
    types = [name.split("/")[0] for name in names]
    tensors = steps + layers
    graph = OpGraph.create("grid", names, types, range(tensors), reads, tensor_bytes=[4] * tensors)
    assert {n for n, hub in zip(names, hubs(graph), strict=True) if hub} == set(names[:layers])


def test_modules_keep_dear_tensors_inside() -> None:
    """What a layer hands to the next is cut where all cost alike, and not where it is dear."""
    graph = unrolled(steps=20, layers=2)
    roles, costs = find_roles(graph), alike(graph)
    tensors, consumers = graph.edges
    layer = np.array([int(name.split("/")[1]) if "/" in name else -1 for name in graph.op_names])
    ends = graph.producer[tensors], consumers
    between = (layer[ends[0]] == 0) & (layer[ends[1]] == 1)

    def cut(costs: Floats) -> Bools:
        coarse = find_modules(graph, roles, costs, seed=0)[0]
        return (coarse[ends[0]] != coarse[ends[1]])[between]

    assert cut(costs).mean() > 0.9
    costs[np.unique(tensors[between])] = 100.0
    assert cut(costs).mean() < 0.1


def test_members_are_ordered_along_the_axis_the_backward_pass_in_step() -> None:
    graph = unrolled(steps=20, layers=2)
    axis = find_axis(graph, find_roles(graph))
    for layer in range(2):
        steps = [axis.step[scopes(graph, kind, layer)] for kind in KINDS[1:]]
        assert all((np.diff(found) == 1).all() for found in steps)
        assert all((found == steps[0]).all() for found in steps)
        numbers = [axis.number[scopes(graph, kind, layer)] for kind in KINDS[1:]]
        assert len(np.unique(numbers)) == 1


def test_modules_are_the_cells_of_the_layers() -> None:
    graph = unrolled(steps=20, layers=3)
    modules = find_modules(graph, find_roles(graph), alike(graph), seed=0)
    layer = np.array([int(name.split("/")[1]) if "/" in name else -1 for name in graph.op_names])
    fine = modules[-1]
    for module in np.unique(fine):
        inside = layer[(fine == module) & (layer >= 0)]
        assert (inside == np.median(inside)).mean() > 0.9


def test_weight_gradients_come_after_the_last_products_and_serve_one_variable() -> None:
    graph = unrolled(steps=8, layers=2)
    last, serves = find_last(graph), find_updates(graph)
    for layer in range(2):
        gradients = scopes(graph, "d_weight", layer)
        assert last[gradients].all()
        variable = graph.colocation[graph.op_names.index(f"weight/{layer}")]
        assert (serves[gradients] == variable).all()
        assert serves[graph.op_names.index(f"sum/{layer}")] == variable
        for kind in ("matmul", "d_tanh"):
            assert not last[scopes(graph, kind, layer)].any()
    assert (serves[scopes(graph, "d_tanh", 1)] == -1).all()


@settings(max_examples=25)
@given(st.integers(2, 15), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_the_order_of_operations_changes_nothing(steps: int, layers: int, seed: int) -> None:
    plain = unrolled(steps, layers)
    shuffled = np.random.default_rng(seed).permutation(plain.n_ops)
    other = unrolled(steps, layers, shuffled.tolist())
    place = {name: at for at, name in enumerate(other.op_names)}
    order = np.array([place[name] for name in plain.op_names])
    roles, others = find_roles(plain), find_roles(other)
    assert same_partition(roles, others[order])
    found, again = find_axis(plain, roles), find_axis(other, others)
    assert (found.step == again.step[order]).all()
    assert same_partition(found.number, again.number[order])
    assert (find_last(plain) == find_last(other)[order]).all()
    assert same_partition(find_updates(plain), find_updates(other)[order])


@settings(max_examples=50)
@given(graphs())
def test_any_graph_has_a_structure(graph: OpGraph) -> None:
    roles = find_roles(graph)
    axis = find_axis(graph, roles)
    assert axis.step.shape == (graph.n_ops,)
    assert (axis.step >= 0).all()
    assert find_modules(graph, roles, alike(graph), seed=0).shape[1] == graph.n_ops
    kinds = np.array([hash(kind) for kind in graph.op_types])
    pairs = np.unique(np.stack([roles, kinds]), axis=1)
    assert pairs.shape[1] == len(np.unique(roles))


class Named(NamedTuple):
    """What the names of a task say, for the operations that have a telling name."""

    graph: OpGraph
    ops: Ints
    scope: NDArray[np.str_]
    """Without the number of the repetition."""
    number: Ints


REPEATED = {
    "rnnlm": r"(?<=step_)(\d+)",
    "nmt_4_small": r"(?<=step_)(\d+)",
    "resnet_152": r"(?<=conv4_block)(\d+)",
}


def named(task: str) -> Named:
    graph = load_graph(task)
    found = [re.search(REPEATED[task], name) for name in graph.op_names]
    ops = np.array([at for at, match in enumerate(found) if match])
    scope = [re.sub(REPEATED[task], "*", graph.op_names[at], count=1) for at in ops]
    number = [int(found[at][1]) for at in ops]
    return Named(graph, ops, np.array(scope), np.array(number))


def adjusted_rand(first: Ints, second: Ints) -> float:
    """Hubert and Arabie 1985: 1 for the same partition, 0 for one that is as good as random."""

    def pairs(labels: Ints) -> float:
        counts = np.unique(labels, return_counts=True, axis=-1)[1].astype(float)
        return float((counts * (counts - 1) / 2).sum())

    both, a, b = pairs(np.stack([first, second])), pairs(first), pairs(second)
    chance = a * b / (len(first) * (len(first) - 1) / 2)
    return (both - chance) / ((a + b) / 2 - chance)


@pytest.mark.parametrize(
    ("task", "rand", "pure", "rank"),
    [("rnnlm", 0.9, 0.92, 0.92), ("nmt_4_small", 0.83, 0.9, 0.8), ("resnet_152", 0.69, 0.68, 0.85)],
)
def test_roles_and_axis_agree_with_the_scopes_of_a_task(
    task: str, rand: float, pure: float, rank: float
) -> None:
    found = named(task)
    roles = find_roles(found.graph)
    step = find_axis(found.graph, roles).step[found.ops]
    scope, role = np.unique(found.scope, return_inverse=True)[1], roles[found.ops]
    assert adjusted_rand(scope, role) > rand
    # ResNet's blocks have three normalisations with like constants, which are one role here.
    most = [np.bincount(scope[role == one]).max() for one in np.unique(role)]
    assert sum(most) / len(scope) > pure
    counted = [np.flatnonzero(scope == one) for one in np.unique(scope)]
    counted = [ops for ops in counted if len(ops) >= 6 and len(np.unique(step[ops])) > 1]
    agree = [spearmanr(step[ops], found.number[ops])[0] for ops in counted]
    sizes = [len(ops) for ops in counted]
    assert sum(sizes) > 0.9 * len(scope)
    assert np.average(agree, weights=sizes) > rank


def test_is_found_in_seconds() -> None:
    graph = unrolled(steps=400, layers=40)
    assert graph.n_ops > 80_000
    small = unrolled(steps=2, layers=1)
    find_axis(small, find_roles(small))
    find_last(small), find_updates(small)  # all is compiled now
    begun = time.process_time()
    roles = find_roles(graph)
    find_axis(graph, roles)
    find_modules(graph, roles, alike(graph), seed=0)
    find_last(graph), find_updates(graph)
    assert time.process_time() - begun < 20
