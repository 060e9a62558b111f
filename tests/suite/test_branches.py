"""Branches: both sides are computed where they only compute, and stay out where they do more."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from suite.capture import from_keras
from suite.capture.from_function import capture_function
from suite.capture.options import Options
from suite.core.errors import InputError

ROWS = tf.TensorSpec([3])
SIDES = "both sides of branches, one of which is chosen: "
VALUES = [1.0, 2.0, 4.0]
WEIGHTS = tf.Variable(VALUES, name="weights")


@tf.function(input_signature=[ROWS], autograph=False)
def halved(x):
    return x / 2


@tf.function(input_signature=[ROWS], autograph=False)
def nested(x):
    inner = tf.cond(x[1] > 0, lambda: halved(x) + WEIGHTS, lambda: x * 3)
    return tf.cond(x[2] > 0, lambda: inner, lambda: -inner)


def two_results(x):
    total, largest = tf.cond(
        tf.reduce_sum(x) > 0,
        lambda: (x + WEIGHTS, tf.reduce_max(x)),
        lambda: (nested(x), tf.reduce_min(x)),
    )
    return total * 2, largest


def captured(step, *specs):
    function = tf.function(step, autograph=False).get_concrete_function(*specs)
    return function, capture_function(function, "step")


def run(program, x):
    """What the captured GraphDef gives for ``x``."""
    graph = tf.Graph()
    with graph.as_default(), tf.compat.v1.Session() as session:
        tf.import_graph_def(program.captured.graph_def, name="")
        ops = graph.get_operations()
        for handle in [op for op in ops if op.type == "VarHandleOp"]:
            tf.raw_ops.AssignVariableOp(resource=handle.outputs[0], value=VALUES, name="write")
            session.run(graph.get_operation_by_name("write"))
        results = [graph.get_tensor_by_name(f"{name}:0") for name in program.targets[:2]]
        (fed,) = [op.outputs[0] for op in ops if op.type == "Placeholder"]
        return session.run(results, {fed: x})


@pytest.mark.parametrize("x", [(1, 2, 3), (-9, 2, 3), (-9, 2, -3), (-1, -2, 1), (-1, -2, -3)])
def test_what_a_branch_gives_is_chosen(x):
    """Branches within branches and within functions, with variables that are read."""
    function, program = captured(two_results, ROWS)
    x = np.array(x, np.float32)
    for found, expected in zip(run(program, x), function(tf.constant(x)), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert not {"If", "StatelessIf", "PartitionedCall"} & set(program.graph.op_types)
    (said,) = program.graph.metadata["choices"]
    assert said.startswith(SIDES)
    assert said.count("cond") >= 3


def writes(x):
    return tf.cond(x[0] > 0, lambda: WEIGHTS.assign_add(x), lambda: x)


def draws(x):
    return tf.cond(x[0] > 0, lambda: tf.random.uniform([3]), lambda: x)


def varies(x):
    return tf.reduce_sum(tf.cond(x[0] > 0, lambda: x, lambda: x[:1]))


def learns(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cond(x[0] > 0, lambda: tf.exp(x), lambda: tf.tanh(x))
    return tape.gradient(y, x)


def divides(x):
    whole = tf.cast(x, tf.int32)
    return tf.cond(x[0] > 0, lambda: tf.cast(6 // whole, tf.float32), lambda: x)


def checks(x):
    return tf.cond(x[0] > 0, lambda: tf.debugging.check_numerics(1 / x, "of x"), lambda: x)


@pytest.mark.parametrize("step", [writes, draws, varies, learns, divides, checks])
def test_a_branch_that_does_more_than_compute_is_refused(step):
    with pytest.raises(InputError, match=r"\((Stateless)?If\) calls a function") as refusal:
        captured(step, ROWS)
    assert "\n" not in str(refusal.value)


def test_a_side_that_divides_by_a_constant_cannot_fail():
    def step(x):
        whole = tf.cast(x, tf.int32)
        return tf.cond(x[0] > 0, lambda: tf.cast(whole // 2, tf.float32), lambda: x), x

    function, program = captured(step, ROWS)
    for x in np.array([(5, 2, 3), (-5, 2, 3)], np.float32):
        np.testing.assert_array_equal(run(program, x)[0], function(tf.constant(x))[0])


def test_a_learning_rate_that_warms_up():
    """Three steps, on both sides of the end of the warm-up, beside Keras' own."""

    def model():
        keras.utils.set_random_seed(5)
        rate = keras.optimizers.schedules.CosineDecay(0.01, 6, warmup_target=0.1, warmup_steps=2)
        network = keras.Sequential([keras.Input((4,), batch_size=8), keras.layers.Dense(1)])
        network.compile(keras.optimizers.SGD(rate), "mse")
        return network

    data = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    x, y = data[:, :4], data[:, 4:]
    ours, theirs = model(), model()
    program = from_keras.capture_keras(ours, "net", Options())
    assert "CosineDecay/cond" in program.graph.metadata["choices"][-1]
    for _ in range(3):
        program.function(tf.constant(x), tf.constant(y))
        theirs.train_on_batch(x, y)
    for one, other in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
