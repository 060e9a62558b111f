"""The process of one TensorFlow server: a device of a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from suite.execution.child import Receive, Send

THREADS = 1
"""Threads for operations, and within one: a device runs one operation at a time."""


def serve(receive: Receive, send: Send, workers: Sequence[str], task: int) -> None:
    """Child: be task number ``task`` of the cluster ``workers`` (``host:port`` each) until told."""
    import tensorflow as tf

    settings = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=THREADS, inter_op_parallelism_threads=THREADS
    )
    settings.gpu_options.allow_growth = True
    server = tf.distribute.Server(
        {"worker": list(workers)}, job_name="worker", task_index=task, config=settings
    )
    send(server.target)
    receive()
