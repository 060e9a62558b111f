"""TensorFlow, loaded without its greetings."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
"""Environment under which TensorFlow, once it has started, logs nothing below a fatal error."""


@contextmanager
def quiet_start() -> Iterator[None]:
    """Keep what is written to standard error meanwhile; show it only if this ends in an exception.

    For the import of TensorFlow and the first look at its devices: both greet and warn (of drivers
    that are not there) before any setting of theirs can silence them, some of it in native code,
    so that the file descriptor itself has to be redirected. Not for use beside other threads that
    have something to say.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield
        except Exception:  # an interrupt is nothing that they explain
            sys.stderr.flush()
            os.dup2(kept, 2)
            said.seek(0)
            os.write(2, said.read())
            raise
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)


def allow_traces() -> None:
    """Let many functions be traced without a word.

    Every graph has traces of its own, as few as there can be; TensorFlow takes that for a mistake.
    """
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
