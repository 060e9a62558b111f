"""Real TensorFlow steps captured: facts worked out by hand, and a GraphDef that trains the same."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from models._keras import training_step
from suite.capture import op_costs
from suite.capture.flatten import lift
from suite.capture.tensorflow_internals import OP_DEFINITION
from suite.capture.to_graph import capture, capture_graph_def
from suite.core.errors import InputError

BATCH, INPUTS, UNITS = 5, 3, 4
FLOAT = 4


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def dense_step():
    """Relu(x w + b) against y: mean squared error, stochastic gradient descent."""
    rng = np.random.default_rng(1)
    w = tf.Variable(rng.random((INPUTS, UNITS), np.float32), name="w")
    b = tf.Variable(rng.random(UNITS, np.float32), name="b")

    @tf.function(autograph=False)
    def step(x, y):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b))
            loss = tf.reduce_mean(tf.square(tf.reshape(hidden, [-1]) - y))
        for variable, gradient in zip((w, b), tape.gradient(loss, [w, b]), strict=True):
            variable.assign_sub(0.1 * gradient)
        return loss

    return step, [spec(BATCH, INPUTS), spec(BATCH * UNITS)]


def dense_batch(rng):
    return rng.random((BATCH, INPUTS), np.float32), rng.random(BATCH * UNITS, np.float32)


def keras_step():
    """Convolution 3 x 3 of 8 x 8 pixels to 4 channels, batch normalisation, 5 classes."""
    keras.utils.set_random_seed(1)
    network = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            keras.layers.Conv2D(4, 3, use_bias=False),
            keras.layers.BatchNormalization(),
            keras.layers.ReLU(),
            keras.layers.Flatten(),
            keras.layers.Dense(5, activation="softmax"),
        ]
    )
    return training_step(network, keras.optimizers.SGD(0.1, momentum=0.9), 2, 8)


def keras_batch(rng):
    return rng.random((2, 8, 8, 3), np.float32), rng.integers(0, 5, 2, np.int32)


@pytest.fixture(scope="module")
def dense():
    return capture(*dense_step(), "dense", {"source": "test"}).graph


@pytest.fixture(scope="module")
def convolution():
    return capture(*keras_step(), "convolution").graph


def of_type(graph, *op_types):
    return [n for n, t in zip(graph.op_names, graph.op_types, strict=True) if t in op_types]


def value(graph, column, name):
    return getattr(graph, column)[graph.op_names.index(name)]


def outputs(graph, name):
    """Tensors of an operation; its control edges, if any, come last."""
    offsets, tensors = graph.outputs
    i = graph.op_names.index(name)
    return tensors[offsets[i] : offsets[i + 1]].tolist()


def shares(graph, name):
    """The operation whose buffer an operation's first output shares, or None."""
    tensor = graph.alias_of[outputs(graph, name)[0]]
    return None if tensor < 0 else graph.op_names[graph.producer[tensor]]


def classmates(graph, name):
    same = graph.colocation == value(graph, "colocation", name)
    return {graph.op_names[i] for i in np.flatnonzero(same)}


def test_matrix_products_by_hand(dense):
    for name in ("MatMul", "gradient_tape/MatMul/MatMul"):
        assert value(dense, "flops", name) == 2 * BATCH * INPUTS * UNITS
        elements = BATCH * INPUTS + INPUTS * UNITS + BATCH * UNITS
        assert value(dense, "bytes_touched", name) == FLOAT * elements


def test_convolutions_by_hand(convolution):
    """Every output pixel takes a 3 x 3 x 3 product for each channel."""
    flops = 2 * (2 * 6 * 6 * 4) * (3 * 3 * 3)
    for name in of_type(convolution, "Conv2D", "Conv2DBackpropFilter"):
        assert value(convolution, "flops", name) == flops
    (name,) = of_type(convolution, "Conv2D")
    elements = 2 * 8 * 8 * 3 + 3 * 3 * 3 * 4 + 2 * 6 * 6 * 4
    assert value(convolution, "bytes_touched", name) == FLOAT * elements


