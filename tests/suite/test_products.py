"""FLOP of what Grappler does not count, by hand, and batch normalisation as old graphs have it."""

import numpy as np
import pytest
import tensorflow as tf

from suite.capture.to_graph import capture, capture_graph_def


def counted(work, *shapes, gradients=False):
    """FLOP of all operations of each type in ``work`` of tensors of these shapes, or of a step."""

    @tf.function(autograph=False)
    def step(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            out = work(*tensors)
        return (out, *tape.gradient(out, tensors)) if gradients else out

    graph = capture(step, [tf.TensorSpec(shape) for shape in shapes], "work").graph
    flops = {}
    for kind, found in zip(graph.op_types, graph.flops.tolist(), strict=True):
        flops[kind] = flops.get(kind, 0) + found
    return flops


def test_three_dimensional_convolutions_and_their_gradients():
    found = counted(
        lambda x, w: tf.nn.conv3d(x, w, [1] * 5, "VALID"),
        (2, 5, 6, 7, 3),
        (3, 3, 3, 3, 4),
        gradients=True,
    )
    flops = 2 * (2 * 3 * 4 * 5 * 4) * (27 * 3)
    assert found["Conv3D"] == flops
    assert found["Conv3DBackpropInputV2"] == found["Conv3DBackpropFilterV2"] == flops


@pytest.mark.parametrize(
    ("options", "out"),
    [
        ({"padding": "VALID", "dilations": 8}, 16),
        ({"padding": "VALID", "dilations": 2}, 28),
        ({"padding": "SAME", "dilations": 2}, 32),
        ({"padding": [[0, 0], [2, 2], [2, 2], [0, 0]]}, 34),
        ({"padding": "VALID", "strides": 2}, 15),
    ],
)
def test_convolutions_dilated_or_padded(options, out):
    options = {"strides": 1, **options}
    found = counted(
        lambda x, w: tf.nn.conv2d(x, w, **options), (1, 32, 32, 8), (3, 3, 8, 24), gradients=True
    )
    flops = 2 * out * out * 24 * 9 * 8
    assert found["Conv2D"] == found["Conv2DBackpropFilter"] == flops
    assert found["Conv2DBackpropInput"] == flops


def test_depthwise_convolutions_have_kernels_of_one_channel():
    found = counted(
        lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID", dilations=[8, 8]),
        (1, 32, 32, 8),
        (3, 3, 8, 2),
    )
    # TensorFlow moves the pixels of each grid of the dilation together, and these are counted.
    assert sum(v for k, v in found.items() if "Depthwise" in k) == 2 * 16 * 16 * 16 * 9


@pytest.mark.parametrize(
    ("equation", "shapes", "flops"),
    [
        ("...x,xy->...y", [(2, 3, 5), (5, 7)], 2 * 2 * 3 * 7 * 5),
        ("abx,xy->aby", [(2, 3, 5), (5, 7)], 2 * 2 * 3 * 7 * 5),
        ("a...,a...->...", [(4, 2, 3), (4, 2, 3)], 2 * 6 * 4),
        ("i,j->ij", [(4,), (5,)], 2 * 20),
        ("ab->ba", [(4, 5)], 0),
        ("ab->a", [(4, 5)], 20),
    ],
)
def test_einsums(equation, shapes, flops):
    def work(*tensors):
        return tf.raw_ops.Einsum(inputs=list(tensors), equation=equation)

    assert counted(work, *shapes)["Einsum"] == flops


def test_optimizers_read_and_write_each_of_their_states():
    weights, sums, squares = (tf.Variable(tf.ones([40, 3])) for _ in range(3))

    @tf.function(autograph=False)
    def step(gradient, rate):
        tf.raw_ops.ResourceApplyFtrlV2(
            var=weights.handle,
            accum=sums.handle,
            linear=squares.handle,
            grad=gradient,
            lr=rate,
            l1=rate,
            l2=rate,
            l2_shrinkage=rate,
            lr_power=-rate,
        )
        rows = tf.constant([3, 7])
        tf.raw_ops.ResourceSparseApplyAdagrad(
            var=weights.handle, accum=sums.handle, lr=rate, grad=gradient[:2], indices=rows
        )

    graph = capture(step, [tf.TensorSpec((40, 3)), tf.TensorSpec(())], "step").graph
    touched = dict(zip(graph.op_types, graph.bytes_touched.tolist(), strict=True))
    assert touched["ResourceApplyFtrlV2"] == (3 * 2 + 1) * 4 * 120
    assert touched["ResourceSparseApplyAdagrad"] == (2 * 2 + 1) * 4 * 6


def test_rows_that_are_added_are_read_and_written():
    weights = tf.Variable(tf.ones([40, 3]))

    @tf.function(autograph=False)
    def step(gradient):
        weights.scatter_sub(tf.IndexedSlices(gradient, tf.constant([3, 7])))
        weights.scatter_update(tf.IndexedSlices(gradient, tf.constant([1, 2])))

    graph = capture(step, [tf.TensorSpec((2, 3))], "step").graph
    counted = zip(graph.bytes_touched.tolist(), graph.flops.tolist(), strict=True)
    found = dict(zip(graph.op_types, counted, strict=True))
    assert found["ResourceScatterSub"] == (3 * 4 * 6, 6)
    assert found["ResourceScatterUpdate"] == (2 * 4 * 6, 0)


@pytest.mark.parametrize("training", [True, False])
def test_batch_normalisation_reserves_nothing(training):
    """As in SavedModels and frozen graphs: what it reserves has no shape of its own."""
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [2, 4, 4, 3], "x")
        ones, zeros = tf.ones([3]), tf.zeros([3])
        given = (zeros, ones) if not training else (None, None)
        y, *_ = tf.compat.v1.nn.fused_batch_norm(x, ones, zeros, *given, is_training=training)
        out = tf.gradients(tf.reduce_sum(y * y), x)[0] if training else y
        tf.identity(out, "out")
    assert any(op.type == "FusedBatchNormV3" for op in graph.get_operations())
    captured = capture_graph_def(graph.as_graph_def(), ["out"], "normalised")
    names = list(captured.graph.op_names)
    at = list(captured.graph.op_types).index("FusedBatchNormV3")
    made = np.flatnonzero(np.asarray(captured.graph.producer) == at)
    assert captured.graph.tensor_bytes[made[0]] == 4 * 2 * 4 * 4 * 3
    assert captured.graph.tensor_bytes[made[5]] == 0
    assert "nothing reserved" in captured.graph.metadata["choices"][0]
    assert sorted(names) == sorted(node.name for node in captured.graph_def.node)
