"""What a graph guarantees, and how it refuses what it cannot."""

from dataclasses import replace

import networkx
import numpy as np
import pytest

from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.formats.graph_networkx import from_networkx, to_networkx


def diamond(**changes):
    """a -> b, c -> d; a's tensor feeds both, d is also held back by a control edge from b."""
    arguments = {
        "name": "diamond",
        "op_names": ["a", "b", "c", "d"],
        "op_types": ["Const", "Relu", "Relu", "Add"],
        "producer": [0, 1, 2, 1],
        "consumers": [(0, 1), (0, 2), (1, 3), (2, 3), (3, 3)],
        "tensor_bytes": [100, 200, 300, 0],
    }
    return OpGraph.create(**(arguments | changes))


def test_tensors_know_their_producer_and_consumers():
    graph = diamond()
    offsets, tensors = graph.inputs
    assert tensors[offsets[3] : offsets[4]].tolist() == [1, 2, 3]
    offsets, tensors = graph.outputs
    assert tensors[offsets[1] : offsets[2]].tolist() == [1, 3]
    assert list(zip(*graph.edges, strict=True)) == [(0, 1), (0, 2), (1, 3), (2, 3), (3, 3)]


def test_a_class_reads_a_tensor_of_another_once_and_none_of_its_own():
    # b, c and d together read a's tensor twice; c's and b's stay among them.
    graph = diamond(colocation=[None, "rest", "rest", "rest"])
    assert [part.tolist() for part in graph.class_reads] == [[0], [1]]
    apart = diamond(colocation=["ends", None, None, "ends"])
    readers = [(0, 1), (0, 2), (1, 0), (2, 0), (3, 0)]
    assert list(zip(*(part.tolist() for part in apart.class_reads), strict=True)) == readers
    together = diamond(colocation=["all"] * 4)
    assert [part.tolist() for part in together.class_reads] == [[], []]


def test_a_topological_file_order_is_kept():
    graph = OpGraph.create("g", ["x", "y", "z"], ["A", "B", "C"], [1], [(0, 2)])
    assert graph.op_names == ("x", "y", "z")


def test_otherwise_the_smallest_index_goes_first():
    graph = OpGraph.create("g", ["x", "y", "z"], ["A", "B", "C"], [2], [(0, 0)], flops=[1, 2, 3])
    assert graph.op_names == ("y", "z", "x")
    assert graph.flops.tolist() == [2, 3, 1]
    assert graph.producer.tolist() == [1]
    assert graph.consumers.tolist() == [2]


def test_labels_become_dense_classes():
    graph = diamond(colocation=["v", None, "v", None])
    assert graph.colocation.tolist() == [0, 1, 0, 2]
    assert graph.n_classes == 3
    offsets, ops = graph.classes
    assert ops[offsets[0] : offsets[1]].tolist() == [0, 2]


def test_reading_a_tensor_twice_is_one_consumer():
    graph = OpGraph.create("g", ["a", "b"], ["A", "Mul"], [0], [(0, 1), (0, 1)])
    assert graph.consumers.tolist() == [1]


def test_nothing_can_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        diamond().flops[0] = 1


def test_the_fingerprint_follows_the_content():
    assert diamond().fingerprint == diamond().fingerprint
    assert diamond().fingerprint != diamond(tensor_bytes=[100, 200, 301, 0]).fingerprint
    assert diamond().fingerprint != diamond(seconds={"gpu": [1, 1, 1, np.nan]}).fingerprint


def test_networkx_and_back():
    graph = diamond(
        colocation=["v", None, "v", None], flops=[1, 2, 3, 4], persistent_bytes=[9, 0, 0, 0]
    )
    assert from_networkx(to_networkx(graph)).fingerprint == graph.fingerprint


def test_a_networkx_graph_may_have_numpys_numbers_and_tensors_named_in_any_way():
    made = networkx.MultiDiGraph()
    made.add_node("a", flops=np.float32(2), gpu_kernel=np.bool_(False), colocation=7)
    for reader, label in (("b", "t"), ("c", "t"), ("b", 2)):
        made.add_edge("a", reader, bytes=np.int64(5), tensor=label)
    made.add_edge("a", "b", bytes=5.0)
    graph = from_networkx(made)
    assert graph.flops.tolist() == [2, 0, 0]
    assert graph.gpu_kernel.tolist() == [False, True, True]
    assert graph.tensor_bytes.tolist() == [5, 5, 5]
    assert sorted(np.diff(graph.consumer_offsets).tolist()) == [1, 1, 2]


