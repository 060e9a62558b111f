"""ColocRL's co-location heuristics on graphs drawn by hand, and what holds on any graph."""

import random
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs

from suite.core.colocation import colocation_groups, forward_name
from suite.core.graph import OpGraph

EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40)


def graph_of(edges, n_bytes=4, **rest):
    """A graph of the named edges, one tensor of ``n_bytes`` each."""
    names = list(dict.fromkeys(name for edge in edges for name in edge))
    index = {name: i for i, name in enumerate(names)}
    return OpGraph.create(
        "drawn",
        names,
        ["Op"] * len(names),
        [index[source] for source, _ in edges],
        [(i, index[reader]) for i, (_, reader) in enumerate(edges)],
        tensor_bytes=n_bytes,
        **rest,
    )


def groups_of(edges, rule=None, **rest):
    """Names of each group, groups in their order, names in the graph's."""
    graph = graph_of(edges, **rest)
    groups = colocation_groups(graph, rule)
    members = [[] for _ in range(groups.max() + 1)]
    for name, group in zip(graph.op_names, groups, strict=True):
        members[group].append(name)
    return [" ".join(names) for names in members]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([("a", "b"), ("b", "c")], ["a b c"]),
        ([("a", "b"), ("a", "c")], ["a", "b", "c"]),
        ([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], ["a b c d"]),
        ([("a", "b"), ("a", "b")], ["a b"]),
        ([("a", "b"), ("a", "c"), ("b", "d"), ("b", "e")], ["a", "b", "c", "d", "e"]),
    ],
    ids=["chain", "fork", "diamond, in two rounds", "two tensors, one reader", "tree"],
)
def test_what_has_one_reader_goes_with_it(edges, expected):
    assert groups_of(edges) == expected


def test_merging_goes_on_until_nothing_changes():
    """Each operation is read by the next two, so that only the last but one has one reader."""
    names = [f"op{i}" for i in range(30)]
    edges = [*pairwise(names), *zip(names, names[2:], strict=False)]
    assert len(groups_of(edges)) == 1


def test_a_control_edge_reads_nothing():
    assert groups_of([("a", "b")], n_bytes=0) == ["a", "b"]
    assert groups_of([("a", "b"), ("a", "c")], n_bytes=[4, 0]) == ["a b", "c"]


def test_a_class_is_read_as_one():
    """``a`` alone has one reader; with ``b``, which ``d`` reads, it has two."""
    edges = [("a", "c"), ("b", "d")]
    assert groups_of(edges) == ["a c", "b d"]
    assert groups_of(edges, colocation=["k", None, "k", None]) == ["a b", "c", "d"]


@pytest.mark.parametrize(
    "gradient",
    [
        "gradients/net/x_grad/Mul",
        "gradient_tape/net/x/Mul",
        "ConstantFolding/gradients/net/x_grad/Mul",
    ],
)
def test_a_gradient_goes_with_what_it_differentiates(gradient):
    edges = [("net/x", "p"), ("net/x", "q"), (gradient, "r"), (gradient, "s")]
    assert groups_of(edges)[0] == f"net/x {gradient}"
    assert groups_of([*edges[:2], ("gradients/other", "r"), ("gradients/other", "s")])[0] == "net/x"


def test_the_models_rule_groups_forward_and_backward():
    edges = [
        *[("cell/1/x", "p"), ("cell/1/x", "q"), ("cell/1/y", "p"), ("cell/1/y", "q")],
        *[("gradients/cell/1/y_grad/Mul", "r"), ("gradients/cell/1/y_grad/Mul", "s")],
    ]

    def rule(name):
        return name[:6] if name.startswith("cell/") else None

    assert groups_of(edges, rule)[0] == "cell/1/x cell/1/y gradients/cell/1/y_grad/Mul"
    assert len(groups_of(edges)) == len(groups_of(edges, rule)) + 1


def test_the_forward_name_of_any_operation():
    assert forward_name("ConstantFolding/gradient_tape/a/b") == "a/b"
    assert forward_name("gradients/a_grad/b") == "a_grad/b"
    assert forward_name("a/gradients/b") == "a/gradients/b"


@given(graphs(max_ops=20), st.integers(1, 4))
def test_groups_are_unions_of_classes_numbered_by_their_first_operation(graph, blocks):
    def rule(name):
        return str(sum(map(ord, name)) % blocks)

    for groups in (colocation_groups(graph), colocation_groups(graph, rule)):
        assert groups.dtype == np.int64
        assert groups.shape == (graph.n_ops,)
        assert len(set(zip(graph.colocation, groups, strict=True))) == graph.n_classes
        _, first = np.unique(groups, return_index=True)
        assert (np.diff(first) > 0).all()
        assert len(first) == groups.max() + 1
    assert colocation_groups(graph, rule).max() < blocks


def merged_one_by_one(edges, nodes, order):
    """The rule as the paper words it: find a group with one reader, merge, look again."""
    groups = {i: frozenset([i]) for i in range(nodes)}
    while True:
        readers = {}
        for source, reader in edges:
            if groups[source] != groups[reader]:
                readers.setdefault(groups[source], set()).add(groups[reader])
        single = sorted((g for g, r in readers.items() if len(r) == 1), key=sorted)
        if not single:
            return set(groups.values())
        group = order.choice(single)
        union = group | next(iter(readers[group]))
        groups |= dict.fromkeys(union, union)


@given(EDGES, st.randoms(use_true_random=False))
def test_any_order_of_merging_ends_in_these_groups(drawn, order):
    edges = sorted({(min(e), max(e)) for e in drawn if e[0] != e[1]})
    names = [f"{i:02}" for i in range(12)]
    graph = OpGraph.create(
        "drawn",
        names,
        ["Op"] * 12,
        [source for source, _ in edges],
        [(i, reader) for i, (_, reader) in enumerate(edges)],
        tensor_bytes=4,
    )
    groups = colocation_groups(graph)
    found = {frozenset(np.flatnonzero(groups == g).tolist()) for g in range(groups.max() + 1)}
    assert found == merged_one_by_one(edges, 12, order)


def test_thirty_thousand_operations_take_no_time():
    """Half a second here; a pass over the graph for each merge would take minutes."""
    rng = random.Random(0)
    names = [f"op{i}" for i in range(30_000)]
    edges = list(pairwise(names))
    edges += [(names[i], names[min(i + rng.randint(2, 50), 29_999)]) for i in range(29_990)]
    graph = graph_of(edges)
    start = time.process_time()
    assert colocation_groups(graph).max() == 0
    assert time.process_time() - start < 5
