"""Kill a bench again and again, at random instants, and see that nothing is lost.

A grid of short searches and of cells that only wait is run until it is finished; each run is killed
(kill -9), the parent or one of its workers, and the next one takes up what is left. After every
kill: whatever lies in the results folder is whole, records that were finished are the same to the
byte, and no process is left. At the end, every record is what an undisturbed run gives.

Run it from the root of a checkout: python -P benchmarks/kill.py [KILLS]
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from suite.bench.record import deterministic_part, read_record
from suite.bench.run_cell import NOT_BOUNDED
from suite.formats.recorded_placement import read_devices

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-P", "-m", "suite.cli", "bench"]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests/plugin"), str(ROOT)])}
SHARE = 1.0
"""Of the seconds of an undisturbed run: the latest instant of a kill."""
SEARCHES, STEPS = 8, 40
CELLS = 2 * SEARCHES
GRID = """
machine = "k40"
[budget]
timeout = 600
[[task]]
name = "tiny"
gpus = 2
graph = "{graph}"
[[placer]]
name = "mutation"
seeds = {searches}
parameters = {{ steps = {steps}, seconds = 0.03 }}
[[placer]]
name = "slow"
seeds = {searches}
parameters = {{ seconds = 0.3 }}
"""


def write_grid(folder: Path) -> Path:
    """The grid, on the smoke graph."""
    path = folder / "g.toml"
    path.write_text(
        GRID.format(graph=ROOT / "suite/grids/smoke.json", searches=SEARCHES, steps=STEPS)
    )
    return path


def bench(grid: Path, results: Path) -> subprocess.Popen[str]:
    """Start a run with two workers, which saves its searches at every step."""
    options = ["--output", str(results), "--workers", "2", "--checkpoint", "0"]
    command = [*COMMAND, str(grid), *options]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)


def descendants(root: int) -> set[int]:
    """All processes below ``root``."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended since it was listed
    found, wave = set(), {root}
    while wave:
        wave = {number for number, parent in parents.items() if parent in wave}
        found |= wave
    return found


