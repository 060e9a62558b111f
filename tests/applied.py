"""Users' steps before and after ``suite.apply``, in processes of several devices."""

import tempfile
import warnings

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context

import suite
from suite.capture.from_module import capture_step
from suite.capture.options import Options
from suite.core.errors import InputError

STEPS, ROWS = 20, 12
SPECS = [tf.TensorSpec([ROWS, 8]), tf.TensorSpec([ROWS], tf.int32)]
OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(0.01),
}


def drive(receive, send, workers):
    """Child: three logical CPUs; then, where there are ``workers``, the client of their cluster."""
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
    here = {f"cpu:{i}": f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(3)}
    send(
        {
            "training": {name: training(name, here) for name in OPTIMIZERS},
            "keras": keras_training(),
            "keras arguments": keras_arguments(),
            "warnings": keras_warnings(),
            "signature": signature(),
            "variables": variables(),
            "refused": refused(),
        }
    )
    if workers:
        spec = tf.train.ClusterSpec({"worker": list(workers)})
        tf.config.experimental_connect_to_cluster(spec, job_name="client")
        there = {f"cpu:{i}": f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(2)}
        send(training("adam", there, there))
    receive()


def spread(step, devices):
    """A placement of a step: colocation classes by turns on the devices."""
    graph = capture_step("step", step, Options()).graph
    names = [sorted(devices)[group % len(devices)] for group in graph.colocation.tolist()]
    return dict(zip(graph.op_names, names, strict=True))


def learner(optimizer):
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((8,)), *layers])
    optimizer.build(model.trainable_variables)

    @tf.function(input_signature=SPECS)
    def step(x, y):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x))
            loss = tf.reduce_mean(losses)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    return step, model, [v.value for v in model.variables + optimizer.variables]


def batches():
    """Inputs, and which of the first three is the largest."""
    x = np.random.default_rng(0).random((STEPS, ROWS, 8), np.float32)
    return list(zip(x, x[..., :3].argmax(-1).astype(np.int32), strict=True))


def losses(step):
    return [float(step(x, y)) for x, y in batches()]


def training(kind, full, devices=None):
    """Twenty steps before and after, from the same state; where the operations went."""
    step, _, state = learner(OPTIMIZERS[kind]())
    first = [v.numpy() for v in state]
    found = {"unplaced": losses(step), "unplaced_state": [v.numpy() for v in state]}
    for variable, value in zip(state, first, strict=True):
        variable.assign(value)
    placement = spread(step, full)
    placed = suite.apply(step, placement, devices)
    context.enable_run_metadata()
    context.export_run_metadata()  # drops what has been gathered of others
    found |= {"placed": losses(placed), "placed_state": [v.numpy() for v in state]}
    found["ran"] = partitions(context.export_run_metadata())
    context.disable_run_metadata()
    found["wanted"] = {op: full[name] for op, name in placement.items()}
    graph = capture_step("step", step, Options()).graph
    found["handles"] = [
        n for n, t in zip(graph.op_names, graph.op_types, strict=True) if t == "VarHandleOp"
    ]
    found["variables"] = sorted({v.device for v in placed.variables})
    # Traced before: it goes on where the placed step has left off.
    again = [float(one(x, y)) for one in (step, placed) for x, y in batches()[:1]]
    return found | {"again": again}


def partitions(metadata):
    """Operation of the placed step -> devices, of what TensorFlow cuts into one part a device."""
    ran = {}
    for graph in metadata.function_graphs:
        for part in graph.partition_graphs:
            for node in part.node:
                inside, name = node.name.partition("StatefulPartitionedCall/")[1:]
                if inside:
                    ran.setdefault(name, set()).add(node.device)
    return ran


def keras_training():
    """A compiled model's own step, trained a little before: its optimizer's state counts."""
    _, model, _ = learner(OPTIMIZERS["adam"]())
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    x, y = batches()[0]
    model.fit(x, y, batch_size=ROWS, epochs=3, verbose=0)
    variables = [v.value for v in model.variables + model.optimizer.variables]
    first = [v.numpy() for v in variables]
    unplaced = [float(model.train_on_batch(x, y)) for _ in range(STEPS)]
    for variable, value in zip(variables, first, strict=True):
        variable.assign(value)
    graph = capture_step("model", model, Options(batch=ROWS)).graph
    names = [f"cpu:{group % 3}" for group in graph.colocation.tolist()]
    placed = suite.apply(model, dict(zip(graph.op_names, names, strict=True)), batch=ROWS)
    found = {"unplaced": unplaced, "placed": [float(placed(x, y)) for _ in range(STEPS)]}
    found["iterations"] = int(model.optimizer.iterations)
    found["fit"] = model.fit(x, y, batch_size=ROWS, verbose=0).history["loss"][0]
    return found


