"""FLOP of decompositions, solves and transforms, by hand."""

import pytest
import tensorflow as tf

from suite.capture.to_graph import capture

SQUARE, TALL, SIDE = (2, 6, 6), (2, 6, 3), (2, 6, 4)


def counted(work, *shapes, dtype=tf.float32):
    """FLOP of all operations of each type in ``work`` of tensors of these shapes."""
    step = tf.function(work, autograph=False)
    graph = capture(step, [tf.TensorSpec(shape, dtype) for shape in shapes], "work").graph
    flops = {}
    for kind, found in zip(graph.op_types, graph.flops.tolist(), strict=True):
        flops[kind] = flops.get(kind, 0) + found
    return flops


@pytest.mark.parametrize(
    ("kind", "work", "shapes", "flops"),
    [
        ("Cholesky", tf.linalg.cholesky, [SQUARE], 2 * 72),
        ("Lu", lambda a: tf.linalg.lu(a), [SQUARE], 2 * 144),
        ("MatrixInverse", tf.linalg.inv, [SQUARE], 2 * 432),
        ("MatrixSolve", tf.linalg.solve, [SQUARE, SIDE], 2 * (144 + 2 * 36 * 4)),
        ("MatrixTriangularSolve", tf.linalg.triangular_solve, [SQUARE, SIDE], 2 * 36 * 4),
        ("SelfAdjointEigV2", tf.linalg.eigh, [SQUARE], 2 * 9 * 216),
        ("SelfAdjointEigV2", tf.linalg.eigvalsh, [SQUARE], 2 * 288),
        # R and a Q of three columns take 2 x 9 x (6 - 1) each; one of six, 4 x (108 - 54 + 9).
        ("Qr", tf.linalg.qr, [TALL], 2 * (90 + 90)),
        ("Qr", lambda a: tf.linalg.qr(a, full_matrices=True), [TALL], 2 * (90 + 252)),
        ("Svd", tf.linalg.svd, [TALL], 2 * (14 * 54 + 8 * 27)),
        ("Svd", lambda a: tf.linalg.svd(a, compute_uv=False), [TALL], 2 * 4 * 9 * 5),
    ],
)
def test_decompositions_and_solves(kind, work, shapes, flops):
    assert counted(work, *shapes)[kind] == pytest.approx(flops)


@pytest.mark.parametrize(
    ("kind", "work", "dtype", "flops"),
    [
        # Three rows of 64 values, which double six times; in two dimensions, eight by eight.
        ("FFT", tf.signal.fft, tf.complex64, 3 * 5 * 64 * 6),
        ("RFFT", tf.signal.rfft, tf.float32, 3 * 2.5 * 64 * 6),
        ("IRFFT", tf.signal.irfft, tf.complex64, 3 * 2.5 * 126 * 6.9773),
        ("FFT2D", lambda x: tf.signal.fft2d(tf.reshape(x, (3, 8, 8))), tf.complex64, 5760),
    ],
)
def test_fourier_transforms(kind, work, dtype, flops):
    assert counted(work, (3, 64), dtype=dtype)[kind] == pytest.approx(flops, rel=1e-4)


def test_complex_matrices_take_four_times_as_much():
    assert counted(tf.linalg.cholesky, SQUARE, dtype=tf.complex64)["Cholesky"] == 4 * 2 * 72
