"""A grid of a small captured step on two CPUs of this host, to be simulated and run for real."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from command_line import inside, placebench
from small_steps import layers

from suite.formats.graph_npz import save_graph

CPU = """
[[device]]
name = "cpu:0"
kind = "cpu"
memory = "1 GB"
peak_flops = 1e10
memory_bandwidth = 1e10
launch_overhead = 2e-6
"""
MACHINE = f"""
name = "pair"
{CPU}
{CPU.replace("cpu:0", "cpu:1")}
[[link]]
bandwidth = 1e9
latency = 1e-4
"""
FEW = "few/mine.toml"
"""Beside the whole grid, one of its name with fewer placers."""
_GRID = """
machine = "pair"
cpus = 2
[budget]
timeout = 60
[[task]]
name = "layers"
graph = "{}"
gpus = 0
"""


def prepare(folder: Path, placers: dict[str, int]) -> None:
    """Write ``mine.toml`` (placer -> seeds), its graph, and ``cache`` with its machine."""
    machines = folder / "cache" / "machines"
    machines.mkdir(parents=True)
    (machines / "pair.toml").write_text(MACHINE)
    save_graph(layers(folder).graph, folder / "layers.npz")
    write_grid(folder / "mine.toml", placers, "layers.npz")


def write_grid(path: Path, placers: dict[str, int], graph: str) -> None:
    """The grid of ``placers`` on the graph file."""
    tables = [f'[[placer]]\nname = "{name}"\nseeds = {n}\n' for name, n in placers.items()]
    path.write_text(_GRID.format(graph) + "".join(tables))


def run(folder: Path, *arguments: str, **options: object):
    """Run placebench with the machine of ``folder``; ``options`` are those of subprocess.run."""
    path = os.pathsep.join(p for p in sys.path if p)
    cache = {"PYTHONPATH": path, "PLACEBENCH_CACHE": str(folder / "cache")}
    return placebench(*arguments, env=os.environ | cache, **options)


def ask(folder: Path, *arguments: str):
    """As :func:`run`, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLACEBENCH_CACHE", str(folder / "cache"))
        return inside(*arguments)


def bench(folder: Path, *arguments: str, grid: str = "mine.toml", **options: object):
    """Run the grid; records go to ``folder/r``."""
    words = ["bench", str(folder / grid), "--output", str(folder / "r"), *arguments]
    return run(folder, *words, **options)
