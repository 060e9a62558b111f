"""What inputs and variables of a real step are made of."""

import gzip

import numpy as np
import pytest
import tensorflow as tf

from suite.core.errors import InputError
from suite.execution.placed import read_graph_def
from suite.execution.values import index_bound, initial_value, input_value


def given(dtype, shape=(40, 30)):
    """Values of an input of that type, twice."""
    with tf.Graph().as_default():
        placeholder = tf.compat.v1.placeholder(dtype, shape, "x").op
        return input_value(placeholder, 0), input_value(placeholder, 0)


def first(dtype, shape):
    """A variable's first value."""
    with tf.Graph().as_default() as graph:
        variable = tf.raw_ops.VarHandleOp(dtype=dtype, shape=shape, shared_name="v", name="v").op
        value = initial_value(variable, 0)
        with tf.compat.v1.Session(graph=graph) as session:
            return session.run(value)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_inputs_are_between_0_and_1(dtype):
    values, again = given(dtype)
    assert values.dtype == tf.as_dtype(dtype).as_numpy_dtype
    np.testing.assert_array_equal(values, again)
    assert 0.4 < np.mean(values.real.astype(float)) < 0.6
    assert values.real.min() >= 0
    assert values.real.max() <= 1


def test_masks_let_everything_through():
    assert given("bool")[0].all()
    assert first("bool", [3, 4]).all()
    assert first("bool", []) == np.True_


@pytest.mark.parametrize(("dtype", "value"), [("float8_e4m3fn", 0.001953125), ("int64", 0)])
def test_scalars_are_small(dtype, value):
    assert first(dtype, []) == value


def test_text_is_refused():
    with pytest.raises(InputError, match="variable 'v' is of type string; only numbers and bool"):
        first("string", [2])
    with pytest.raises(InputError, match="'x:0' is of type string; only numbers and booleans"):
        given("string")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float8_e4m3fn", "complex64"])
def test_weights_average_their_inputs(dtype):
    values = first(dtype, [50, 40])
    assert values.dtype == tf.as_dtype(dtype).as_numpy_dtype
    plain = values.real.astype(float)
    assert 0.8 / 50 < plain.mean() < 1.2 / 50
    assert np.all(plain <= 2.001 / 50)


def test_indices_are_of_rows_that_are_there():
    with tf.Graph().as_default():
        of_seven, of_any = tf.zeros([7, 2]), tf.compat.v1.placeholder(tf.float32, [None, 2])
        unranked = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=tf.TensorShape(None))
        bounds = []
        for table in (of_seven, of_any):
            index = tf.compat.v1.placeholder(tf.int32, [5])
            tf.gather(table, tf.reshape(index, [5, 1]))
            bounds.append(index_bound(index))
        index = tf.compat.v1.placeholder(tf.int32, [5])
        tf.raw_ops.ResourceGather(resource=unranked, indices=index, dtype=tf.float32)
        assert [*bounds, index_bound(index)] == [7, 2, 2]


def test_a_damaged_graph_def_is_told(tmp_path):
    packed = bytearray(gzip.compress(bytes(range(256)) * 40, mtime=0))
    packed[12:20] = b"\xff" * 8
    path = tmp_path / "g.pb.gz"
    path.write_bytes(packed)
    with pytest.raises(InputError, match="not a readable GraphDef"):
        read_graph_def(path)
