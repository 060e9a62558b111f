"""What compiling a step takes, with and without what is done to make it short.

A simulated step is compiled in a fresh process, with nothing compiled before and TensorFlow loaded,
below so many frames as --depths says: alone, with Python looking for what it can free as often as
usual, with frames laid out as usual (:mod:`suite.core.compilers`), with helpers copied as usual
(:mod:`suite.core.inlining`), with all as usual.

    python benchmarks/compiling.py

Writes benchmarks/compiling.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from statistics import median

from page import write_page

from suite.report.table import Section

CHILD = """
import json, resource, sys
import tensorflow
from suite.core import compilation, compilers
from suite.core.compile_time import COMPILE_TIME
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.simulator.compiled.judge import Simulator

frees, frames, copies, depth = json.loads(sys.argv[1])
if frees:
    compilation.SELDOM = 700
if frames:
    compilers.with_room = lambda call: call()
if copies:
    compilers.FieldsOnceCompiler.inlines = compilers.InlineInlinables
graph = OpGraph.create("one", ["a"], ["Op"], [], [], seconds={"cpu": [1.0], "gpu": [1.0]})
simulator = Simulator(Problem.create(graph, load_machine("k40")))

def below(depth):
    return below(depth - 1) if depth else simulator.run([0])

before = resource.getrusage(resource.RUSAGE_SELF)
below(depth)
after = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([COMPILE_TIME.wall, after.ru_minflt - before.ru_minflt]))
"""
WAYS = {
    "as it is": (False, False, False),
    "frees as usual": (True, False, False),
    "frames as usual": (False, True, False),
    "copies as usual": (False, False, True),
    "all as usual": (True, True, True),
}


def compiled(frees: bool, frames: bool, copies: bool, depth: int) -> tuple[float, int]:
    """Seconds and pages that a compilation takes."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, json.dumps([frees, frames, copies, depth])],
            env=os.environ | {"NUMBA_CACHE_DIR": folder, "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    seconds, pages = json.loads(done.stdout.splitlines()[-1])
    return seconds, pages


def main() -> None:
    """Compile in turn; write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--depths", type=int, nargs="+", default=[0, 15, 30, 45, 60, 75])
    asked = parser.parse_args()
    found = {name: [compiled(*way, depth) for depth in asked.depths] for name, way in WAYS.items()}
    usual = median(seconds for seconds, _ in found["all as usual"])
    rows = []
    for name, each in found.items():
        seconds = sorted(one for one, _ in each)
        pages = sorted(count for _, count in each)
        spans = f"{seconds[0]:.1f} to {seconds[-1]:.1f}", f"{pages[0]:,} to {pages[-1]:,}"
        middle = median(seconds)
        rows.append((name, f"{middle:.1f}", f"{middle / usual:.2f}", *spans))
    head = ("", "seconds, median", "of all as usual", "seconds", "pages")
    depths = ", ".join(map(str, asked.depths))
    lead = (
        "`python benchmarks/compiling.py`: a simulated step compiled in a fresh process in which"
        f" TensorFlow is loaded, {depths} frames deep; pages that the system handed out meanwhile."
    )
    write_page(__file__, Section("Compiling", head, tuple(rows), lead))


if __name__ == "__main__":
    main()
