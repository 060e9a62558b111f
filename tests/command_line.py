"""Runs placebench in a process of its own, with the badly behaved placers of tests/plugin."""

import json
import os
import subprocess
import sys
from pathlib import Path

import suite

PLUGIN = Path(__file__).parent / "plugin"
SMOKE_GRAPH = Path(suite.__file__).parent / "grids" / "smoke.json"
COMMAND = [sys.executable, "-P", "-m", "suite.cli"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(PLUGIN)}


def placebench(*arguments, **options):
    """The finished process, with stdout and stderr as text."""
    command = [*COMMAND, *(str(a) for a in arguments)]
    given = {"capture_output": True, "text": True, "env": ENVIRONMENT, "timeout": 300}
    return subprocess.run(command, check=False, **(given | options))


def start(*arguments):
    """A running process in its own session."""
    command = [*COMMAND, *(str(a) for a in arguments)]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL)


def write_grid(path, placers, timeout=60, seed=0):
    """A grid of placers (name -> seeds) on the smoke graph."""
    lines = ['machine = "k40"', f"seed = {seed}", "[budget]", f"timeout = {timeout}"]
    lines += ["[[task]]", 'name = "tiny"', "gpus = 2", f'graph = "{SMOKE_GRAPH}"']
    for name, seeds in placers.items():
        lines += ["[[placer]]", f'name = "{name}"', f"seeds = {seeds}"]
    path.write_text("\n".join(lines))
    return path


def records(results):
    """PLACER/seedN -> record, of all that are whole."""
    paths = sorted(results.glob("*/*/*/*/*/seed*.json"))
    return {f"{p.parent.name}/{p.stem}": json.loads(p.read_text()) for p in paths}