def keras_arguments():
    """One loss, of a model that learns nothing, from arrays, from a dataset and by name."""
    words, feats = keras.Input((4,), dtype="int32", name="words"), keras.Input((3,), name="feats")
    embedded = keras.layers.Flatten()(keras.layers.Embedding(9, 2)(words))
    hidden = keras.layers.Concatenate()([embedded, feats])
    model = keras.Model([words, feats], keras.layers.Dense(5, activation="softmax")(hidden))
    model.compile(keras.optimizers.SGD(0.0), "sparse_categorical_crossentropy")
    graph = capture_step("model", model, Options(batch=ROWS)).graph
    placed = suite.apply(model, dict.fromkeys(graph.op_names, "cpu:0"), batch=ROWS)
    rng = np.random.default_rng(0)
    w, f, y = rng.integers(0, 9, (ROWS, 4)), rng.random((ROWS, 3)), rng.integers(0, 5, ROWS)
    data = tf.data.Dataset.from_tensor_slices(((w, f), y)).batch(ROWS)
    ((tensors, labels),) = data
    return {
        "fit": model.fit(data, verbose=0).history["loss"],
        "arrays": float(placed(w, f, y)),
        "dataset": float(placed(*tensors, labels)),
        "by name": float(placed(label_0=labels, feats=tensors[1], words=tensors[0])),
        "swapped": message(lambda: placed(*tensors[::-1], labels)),
        "short": message(lambda: placed(w, f)),
    }


def named(name=None):
    """A compiled model whose parts have a name, or get a number from Keras."""
    names = {} if name is None else {"name": name}
    layer = keras.layers.Dense(1, **names)
    model = keras.Sequential([keras.Input((8,), name="x"), layer], **names)
    model.compile(keras.optimizers.Adam(0.01, **names), "mse")
    return model


def keras_warnings():
    """What is said of a model as compiled, compiled by XLA, and with a layer frozen until now."""
    keras.utils.set_random_seed(1)
    told = {}
    for name, jit in {"plain": False, "xla": True, "freed": False}.items():
        layers = [keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(3)]
        model = keras.Sequential([keras.Input((8,)), *layers])
        model.layers[0].trainable = name != "freed"
        model.compile(keras.optimizers.Adam(0.01), "mse", jit_compile=jit)
        model.optimizer.build(model.trainable_variables)
        model.layers[0].trainable = True
        graph = capture_step("model", model, Options(batch=ROWS)).graph
        names = [f"cpu:{group % 2}" for group in graph.colocation.tolist()]
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            suite.apply(model, dict(zip(graph.op_names, names, strict=True)), batch=ROWS)
        told[name] = [str(one.message) for one in found]
    return told


