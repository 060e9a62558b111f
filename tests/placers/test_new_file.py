"""A placer is tested by adding its file: no test is touched."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import baselines

EVERY = Path(__file__).with_name("test_every_placer.py")
GOOD = '''
"""Everything where it may go first. Not from a paper."""

from dataclasses import dataclass

from suite.core.placement import Placement


@dataclass(frozen=True)
class First:
    """The first device that has the kernels."""

    def place(self, problem, search):
        """Return a valid placement."""
        return Placement.of_classes(problem, problem.allowed.argmax(axis=1))
'''
BAD = GOOD.replace("        return", "        print('look')\n        return")


def test_a_new_file_is_tested_and_one_that_prints_fails(tmp_path):
    package = tmp_path / "baselines"
    shutil.copytree(Path(baselines.__file__).parent, package)
    (package / "made_up_good.py").write_text(GOOD)
    (package / "made_up_bad.py").write_text(BAD)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, "-k", "made_up", str(EVERY)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    said = re.findall(r"(PASSED|FAILED) \S+::(\w+)\[(made_up_\w+?)[-\]]", run.stdout)
    assert {name for status, _, name in said if status == "PASSED"} >= {"made_up_good"}, run.stdout
    failed = [(test, name) for status, test, name in said if status == "FAILED"]
    assert failed == [("test_it_leaves_no_trace_and_finds_the_same_again", "made_up_bad")]
