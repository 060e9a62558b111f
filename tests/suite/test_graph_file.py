"""Graphs of other versions of TensorFlow: packed, with kernels and unknown shapes of their own."""

import gzip
import lzma

import numpy as np
import pytest
import tensorflow as tf

from suite.capture.graph_def import capture_exported
from suite.capture.packed import unpacked
from suite.core.errors import InputError
from suite.core.model import GraphFile

ROWS, WIDTH, WORDS = 5, 3, 7
KERNELS = """
kernel { op: "Gather" device_type: "GPU" }
kernel { op: "Identity" device_type: "GPU" host_memory_arg: "output" }
"""


def sparse_update():
    """Rows looked up and summed up by word, as sparse gradients are; a product with 1 beside it."""
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        table = v1.get_variable("table", [WORDS, WIDTH], use_resource=False)
        words = v1.placeholder(tf.int32, [ROWS], name="words")
        rows = tf.raw_ops.Gather(params=table, indices=words, name="rows")
        distinct, index = tf.raw_ops.Unique(x=words, name="distinct")
        count = tf.shape(distinct)[0]
        summed = tf.raw_ops.UnsortedSegmentSum(
            data=rows, segment_ids=index, num_segments=count, name="summed"
        )
        scaled = tf.multiply(summed, 1.0, name="scaled")
        update = v1.scatter_sub(table, distinct, scaled, name="update")
        v1.get_variable("aside", [4], use_resource=False)
        tf.group(update, name="train")
    return graph.as_graph_def()


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    (folder / "kernels.pbtxt").write_text(KERNELS)
    packed = folder / "step.pb.xz"
    packed.write_bytes(lzma.compress(sparse_update().SerializeToString()))
    file = GraphFile(packed, ("train",), folder / "kernels.pbtxt")
    return capture_exported(file, "step", {"choices": ["one"]})


def size(graph, name, output=0):
    (found,) = np.flatnonzero(graph.producer == graph.op_names.index(name))[output : output + 1]
    return graph.tensor_bytes[found]


def test_shapes_that_depend_on_data_are_upper_bounds(captured):
    graph = captured.graph
    assert size(graph, "distinct") == 4 * ROWS
    assert size(graph, "distinct", 1) == 4 * ROWS
    assert size(graph, "summed") == 4 * ROWS * WIDTH
    said = "as many distinct values as there are values: distinct"
    assert graph.metadata["choices"] == ["one", said]


def test_what_runs_is_not_what_was_sized(captured):
    ops = {node.name: node.op for node in captured.graph_def.node}
    assert ops["distinct"] == "Unique"
    assert list(ops) == list(dict.fromkeys(ops))
    assert set(captured.graph.op_names) == set(ops)
    assert not any("upper_bound" in name for name in ops)


def test_only_the_files_kernels_count(captured):
    graph = captured.graph
    on_gpu = {t for t, k in zip(graph.op_types, graph.gpu_kernel, strict=True) if k}
    assert on_gpu <= {"Gather", "Identity"}
    assert graph.gpu_kernel[graph.op_names.index("rows")]
    assert not graph.gpu_kernel[graph.op_names.index("distinct")]


def test_operations_that_the_older_version_does_not_know_are_not_there(captured):
    assert "Snapshot" not in captured.graph.op_types


def test_a_step_is_what_is_fetched_and_its_variables(captured):
    graph = captured.graph
    assert "aside" not in graph.op_names
    assert graph.metadata["ops_unpruned"] > graph.n_ops
    assert graph.persistent_bytes.sum() == 4 * WORDS * WIDTH
    update, table = (graph.op_names.index(name) for name in ("update", "table"))
    assert graph.colocation[update] == graph.colocation[table]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_files_are_unpacked(tmp_path, pack):
    path = tmp_path / "file"
    path.write_bytes(pack(b"content"))
    assert unpacked(path) == b"content"


def test_a_cut_file_is_told(tmp_path):
    path = tmp_path / "file.xz"
    path.write_bytes(lzma.compress(b"content")[:-9])
    with pytest.raises(InputError, match="cannot be unpacked"):
        unpacked(path)
