"""TensorFlow starts without a word, and what it said is there when it fails."""

import subprocess
import sys

import tensorflow as tf
from command_line import ENVIRONMENT, placebench

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


def test_an_interrupt_shows_nothing():
    done = run(FAILING.replace('ImportError("no such library")', "KeyboardInterrupt"))
    assert done.stderr.startswith("Traceback")


def test_an_export_says_nothing_but_what_it_wrote(tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        tf.raw_ops.MatMul(a=tf.zeros((2, 2)), b=tf.zeros((2, 2)))
    (tmp_path / "g.pb").write_bytes(graph.as_graph_def().SerializeToString())
    options = "--machine", "k40", "--gpus", "1", "--output"
    placed = placebench("place", "g.pb", "--placer", "cpu_only", *options, "p.json", cwd=tmp_path)
    assert placed.returncode == 0, placed.stderr
    line = "g.pb", "--placement", "p.json", *options, "placed"
    done = placebench("export", *line, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
