"""Small captured training steps on disk, and machines of CPUs to run them on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from suite.capture.to_graph import capture, capture_graph_def
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.execution.measurement import Step
from suite.formats.machine_toml import machine_from_table

ROWS, WIDTH, LAYERS, CLASSES = 32, 64, 3, 10


@dataclass(frozen=True)
class Small:
    graph: OpGraph
    step: Step


def layers_step():
    """A look-up, dense layers, softmax cross entropy, Adam-like moments: every kind of variable."""
    table = tf.Variable(tf.zeros([50, WIDTH]), name="table")
    weights = [tf.Variable(tf.zeros([WIDTH, WIDTH]), name=f"w{i}") for i in range(LAYERS)]
    out = tf.Variable(tf.zeros([WIDTH, CLASSES]), name="out")
    rate = tf.Variable(0.0, name="rate")
    variables = [table, *weights, out]

    @tf.function(autograph=False)
    def step(words, scales, labels):
        with tf.GradientTape() as tape:
            hidden = tf.gather(table, words) * scales
            for weight in weights:
                hidden = tf.nn.relu(hidden @ weight) + hidden
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, hidden @ out)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, variables)
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(100.0 * rate * tf.convert_to_tensor(gradient))
        return loss

    whole = tf.TensorSpec([ROWS], tf.int32)
    return step, [whole, tf.TensorSpec([ROWS, WIDTH]), whole]


def layers(folder: Path) -> Small:
    return _kept(capture(*layers_step(), "layers"), folder)


def adam_step():
    """Two dense layers and Adam, in TensorFlow's own operation for it."""
    names = [f"{kind}{i}" for i in range(2) for kind in ("w", "m", "v")]
    found = {name: tf.Variable(tf.zeros([WIDTH, WIDTH]), name=name) for name in names}
    power = tf.Variable(0.0, name="power")

    @tf.function(autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(x @ found["w0"]) @ found["w1"]
            loss = tf.reduce_mean(tf.square(hidden - 3.0 * x))
        gradients = tape.gradient(loss, [found["w0"], found["w1"]])
        for i, gradient in enumerate(gradients):
            var, m, v = (found[f"{kind}{i}"].handle for kind in ("w", "m", "v"))
            powers = {"beta1_power": power, "beta2_power": power}
            rates = {"lr": power, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-3}
            tf.raw_ops.ResourceApplyAdam(var=var, m=m, v=v, **powers, **rates, grad=gradient)
        power.assign(0.99 * power)
        return loss

    return step, [tf.TensorSpec([ROWS, WIDTH])]


def adam_layers(folder: Path) -> Small:
    return _kept(capture(*adam_step(), "adam"), folder)


def chain(folder: Path, size: int, products: int, name: str = "chain") -> Small:
    """Matrix products, one after another; the first matrix is filled at run time."""
    with tf.Graph().as_default() as graph:
        edge = tf.compat.v1.placeholder(tf.float32, [], name="edge")
        matrix = result = tf.fill([size, size], edge, name="matrix")
        for i in range(products):
            result = tf.matmul(result, matrix, name=f"product_{i}")
        tf.reduce_mean(result, name="mean")
    return _kept(capture_graph_def(graph.as_graph_def(), ["mean"], name), folder)


def towers(folder: Path, size: int = 512, products: int = 8) -> Small:
    """Two chains of products, ``here_i`` and ``there_i``, of one matrix."""
    with tf.Graph().as_default() as graph:
        edge = tf.compat.v1.placeholder(tf.float32, [], name="edge")
        matrix = tf.fill([size, size], edge, name="matrix")
        ends = []
        for tower in ("here", "there"):
            result = matrix
            for i in range(products):
                result = tf.matmul(result, matrix, name=f"{tower}_{i}")
            ends.append(tf.reduce_mean(result, name=f"{tower}_end"))
        tf.add(*ends, name="both")
    return _kept(capture_graph_def(graph.as_graph_def(), ["both"], "towers"), folder)


def _kept(captured, folder: Path) -> Small:
    path = folder / f"{captured.graph.name}.pb"
    path.write_bytes(captured.graph_def.SerializeToString())
    return Small(captured.graph, Step(path, captured.graph.op_names))


def cpus(count: int, memory: str = "4 GB") -> Machine:
    """Equal CPUs; their figures do not matter to real execution."""
    speeds = {"memory": memory, "peak_flops": 1e10, "memory_bandwidth": 1e10}
    devices = [
        {"name": f"cpu:{i}", "kind": "cpu", "launch_overhead": 1e-6, **speeds} for i in range(count)
    ]
    link = {"bandwidth": 1e9, "latency": 1e-4, "channel": "pair"}
    return machine_from_table({"name": "cpus", "device": devices, "link": [link]})
