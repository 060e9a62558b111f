"""The process of one TensorFlow server: a device of a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from suite.execution.child import Receive, Send

WITHIN = 1
"""Threads of one operation."""
THREADS = 2
"""Threads of a server: one for operations, one for transfers. TensorFlow serves the requests of
other servers in the pool that runs operations. With a single thread, a tensor goes out only when
nothing else is ready, and devices that could work side by side work one after another. Two
operations that run at once share the server's core."""


def serve(receive: Receive, send: Send, workers: Sequence[str], task: int) -> None:
    """Child: be task number ``task`` of the cluster ``workers`` (``host:port`` each) until told."""
    import tensorflow as tf

    settings = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=WITHIN, inter_op_parallelism_threads=THREADS
    )
    settings.gpu_options.allow_growth = True
    server = tf.distribute.Server(
        {"worker": list(workers)}, job_name="worker", task_index=task, config=settings
    )
    send(server.target)
    receive()