def is_left(number: int) -> bool:
    """Whether a process is there; one that has ended but was not waited for is not."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_gone(numbers: set[int], seconds: float = 20.0) -> set[int]:
    """Those of the processes that are still there after a while."""
    end = time.monotonic() + seconds
    while (left := {number for number in numbers if is_left(number)}) and time.monotonic() < end:
        time.sleep(0.02)
    return left


class Tally(Counter[str]):
    """What happened, by name."""

    @property
    def kills(self) -> int:
        """All of them."""
        return self["kills of the run itself"] + self["kills of a worker or what it started"]


def whole(results: Path, tally: Tally) -> dict[Path, bytes]:
    """The finished records, with their bytes; an exception where a file is not whole.

    A record is written before its lower bound is computed, and finished with it: the next run adds
    the bound where a kill came between the two.
    """
    found = {}
    for path in sorted(results.rglob("seed*.json")):
        record = read_record(path)
        if record["status"] not in ("ok", "oom"):
            continue
        read_devices(path)
        if record["bound_kind"] == NOT_BOUNDED:
            tally["records found without their bound"] += 1
        else:
            found[path] = path.read_bytes()
    for path in results.rglob("*.checkpoint.npz"):
        with np.load(path, allow_pickle=False) as data:
            json.loads(str(data["search"]))
    return found


def disturb(run: subprocess.Popen[str], most: float, chance: random.Random, tally: Tally) -> None:
    """Kill the run, or one of its workers and then the run, within ``most`` seconds."""
    below: set[int] = set()
    try:
        run.wait(chance.uniform(0.3, most))
        tally["runs that ended before their kill"] += 1
    except subprocess.TimeoutExpired:
        below = descendants(run.pid)
        if below and chance.random() < 0.3:
            os.kill(chance.choice(sorted(below)), signal.SIGKILL)
            tally["kills of a worker or what it started"] += 1
            time.sleep(chance.uniform(0.0, 1.0))
            below |= descendants(run.pid)
        run.kill()
        tally["kills of the run itself"] += 1
    run.communicate()
    tally["processes left"] += len(wait_until_gone(below))


def torture(kills: int, folder: Path, chance: random.Random) -> Tally:
    """Kill runs until there were that many kills, then let one finish; check all the while."""
    tally, number = Tally(), 0
    # What is compiled once would make the calm run seem long.
    bench(write_grid(folder), folder / "compiled").communicate()
    start = time.monotonic()
    bench(write_grid(folder), folder / "calm").communicate()
    most = SHARE * (time.monotonic() - start)
    while tally.kills < kills:
        number += 1
        grid, results = write_grid(folder), folder / f"round{number}"
        before: dict[Path, bytes] = {}
        while tally.kills < kills and len(before) < CELLS:
            disturb(bench(grid, results), most, chance, tally)
            after = whole(results, tally)
            for path, content in before.items():
                if after.get(path) != content:
                    tally["finished records lost or changed"] += 1
                    print(f"{path} was {content.decode()}\nand is {after.get(path)!r}")
            before = after
            print(
                f"{tally.kills} kills, round {number}, {len(before)} of {CELLS} cells", flush=True
            )
        last = bench(grid, results)
        last.communicate()
        tally["last runs that failed"] += last.returncode != 0
        check_end(results, tally)
        tally["records unlike an undisturbed run's"] += unlike(results, folder / "calm")
        tally["cells"] += CELLS
    return tally


def check_end(results: Path, tally: Tally) -> None:
    """Nothing but records, placements and logs is there, and each log is whole."""
    tally["temporary files left"] += len(list(results.rglob(".part-*")))
    tally["checkpoints left"] += len(list(results.rglob("*.checkpoint.npz")))
    for path in results.rglob("mutation/seed*.csv"):
        steps = [int(line.split(",")[0]) for line in path.read_text().splitlines()[1:]]
        tally["logs with a step missing or twice"] += steps != list(range(1, STEPS + 1))
    for path in results.rglob("seed*.json"):
        tally["cells that are not finished"] += read_record(path)["status"] not in ("ok", "oom")


def unlike(results: Path, calm: Path) -> int:
    """Records that are not those of the undisturbed run, clocks apart."""
    different = 0
    for path in sorted(calm.rglob("seed*.json")):
        here = results / path.relative_to(calm)
        same = here.exists() and deterministic_part(read_record(here)) == deterministic_part(
            read_record(path)
        )
        different += not same
    return different


TEXT = """# Killing a bench

`python -P benchmarks/kill.py {kills}`: a grid of 16 cells (8 searches of 40 steps with a
checkpoint at every step, and 8 cells that wait a moment) is killed with `kill -9` at random
instants within the time that it takes undisturbed, and run again until all is finished; then the
next round begins. After every kill all that lies in the results folder is read back.

| | |
|---|---|
{rows}

{seconds:.0f} seconds on {cores} cores. All rows from "processes left" on must be 0.
"""
WANTED = (
    "kills of the run itself",
    "kills of a worker or what it started",
    "runs that ended before their kill",
    "records found without their bound",
    "cells",
    "processes left",
    "finished records lost or changed",
    "records unlike an undisturbed run's",
    "cells that are not finished",
    "logs with a step missing or twice",
    "temporary files left",
    "checkpoints left",
    "last runs that failed",
)


def main() -> int:
    """Write kill.md beside this file; 1 where anything was lost."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    start = time.monotonic()
    with TemporaryDirectory() as folder:
        tally = torture(kills, Path(folder), random.Random(9))
    rows = "\n".join(f"| {name} | {tally[name]} |" for name in WANTED)
    cores = len(os.sched_getaffinity(0))
    text = TEXT.format(kills=kills, rows=rows, seconds=time.monotonic() - start, cores=cores)
    Path(__file__).with_suffix(".md").write_text(text)
    print(text)
    return 1 if any(tally[name] for name in WANTED[5:]) else 0


if __name__ == "__main__":
    sys.exit(main())