def test_updates_by_hand(dense):
    """``w -= update``: one subtraction an element; w is read and written, the update read."""
    for name in of_type(dense, "AssignSubVariableOp"):
        members = classmates(dense, name)
        elements = INPUTS * UNITS if "w" in members else UNITS
        assert value(dense, "flops", name) == elements
        assert value(dense, "bytes_touched", name) == 3 * FLOAT * elements


def test_tensors_have_their_shapes_and_bytes(dense):
    shapes = {"x": [BATCH, INPUTS], "MatMul": [BATCH, UNITS], "Relu": [BATCH, UNITS]}
    shapes |= {"gradient_tape/MatMul/MatMul": [INPUTS, UNITS], "Reshape": [BATCH * UNITS]}
    shapes |= {"Mean": []}
    for name, shape in shapes.items():
        tensor = outputs(dense, name)[0]
        assert dense.tensor_bytes[tensor] == FLOAT * np.prod(shape, dtype=int)
        assert [k for k in dense.shapes[tensor].tolist() if k >= 0] == shape


def test_reads_and_reshapes_share_buffers(dense):
    assert shares(dense, "MatMul/ReadVariableOp") == "w"
    assert shares(dense, "BiasAdd/ReadVariableOp") == "b"
    assert shares(dense, "Reshape") == "Relu"
    assert shares(dense, "gradient_tape/Reshape_1") == "gradient_tape/Mul_1"
    assert shares(dense, "Identity") == "Mean"
    for name in ("w", "x", "MatMul", "Relu", "Mean"):
        assert shares(dense, name) is None


def test_variables_are_resident_with_their_readers_and_updates(dense):
    persistent = dict(zip(dense.op_names, dense.persistent_bytes.tolist(), strict=True))
    held = {name: size for name, size in persistent.items() if size}
    assert held == {"w": FLOAT * INPUTS * UNITS, "b": FLOAT * UNITS}
    update = {"w": "AssignSubVariableOp", "b": "AssignSubVariableOp_1"}
    assert classmates(dense, "w") == {"w", "MatMul/ReadVariableOp", update["w"]}
    assert classmates(dense, "b") == {"b", "BiasAdd/ReadVariableOp", update["b"]}
    assert classmates(dense, "MatMul") == {"MatMul"}


def test_handles_weigh_nothing(dense):
    for name in of_type(dense, "VarHandleOp"):
        assert dense.tensor_bytes[outputs(dense, name)].sum() == 0


def test_control_edges_are_tensors_of_no_bytes(dense):
    """The update of w waits until w has been read for the forward pass."""
    read, update = (
        dense.op_names.index(n) for n in ("MatMul/ReadVariableOp", "AssignSubVariableOp")
    )
    tensors, consumers = dense.edges
    between = tensors[(consumers == update) & (dense.producer[tensors] == read)]
    assert dense.tensor_bytes[between].tolist() == [0]


def test_the_metadata_counts(dense):
    assert dense.metadata["parameters"] == INPUTS * UNITS + UNITS
    assert dense.metadata["ops_unpruned"] > dense.n_ops
    assert dense.metadata["tensorflow"] == tf.__version__
    assert dense.metadata["source"] == "test"


def test_keras_state_is_resident(convolution):
    """Weights and momenta, moving averages, the learning rate and an int64 step counter."""
    weights = 3 * 3 * 3 * 4 + 4 + 4 + (6 * 6 * 4) * 5 + 5
    assert convolution.persistent_bytes.sum() == FLOAT * (2 * weights + 2 * 4 + 1) + 8
    assert convolution.metadata["parameters"] == weights


def test_what_the_registry_says_of_gpu_kernels(dense):
    assert dense.gpu_kernel.all()

    @tf.function(autograph=False)
    def step(x, k):
        text = tf.strings.as_string(x)
        return tf.strings.to_number(text) + 1.0, tf.matmul(x, x), tf.matmul(k, k)

    graph = capture(step, [spec(3, 3), spec(3, 3, dtype=tf.int32)], "kernels").graph
    lacking = [n for n, k in zip(graph.op_names, graph.gpu_kernel, strict=True) if not k]
    assert sorted(lacking) == ["AsString", "MatMul_1", "StringToNumber"]


def test_shapes_stay_in_host_memory(dense):
    """A GPU's Reshape takes its shape from the host."""
    assert dense.host_memory[outputs(dense, "Reshape/shape")[0]]
    assert not dense.host_memory[outputs(dense, "MatMul")[0]]


