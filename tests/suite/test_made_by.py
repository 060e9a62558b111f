"""A record outlives its code no longer: what a change makes run again, in a copy of the sources."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT, SMOKE_GRAPH

PLACERS = {
    "gpu_only": ("gpu_only", "{}"),
    "human_expert": ("human_expert", "{}"),
    "metis": ("metis", "{}"),
    "scotch": ("scotch", "{}"),
    "m_topo": ("m_topo", "{}"),
    "m_etf": ("m_etf", "{}"),
    "heft": ("heft", "{}"),
    "m_sct": ("m_sct", "{}"),
    "best_of_random": ("best_of_random", "{ k = 20 }"),
    "restarts_scotch": ("restarts", '{ placer = "scotch", options = { imbalance = [0.01] } }'),
    "restarts_metis": ("restarts", "{}"),
    "annealing": ("annealing", "{}"),
    "annealing_alone": ("annealing", '{ starts = ["gpu_only"] }'),
    "inner_inner": ("restarts", '{ placer = "annealing", options = { walks = [2] } }'),
}
"""Label -> placer and parameters."""
SCRIPT = """
import json, sys
from pathlib import Path
from suite.bench.fingerprint import fingerprint
from suite.bench.grid import load_grid
from suite.bench.made_by import code_of
from suite.bench.record import finished, write_record
from suite.bench.run_cell import header
reasons = {}
for job in load_grid(sys.argv[1]).jobs:
    path = job.cell.path(Path(sys.argv[2]))
    if sys.argv[3] == "write":
        write_record(header(job) | {"status": "ok"}, None, path)
    code = None if sys.argv[3] == "keep" else code_of(job)["digest"]
    reasons[job.cell.placer] = finished(path, fingerprint(job), code)[1]
print(json.dumps(reasons))
"""


class Copy:
    """A copy of placebench's sources, with a record of every placer."""

    def __init__(self, folder: Path) -> None:
        self.sources, self.results, self.grid = (folder / n for n in ("src", "results", "g.toml"))
        for package in ("suite", "baselines", "planners", "models"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, self.sources / package, ignore=ignored)
        lines = ['machine = "k40"', "[[task]]", 'name = "tiny"', "gpus = 2"]
        lines += [f'graph = "{SMOKE_GRAPH}"']
        for label, (name, parameters) in PLACERS.items():
            lines += ["[[placer]]", f'name = "{name}"', f'label = "{label}"']
            lines += [f"parameters = {parameters}"]
        self.grid.write_text("\n".join(lines))
        assert self.again("write") == {}

    def again(self, mode: str = "ask") -> dict[str, str]:
        """Which cells would run again, and why."""
        command = [sys.executable, "-P", "-c", SCRIPT, self.grid, self.results, mode]
        done = subprocess.run(
            [str(part) for part in command],
            env=os.environ | {"PYTHONPATH": str(self.sources)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return {label: why for label, why in json.loads(done.stdout).items() if why}

    def edit(self, path: str, old: str, new: str) -> None:
        """Change the one place where a file of the sources says ``old``."""
        file = self.sources / path
        text = file.read_text()
        assert text.count(old) >= 1
        file.write_text(text.replace(old, new, 1))

    def add_line(self, path: str) -> None:
        """Add code to a file of the sources."""
        with (self.sources / path).open("a") as file:
            file.write("ADDED = 1\n")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("copy"))


@pytest.fixture
def copy(whole, tmp_path):
    """The copy, which is as it was again after the test."""
    kept = tmp_path / "kept"
    shutil.copytree(whole.sources, kept, ignore=shutil.ignore_patterns("__pycache__"))
    yield whole
    shutil.rmtree(whole.sources)
    shutil.copytree(kept, whole.sources)


def code(*labels):
    return dict.fromkeys(labels, "code")


def test_a_line_of_a_helper_concerns_the_placers_that_use_it(copy):
    copy.add_line("baselines/list_scheduling/memory_tracker.py")
    users = code("m_etf", "heft", "m_sct", "annealing", "inner_inner")
    assert copy.again() == users
    assert copy.again("keep") == {}


def test_words_concern_nobody(copy):
    path = "baselines/list_scheduling/memory_tracker.py"
    copy.edit(path, '"""', '"""In other words: ')
    copy.edit(path, "import numpy as np\n", "import numpy as np  # it is fast\n\n\n")
    assert copy.again() == {}


def test_how_progress_is_shown_concerns_nobody_but_the_rules_of_searches_do(copy):
    for name in ("progress_log", "tensorboard", "checkpoint", "registry"):
        copy.add_line(f"suite/search/{name}.py")
    assert copy.again() == {}
    copy.edit("suite/search/placer.py", "self.evaluations += 1", "self.evaluations += 2")
    assert copy.again() == code(*PLACERS)


def test_placers_that_are_started_by_name_count(copy):
    copy.add_line("baselines/scotch.py")
    assert copy.again() == code("scotch", "restarts_scotch")


def test_a_new_version_of_a_library_concerns_those_that_import_it(copy):
    folder = copy.sources / "pyscotch-99.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pyscotch\nVersion: 99.0\n")
    assert copy.again() == code("scotch", "restarts_scotch")


def test_a_new_field_with_a_default_is_no_new_setting(copy):
    """It is new code: with --keep-code, nothing runs again."""
    copy.edit(
        "baselines/best_of_random.py",
        "    def place(",
        '    more: float = 1.5\n    """A new parameter."""\n\n    def place(',
    )
    assert copy.again() == code("best_of_random")
    assert copy.again("keep") == {}
