"""TensorFlow starts without a word, and what it said is there when it fails."""

import subprocess
import sys

from command_line import ENVIRONMENT

QUIET = """
import sys
from pathlib import Path
from suite.core.quiet_tensorflow import quiet_start
from suite.execution.profiling.probes import small_ops
from suite.search.tensorboard import Board
small_ops(Path(sys.argv[1]), "host", 2)
with quiet_start():
    import tensorflow as tf
    tf.config.list_physical_devices("GPU")
print("after", file=sys.stderr)
"""
FAILING = """
import os
from suite.core.quiet_tensorflow import quiet_start
with quiet_start():
    os.write(2, b"a warning from native code\\n")
    raise ImportError("no such library")
"""


def run(program, *arguments):
    command = [sys.executable, "-P", "-c", program, *arguments]
    environment = {k: v for k, v in ENVIRONMENT.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_tensorflow_starts_without_a_word(tmp_path):
    done = run(QUIET, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stderr == "after\n"


def test_what_was_said_is_shown_when_the_start_fails():
    done = run(FAILING)
    assert done.returncode == 1
    assert done.stderr.startswith("a warning from native code\n")
    assert done.stderr.endswith("ImportError: no such library\n")
