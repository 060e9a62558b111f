"""TensorFlow, loaded at first use, the way the planners need it.

``from planners.nn.backend import tf`` costs nothing, so a planner's networks can stand in the file
that the registry imports to list its parameters.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

from suite.core.quiet_tensorflow import quiet_start


class _OnDemand:
    """The module ``tensorflow``, which is imported when one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_started(), name)


tf: Any = _OnDemand()
"""TensorFlow on one thread, without GPUs."""


@cache
def _started() -> Any:
    """Import TensorFlow for a policy: one thread, no GPU, no greetings.

    Cells run side by side, so a second thread per search gains nothing, and sums that are split
    over threads round differently. The policy leaves the GPUs to what is measured on them (the
    released controller is on the CPU too).
    """
    with quiet_start():
        import tensorflow

        tensorflow.config.set_visible_devices([], "GPU")
    # By call, not by environment: what is set there is inherited by real runs that start later.
    threading = tensorflow.config.threading
    with suppress(RuntimeError):  # It already runs, for somebody else: threads() tells how.
        threading.set_intra_op_parallelism_threads(1)
        threading.set_inter_op_parallelism_threads(1)
    return tensorflow


def threads() -> dict[str, int]:
    """The threads that TensorFlow uses within an operation and between them; 0: its own choice."""
    threading = tf.config.threading
    return {
        "intra_op": threading.get_intra_op_parallelism_threads(),
        "inter_op": threading.get_inter_op_parallelism_threads(),
    }