def signature():
    """Nested arguments, keywords, Python values, outputs that are None."""
    total = tf.Variable(0.0)

    @tf.function
    def step(pair, *, scale, bias=0.0, double=True):
        result = pair["a"] * scale + pair["b"][0] + bias
        total.assign_add(tf.reduce_sum(result))
        both = (result, [2.0 * result if double else result])
        return {"sum": tf.reduce_sum(result), "nothing": None, "both": both}

    spec = tf.TensorSpec([2, 3])
    # Keywords are inputs of the graph by name, and defined in another order here.
    specs = {"scale": tf.TensorSpec([]), "bias": tf.TensorSpec([])}
    concrete = step.get_concrete_function({"a": spec, "b": [spec]}, **specs)
    placed = suite.apply(concrete, spread(concrete, ["cpu:0", "cpu:1", "cpu:2"]))
    a, b = np.full((2, 3), 2.0, np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = step({"a": a, "b": [b]}, scale=3.0, bias=0.25)
    given = placed({"b": [b], "a": tf.constant(a)}, scale=3, bias=0.25)
    same = tf.nest.map_structure(
        lambda x, y: x is y or bool(tf.reduce_all(x == y)), expected, given
    )
    told = {
        "structure": same,
        "total": float(total),
        "types": str(tf.nest.map_structure(type, given))
        == str(tf.nest.map_structure(type, expected)),
    }
    numbers = {"scale": 3.0, "bias": 0.25}
    told["python value first"] = python_value_first()
    for name, call in {
        "missing": lambda: placed({"a": a, "b": [b]}),
        "structure of pair": lambda: placed({"a": a, "b": [b, b]}, **numbers),
        "shape": lambda: placed({"a": a[:1], "b": [b]}, **numbers),
        "value": lambda: placed({"a": a, "b": [b]}, **numbers, double=False),
        "type": lambda: placed({"a": a, "b": [b]}, scale=tf.constant(3), bias=0.25),
        "in a function": lambda: tf.function(lambda: placed({"a": a, "b": [b]}, **numbers))(),
    }.items():
        told[name] = message(call)
    return told


def python_value_first():
    """A Python value that was captured comes before a tensor: both are given, in their order."""
    step = tf.function(lambda double, x: 2.0 * x if double else x)
    concrete = step.get_concrete_function(True, tf.TensorSpec([2]))
    placed = suite.apply(concrete, spread(concrete, ["cpu:0", "cpu:1"]))
    other = message(lambda: placed(False, np.ones(2)))
    return placed(True, np.ones(2, np.float32)).numpy().tolist(), other


def variables():
    """Variables that move stay the users': functions, checkpoints, the old storage."""
    w, still = tf.Variable(tf.ones([4])), tf.Variable(5.0)

    @tf.function(input_signature=[])
    def step():
        w.assign_add(tf.ones([4]))

    read = tf.function(lambda: w + still)
    before, handle = read().numpy(), w.handle
    placed = suite.apply(step, dict.fromkeys(spread(step, ["cpu:0"]), "cpu:2"))
    nothing = placed()
    told = {"device": w.device, "still": still.device, "nothing": nothing, "before": before}
    told |= {"read": read().numpy(), "same": placed.variables[0] is w}
    told["old storage"] = tf.raw_ops.ReadVariableOp(resource=handle, dtype=w.dtype).shape.as_list()
    checkpoint = tf.train.Checkpoint(w=w)
    with tempfile.TemporaryDirectory() as folder:
        saved = checkpoint.write(f"{folder}/state")
        w.assign(tf.zeros([4]))
        checkpoint.read(saved).assert_consumed()
    told["restored"] = w.numpy()
    suite.apply(step, dict.fromkeys(spread(step, ["cpu:0"]), "cpu:1"))()
    told |= {"moved": w.device, "after": w.numpy(), "first placement": message(placed)}
    return told


def refused():
    w = tf.Variable(tf.ones([4]), name="w")
    keys, numbers = tf.constant(["a"]), tf.constant([1])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, numbers), 0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def loop(n):
        return tf.while_loop(lambda i: i < n, lambda i: [i + 1], [tf.constant(0)])[0]

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def look_up(key):
        return table.lookup(key)

    @tf.function(input_signature=[])
    def update():
        w.assign_add(tf.ones([4]))
        return tf.reduce_sum(w)

    @tf.function(input_signature=[])
    def changing():
        now = tf.compat.v1.get_default_graph().capture_call_time_value(
            lambda: tf.constant(1.0), tf.TensorSpec([])
        )
        return w.assign_add(now * tf.ones([4]))

    first = {name: dict.fromkeys(spread(named(name), ["cpu:0"]), "cpu:0") for name in (None, "net")}
    elsewhere = dict.fromkeys(spread(changing, ["cpu:0"]), "cpu:1")
    good = spread(update, ["cpu:0"])
    without = {op: name for op, name in good.items() if op != "w"}
    calls = {
        "loop": lambda: suite.apply(loop, {}),
        "table": lambda: suite.apply(look_up, {}),
        "another graph": lambda: suite.apply(update, without | {"extra": "cpu:0"}),
        "numbers": lambda: suite.apply(named(), first[None]),
        "names": lambda: suite.apply(named("net"), first["net"]),
        "no device": lambda: suite.apply(update, dict.fromkeys(good, "gpu:0")),
        "no name": lambda: suite.apply(update, dict.fromkeys(good, "fast one")),
        "split": lambda: suite.apply(update, good | {"w": "cpu:1"}),
        "wrong map": lambda: suite.apply(update, good, {"gpu:1": "CPU:1"}),
        "changing": lambda: suite.apply(changing, elsewhere),
        "no file": lambda: suite.apply(update, "nowhere.json"),
    }
    told = {name: message(call) for name, call in calls.items()} | {"stayed": w.device}
    placed = suite.apply(update, dict.fromkeys(good, "gpu:0"), {"gpu:0": "CPU:1"})
    return told | {"mapped": float(placed()), "device": w.device}


def message(call):
    try:
        call()
    except InputError as error:
        return str(error)
    return "not refused"
