"""TensorBoard event files of a search. A leaf: loads TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from suite.core.quiet_tensorflow import quiet_start

with quiet_start():
    import tensorflow as tf

FLUSH = 10.0
"""Seconds until what was added is in the file."""

_v1 = tf.compat.v1


class Board:
    """One event file, in the format that needs no TensorBoard to write."""

    def __init__(self, folder: Path, first_step: int) -> None:
        """Open a file in which ``first_step`` supersedes that step and all later ones.

        A search that goes on from a checkpoint repeats the steps after it.
        """
        # Without a suffix, two files begun within a second by one process are one.
        suffix = f".{first_step}"
        with tf.Graph().as_default():  # FileWriter refuses eager mode, which it does not need
            self._writer = _v1.summary.FileWriter(
                str(folder), flush_secs=FLUSH, filename_suffix=suffix
            )
        start = _v1.SessionLog(status=_v1.SessionLog.START)
        self._writer.add_session_log(start, first_step)

    def add(self, step: int, scalars: Mapping[str, float]) -> None:
        """Write the scalars of a step."""
        values = [
            _v1.Summary.Value(tag=name, simple_value=value) for name, value in scalars.items()
        ]
        self._writer.add_summary(_v1.Summary(value=values), step)

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()
