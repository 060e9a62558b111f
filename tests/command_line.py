"""Runs placebench in a process of its own, with the badly behaved placers of tests/plugin."""

import io
import json
import os
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import suite
from suite.cli import main

PLUGIN = Path(__file__).parent / "plugin"
SMOKE_GRAPH = Path(suite.__file__).parent / "grids" / "smoke.json"
COMMAND = [sys.executable, "-P", "-m", "suite.cli"]
# What a script starts in the background has SIGINT ignored, or with nohup SIGHUP, and so has all
# that it starts.
DEFAULT_SIGNALS = ["env", "--default-signal=INT,HUP,TERM"]
ROOT = Path(suite.__file__).parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(PLUGIN), str(ROOT)])}


def placebench(*arguments, **options):
    """The finished process, which signals reach, with stdout and stderr as text."""
    command = [*DEFAULT_SIGNALS, *COMMAND, *(str(a) for a in arguments)]
    given = {"capture_output": True, "text": True, "env": ENVIRONMENT, "timeout": 900}
    return subprocess.run(command, check=False, **(given | options))


def inside(*arguments):
    """As :func:`placebench`, in this process: a process of its own takes seconds to start."""
    words = [str(a) for a in arguments]
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def start(*arguments):
    """A running process that signals reach, also where the tests themselves ignore them."""
    command = [*DEFAULT_SIGNALS, *COMMAND, *(str(a) for a in arguments)]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL)


def write_grid(path, placers, timeout=60, seed=0, parameters="{}"):
    """A grid of placers (name -> seeds) on the smoke graph."""
    lines = ['machine = "k40"', f"seed = {seed}", "[budget]", f"timeout = {timeout}"]
    lines += ["[[task]]", 'name = "tiny"', "gpus = 2", f'graph = "{SMOKE_GRAPH}"']
    for name, seeds in placers.items():
        lines += ["[[placer]]", f'name = "{name}"', f"seeds = {seeds}"]
        lines += [f"parameters = {parameters}"]
    path.write_text("\n".join(lines))
    return path


def records(results):
    """PLACER/seedN -> record, of all that are whole."""
    paths = sorted(results.glob("*/*/*/*/*/seed*.json"))
    return {f"{p.parent.name}/{p.stem}": json.loads(p.read_text()) for p in paths}


def children(pid):
    """Processes whose parent is ``pid``."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def wait_until(holds, seconds=60.0):
    """Wait for a condition; fail when it does not come."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
