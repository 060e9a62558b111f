"""Small RNNLM and NMT of TensorFlow 1.3.0, made, profiled and run as placed, on two servers.

python3.6 small.py make FOLDER             # writes TASK.pb and prints what a step of each runs
python3.6 small.py run STEP.json           # runs placements of a step; prints seconds as JSON

Each server has a core of its own. ``STEP.json`` has the file of the GraphDef (its placeholders need
shapes), what to ``fetch``, and ``placements``: operation -> number of the server. The first is also
traced: its operations' seconds. benchmarks/tf13_runs.py writes and reads these.
"""

import json
import os
import subprocess
import sys
import time
from collections import OrderedDict

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import nmt
import numpy as np
import rnnlm
import tensorflow as tf
import training
import transfers

VOCABULARY = 5000
ROUNDS, WARM_UP, TRACES = 7, 2, 5


def shrink(module, **sizes):
    """Set the sizes of a model's program to those of models/small.py."""
    for name, size in sizes.items():
        setattr(module, name, size)


def rnnlm_loss():
    shrink(rnnlm, BATCH=32, UNITS=512, STEPS=10)
    return rnnlm.joint(VOCABULARY)


def nmt_loss():
    shrink(nmt, BATCH=32, UNITS=256, STEPS=10)
    return nmt.loss(VOCABULARY, 2, True)


LOSSES = OrderedDict([("rnnlm_small", rnnlm_loss), ("nmt_2_small", nmt_loss)])


def make(folder):
    """Write the GraphDefs; return what a step of each runs."""
    fetches = OrderedDict()
    for name, loss in LOSSES.items():
        with tf.Graph().as_default() as graph:
            fetches[name] = training.hdp(loss(), tf.train.AdamOptimizer())
        with open(os.path.join(folder, name + ".pb"), "wb") as file:
            file.write(graph.as_graph_def().SerializeToString())
    return fetches


def without_inputs(graph_def):
    """Words instead of placeholders: what is fed would travel to the servers in every step."""
    rng = np.random.RandomState(0)
    for node in graph_def.node:
        if node.op == "Placeholder":
            shape = [dim.size for dim in node.attr["shape"].shape.dim]
            words = tf.make_tensor_proto(rng.randint(0, VOCABULARY, shape).astype(np.int32))
            node.op = "Const"
            node.ClearField("attr")
            node.attr["dtype"].type = words.dtype
            node.attr["value"].tensor.CopyFrom(words)
    return graph_def


def without_news(graph_def):
    """Drop attributes that later versions of TensorFlow write beside the others."""
    ops = tf.contrib.util.stripped_op_list_for_graph(graph_def).op
    known = {op.name: {attr.name for attr in op.attr} for op in ops}
    for node in graph_def.node:
        for name in set(node.attr) - known[node.op]:
            if not name.startswith("_"):
                del node.attr[name]
    return graph_def


class Placed(object):
    """A session with a step placed on the servers, variables filled in."""

    def __init__(self, target, graph_def, placement, fetch):
        self.graph = tf.Graph()
        for node in graph_def.node:
            node.device = "/job:worker/task:%d/cpu:0" % placement[node.name]
        with self.graph.as_default():
            tf.import_graph_def(graph_def, name="")
            filled = []
            for op in self.graph.get_operations():
                if op.type == "VariableV2":
                    value = op.outputs[0]
                    # Adam's powers of beta are numbers, and 1 would divide by zero.
                    start = tf.random_normal(value.shape, stddev=0.01) if value.shape.ndims else 0.9
                    with tf.device(op.device):
                        filled.append(tf.assign(value, start).op)
            self.session = tf.Session(target, config=config())
            self.session.run(tf.group(*filled))
        self.step = [self.graph.get_operation_by_name(name) for name in fetch]

    def seconds(self):
        """One step."""
        start = time.time()
        self.session.run(self.step)
        return time.time() - start

    def traced(self):
        """Seconds of every operation in one step."""
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        metadata = tf.RunMetadata()
        self.session.run(self.step, options=options, run_metadata=metadata)
        return {
            node.node_name: 1e-6 * (node.op_end_rel_micros - node.op_start_rel_micros)
            for device in metadata.step_stats.dev_stats
            for node in device.node_stats
        }


def config():
    """Nothing is folded or shared: what runs is what was placed."""
    off = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    return tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=off))


def run(target, step):
    """Seconds of every placement's steps, and the operations' of the first."""
    graph_def = tf.GraphDef()
    with open(step["graph"], "rb") as file:
        graph_def.ParseFromString(file.read())
    without_news(without_inputs(graph_def))
    found, times = [], {}
    for number, placement in enumerate(step["placements"]):
        placed = Placed(target, graph_def, placement, step["fetch"])
        taken = [placed.seconds() for _ in range(WARM_UP + ROUNDS)][WARM_UP:]
        if number == 0:
            traces = [placed.traced() for _ in range(TRACES)]
            for name in traces[0]:
                times[name] = float(np.median([trace.get(name, 0.0) for trace in traces]))
        placed.session.close()
        found.append(taken)
        sys.stderr.write("%d %.4f s\n" % (number, np.median(taken)))
    return {"seconds": found, "operations": times}


def main():
    if sys.argv[1] == "make":
        print(json.dumps(make(sys.argv[2])))
        return
    with open(sys.argv[2]) as file:
        step = json.load(file)
    other = subprocess.Popen([sys.executable, transfers.__file__, "serve"])
    try:
        print(json.dumps(run(transfers.server(0).target, step)))
    finally:
        other.kill()


if __name__ == "__main__":
    main()