def test_tensors_of_two_operations_may_have_one_name():
    edges = [("a", "b", {"tensor": "out", "bytes": 1}), ("b", "c", {"tensor": "out", "bytes": 2})]
    graph = from_networkx(networkx.DiGraph(edges))
    assert [graph.op_names[i] for i in graph.producer] == ["a", "b"]
    assert graph.tensor_bytes.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (networkx.Graph([("a", "b")]), "the graph is undirected; give a networkx.DiGraph"),
        ([("a", "b", {"bytes": 2.5})], "edge 'a' -> 'b': bytes is 2.5; give a whole number"),
        ([("a", "b", {"bytes": "big"})], "edge 'a' -> 'b': bytes is 'big'; give a whole number"),
        ([("a", "b", {"tensor": [1]})], r"edge 'a' -> 'b': tensor is \[1\]; give"),
        (
            [("a", "b", {"tensor": 1, "bytes": 5}), ("a", "c", {"tensor": 1, "bytes": 7})],
            "tensor 1 of node 'a' has 5 bytes on one edge, 7 on 'a' -> 'c'",
        ),
        ({"flops": "x"}, "node 'a': flops is 'x'; give a number"),
        ({"gpu_kernel": "no"}, "node 'a': gpu_kernel is 'no'; give true or false"),
        ({"type": None}, "node 'a': type is None; give text"),
    ],
)
def test_what_networkx_has_that_a_graph_cannot_is_refused_by_name(made, message):
    if isinstance(made, dict):
        attributes, made = made, networkx.DiGraph()
        made.add_node("a", **attributes)
    with pytest.raises(InputError, match=message):
        from_networkx(networkx.DiGraph(made) if isinstance(made, list) else made)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"consumers": [(0, 1), (1, 0)]}, "cycle: .*a.*b"),
        ({"consumers": [(0, 0)]}, "cycle: a -> a"),
        ({"consumers": [(0, 4)]}, "consumer 4"),
        ({"consumers": [(9, 1)]}, "tensor 9"),
        ({"producer": [0, 1, 2, 7]}, "producer 7"),
        ({"tensor_bytes": [100, -1, 300, 0]}, "'b' has -1 bytes"),
        ({"flops": [0, 0, -5, 0]}, "'c' has flops -5"),
        ({"bytes_touched": [0, 0, float("nan"), 0]}, "'c' has bytes_touched nan"),
        ({"persistent_bytes": [0, 0, 0, -2]}, "'d' has persistent_bytes -2"),
        ({"seconds": {"gpu": [0, -1, 0, 0]}}, "'b' takes -1.0 seconds on gpu"),
        (
            {"seconds": {"gpu": [0, 0, np.inf, 0]}},
            "'c' takes inf seconds on gpu; give a finite",
        ),
        ({"op_names": ["a", "b", "a", "d"]}, "two operations are named 'a'"),
        ({"alias_of": [-1, 2, -1, -1]}, "'b' shares the buffer of tensor 2"),
        ({"alias_of": [-1, 0, -1, 99]}, "tensor 99"),
        ({"persistent_bytes": [2**52, 2**52, 1, 0]}, "holds 9.01e.15 bytes in all; check units"),
        ({"tensor_bytes": [2**62, 2**62, 0, 0]}, "holds 9.22e.18 bytes in all; check units"),
        ({"op_names": ["a", "b\nc", "c", "d"]}, r"an operation is 'b\\nc'; give one line of text"),
        ({"op_names": ["a", "", "c", "d"]}, "the name of an operation is ''; give one line"),
        ({"op_names": ["a", "\ud800", "c", "d"]}, "the name of an operation is no text"),
        ({"op_types": ["A", "\ud800", "C", "D"]}, "the type of an operation is no text"),
        (
            {"op_types": ["A", "B\nC", "C", "D"]},
            "the type of an operation is 'B.nC'; give one line",
        ),
        ({"seconds": {"\ud800": [1, 1, 1, 1]}}, "there are seconds on '.ud800'; give a kind of"),
        ({"seconds": {"a\0b": [1, 1, 1, 1]}}, "there are seconds on 'a.x00b'; give a kind of"),
    ],
)
def test_a_bad_graph_is_refused_by_name(changes, message):
    with pytest.raises(InputError, match=message):
        diamond(**changes)


def test_classes_are_numbered_without_a_gap():
    graph = diamond()
    for classes in ([0, 2, 3, 4], [-1, 0, 1, 2]):
        with pytest.raises(InputError, match=r"classes are not numbered 0, 1, \.\.\. without gap"):
            replace(graph, colocation=np.array(classes, np.int32))


def test_consumers_that_do_not_ascend_are_refused():
    """The compiled simulator looks them up by halving."""
    graph = diamond()
    (tensor,) = [t for t in range(graph.n_tensors) if np.diff(graph.consumer_offsets)[t] == 2]
    turned = graph.consumers.copy()
    at = graph.consumer_offsets[tensor]
    turned[[at, at + 1]] = turned[[at + 1, at]]
    with pytest.raises(InputError, match=f"consumers of tensor {tensor} are not in ascending"):
        replace(graph, consumers=turned)


def test_arrays_of_another_rank_are_refused():
    graph = OpGraph.create("g", ["a"], ["A"], [], [])
    with pytest.raises(InputError, match=r"g: flops has shape \(1, 1\); give 1 dimension"):
        replace(graph, flops=np.zeros((1, 1)))
