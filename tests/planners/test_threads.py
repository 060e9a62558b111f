"""A learned search takes one thread, says so, and throttles nothing that is started after it."""

import json
import subprocess
import sys

SEARCH = """
import json, os, sys
from six_ops import six_ops
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

before = dict(os.environ)
placer = make_placer("hdp_no_grouping", {"updates": 1, "grouper_hidden": 8})
assert "tensorflow" not in sys.modules
search = Search(six_ops(), Simulator(six_ops()))
placer.place(six_ops(), search)
print(json.dumps([search.notes, {k: v for k, v in os.environ.items() if before.get(k) != v}]))
"""


def test_threads_are_set_by_call_and_noted():
    """In a process of its own, where TensorFlow was not started before."""
    path = [p for p in sys.path if p]
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{SEARCH}"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    notes, changed = json.loads(answer.splitlines()[-1])
    assert notes["tensorflow_threads"] == {"intra_op": 1, "inter_op": 1}
    assert not [name for name in changed if name.startswith("TF_NUM")]
