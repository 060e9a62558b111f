"""TensorFlow, the way the planners need it."""

from __future__ import annotations

import os


def start_tensorflow() -> None:
    """Import TensorFlow for a policy: one thread, no GPU, no greetings.

    Cells run side by side, so a second thread per search gains nothing, and sums that are split
    over threads round differently. The policy leaves the GPUs to what is measured on them (the
    released controller is on the CPU too). What TensorFlow writes to standard error while it loads
    is dropped.
    """
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        import tensorflow as tf
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
    tf.config.set_visible_devices([], "GPU")
