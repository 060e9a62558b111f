"""Measure what a transfer between two servers of TensorFlow 1.3.0 costs on this host.

    python3.6 transfers.py                 # two servers, a core each

Prints, for tensors of several sizes, the seconds of one transfer in a chain of them (each waits for
the last one), latency and bandwidth of the line through those, and what a transfer adds to the time
of matrix products that its receiver computes meanwhile (occupancy).
"""

import os
import subprocess
import sys
import time
from functools import partial

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

PORTS = (27301, 27302)
SIZES = (1, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22)
"""Elements of float32."""
CHAIN, ROUNDS = 20, 15
CLUSTER = {"worker": ["localhost:%d" % port for port in PORTS]}


def server(task):
    """Start the server of a task on a core of its own."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[task]})
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    return tf.train.Server(CLUSTER, "worker", task, config=config)


def on(task):
    """The device of a task."""
    return tf.device("/job:worker/task:%d/cpu:0" % task)


def seconds(target, build):
    """Median seconds of a step of what ``build`` returns, an operation."""
    with tf.Graph().as_default():
        fetch = build()
        options = tf.GraphOptions(
            optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
        )
        with tf.Session(target, config=tf.ConfigProto(graph_options=options)) as session:
            taken = []
            for _ in range(ROUNDS + 3):
                start = time.time()
                session.run(fetch)
                taken.append(time.time() - start)
    return float(np.median(taken[3:]))


def chain(size, moves):
    """A tensor that goes to and fro, or with ``moves`` False stays."""
    with on(0):
        x = tf.random_uniform([size])
    for i in range(CHAIN):
        with on((i + 1) % 2 if moves else 0):
            x = tf.identity(x)
    return x.op


def products(size, received=True):
    """Matrix products on task 1 while it receives tensors of task 0."""
    with on(1):
        x = weights = tf.random_uniform([512, 512])
        for _ in range(40):
            x = tf.matmul(x, weights)
    kept = []
    for _ in range(CHAIN):
        with on(0):
            made = tf.random_uniform([size])
        with on(1 if received else 0):
            kept.append(tf.identity(made))
    return tf.group(x, *kept)


def generated(size):
    """As :func:`products`, without the transfers."""
    return products(size, received=False)


def main():
    """Measure and print."""
    other = subprocess.Popen([sys.executable, os.path.abspath(__file__), "serve"])
    try:
        target = server(0).target
        print("elements  bytes      chain, us a transfer  occupancy of the receiver, us")
        sizes, times = [], []
        for size in SIZES:
            apart, here = (seconds(target, partial(chain, size, m)) for m in (True, False))
            one = (apart - here) / CHAIN
            beside, alone = (seconds(target, partial(b, size)) for b in (products, generated))
            occupancy = (beside - alone) / CHAIN
            sizes.append(4.0 * size)
            times.append(one)
            print("%8d  %9d  %20.0f  %29.0f" % (size, 4 * size, 1e6 * one, 1e6 * occupancy))
            sys.stdout.flush()
        per_byte, latency = np.polyfit(sizes, times, 1, w=1 / np.array(times))
        print("latency %.0f us, bandwidth %.2f GB/s" % (1e6 * latency, 1e-9 / per_byte))
    finally:
        other.kill()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        server(1).join()
    main()