def test_a_step_is_captured_the_same_twice():
    first, second = (capture(*dense_step(), "dense").graph for _ in range(2))
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize(("step", "batch"), [(dense_step, dense_batch), (keras_step, keras_batch)])
def test_the_captured_graph_trains_like_the_eager_function(step, batch):
    function, specs = step()
    concrete = function.get_concrete_function(*specs)
    start = {v.name.split(":")[0]: v.numpy() for v in concrete.graph.variables}
    graph_def, wanted = lift(concrete)
    captured = capture_graph_def(graph_def, wanted, "step")
    rng = np.random.default_rng(2)
    batches = [batch(rng) for _ in range(3)]
    losses = run_in_session(captured.graph_def, wanted, start, batches)
    expected = [float(function(*map(tf.constant, arrays))) for arrays in batches]
    assert len(set(expected)) == 3
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


def run_in_session(graph_def, wanted, start, batches):
    """Losses of a lifted graph, with its variables set by name."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        loss, *effects = (graph.get_operation_by_name(name) for name in wanted)
        assign = [
            tf.raw_ops.AssignVariableOp(resource=graph.get_tensor_by_name(f"{name}:0"), value=v)
            for name, v in start.items()
        ]
        with tf.compat.v1.Session() as session:
            session.run(assign)
            feeds = ({"x:0": x, "y:0": y} for x, y in batches)
            return [session.run([loss.outputs[0], effects], feed)[0] for feed in feeds]


def refused(function, *specs):
    with pytest.raises(InputError) as error:
        capture(tf.function(function, autograph=False), specs, "refused")
    return str(error.value)


def test_an_unknown_batch_size_is_refused():
    message = refused(lambda x: x * 2.0, spec(None, 3))
    assert "'x:0' has the unknown shape (None, 3)" in message
    assert "batch size included" in message


def test_a_shape_that_depends_on_data_is_not_blamed_on_the_arguments():
    message = refused(lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 0)), spec(3))
    assert "which depends on data; compute it by operations" in message
    assert "arguments" not in message


def test_calls_loops_and_branches_are_refused():
    """Their operations would hide behind one."""
    double = tf.function(lambda x: x * 2.0, autograph=False)
    assert "(PartitionedCall) calls a function" in refused(lambda x: double(x) + 1.0, spec(3))

    def loop(x):
        return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 2.0), (0, x))[1]

    assert "'while' (StatelessWhile) calls a function" in refused(loop, spec(3))
    branch = refused(lambda x: tf.cond(x[0] > 0, lambda: x, lambda: x * 2.0), spec(3))
    assert "'cond' (StatelessIf) calls a function" in branch


def test_a_resource_that_is_no_variable_is_refused():
    pairs = tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4])
    table = tf.lookup.StaticHashTable(pairs, -1)
    assert "no variable" in refused(table.lookup, spec(3, dtype=tf.int32))


def test_costs_of_updates_and_lookups_by_hand():
    with tf.Graph().as_default():
        table, sums = (
            tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[4, 3], shared_name=name)
            for name in ("table", "sums")
        )
        rate, gradient = tf.constant(0.1), tf.zeros([4, 3])
        update = tf.raw_ops.ResourceApplyMomentum(
            var=table, accum=sums, lr=rate, grad=gradient, momentum=rate
        )
        rows = tf.raw_ops.ResourceGather(resource=table, indices=[0, 1], dtype=tf.float32)
    # Momentum reads table, sums and gradient and writes the first two; 4 FLOP an element.
    assert op_costs._corrected(update, 0, 0) == (4 * 12, 5 * 4 * 12)
    assert op_costs._corrected(rows.op, 0, 0) == (0, 2 * 4 * 6)


def test_updates_read_and_write_each_state_and_read_the_gradient():
    """TensorFlow says of which states an update is given a handle or a reference."""
    for kind, (traffic, _) in op_costs._STATE_TRAFFIC.items():
        if "Apply" in kind:
            given = OP_DEFINITION.load()(kind).input_arg
            states = sum(arg.is_ref or arg.type == tf.resource.as_datatype_enum for arg in given)
            assert traffic == 2 * states + 1, kind
