"""How much memory placing a large graph takes at most, planner by planner, and capturing it.

    python benchmarks/planner_memory.py [EVALUATIONS]

Runs ``placebench place TASK --placer PLANNER --evaluations EVALUATIONS`` as a child process for
each planner, with the graph already captured, and ``placebench graph TASK`` with an empty cache.
Linux alone counts as it is read here. Writes benchmarks/planner_memory.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

from page import write_page

from suite.core.child_python import python_command
from suite.report.table import Section

TASKS = {"nmt_8": "k40", "gnmt_8": "p100"}
"""Task of eight GPUs -> machine."""
ALONE = "gpu_only"
"""Learns nothing: what the command takes whatever the planner."""
PLANNERS = ("post", "post_tuned", "placeto", "gdp", "gdp_tuned", "hdp", "learned_moves")
LONGER = {"placeto": 10}
"""By how much more evaluations: an episode of Placeto alone takes 116 of them on these graphs."""
LIMIT = 4e9
"""Bytes below which the peak is to be."""
LEAD = """\
`python benchmarks/planner_memory.py {evaluations}`: `placebench place TASK --placer PLANNER
--evaluations {evaluations}`{longer}, for the two largest tasks of eight GPUs in a child process
each, with the graph already captured. GB (1e9 bytes) of the largest process, as Linux counts them
(`ru_maxrss`), of the command and those it waited for; wanted is a peak below {limit:.0f} GB.
`{alone}` learns nothing: it takes what the command takes that reads the graph, judges and compares
with the simple baselines. Capturing is `placebench graph TASK` with an empty cache, once for each
graph: a user's first search of a task takes as much as the last row says."""


def peak(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    """Most bytes that one process of the command had; CalledProcessError where it fails."""
    command = python_command("-m", "suite.cli", *arguments)
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return 1024.0 * usage.ru_maxrss  # Linux counts kilobytes


def placing(task: str, planner: str, evaluations: int) -> float:
    """Of a search, with the graph already captured and the simulator compiled."""
    count = evaluations * LONGER.get(planner, 1)
    asked = ("--machine", TASKS[task], "--placer", planner, "--evaluations", str(count))
    return peak(("place", task, *asked), os.environ)


def capturing(task: str) -> float:
    """Of a capture."""
    with tempfile.TemporaryDirectory() as empty:
        return peak(("graph", task), {**os.environ, "PLACEBENCH_CACHE": empty})


def gigabytes(size: float) -> str:
    """As printed."""
    return f"{size / 1e9:.2f}" + " **(above)**" * (size >= LIMIT)


def main(evaluations: int) -> None:
    """Measure all, one after the other, and write the page."""
    rows: dict[str, list[str]] = {name: [] for name in (ALONE, *PLANNERS, "(capturing it)")}
    for task in TASKS:
        placing(task, ALONE, evaluations)  # captures and compiles, where that is still to be done
        for name, cells in rows.items():
            planned = name == ALONE or name in PLANNERS
            size = placing(task, name, evaluations) if planned else capturing(task)
            cells.append(gigabytes(size))
            print(task, name, cells[-1], flush=True)
    longer = "".join(f" ({evaluations * by} for `{name}`)" for name, by in LONGER.items())
    lead = LEAD.format(evaluations=evaluations, longer=longer, limit=LIMIT / 1e9, alone=ALONE)
    header = ("planner", *(f"{task}, {machine}" for task, machine in TASKS.items()))
    cells = tuple((name, *found) for name, found in rows.items())
    write_page(__file__, Section("Peak memory of planners", header, cells, lead))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
