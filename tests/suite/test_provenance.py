"""Where a record comes from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def dirty(repository: Path) -> str:
    script = "from suite.bench.provenance import provenance; print(provenance()['dirty'])"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_new_results_do_not_make_a_tree_dirty_but_new_code_does(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "suite", tmp_path / "suite", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / ".gitignore").write_text("__pycache__/\n")
    name = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for arguments in (["init", "-q"], ["add", "."], [*name, "commit", "-qm", "start"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    assert dirty(tmp_path) == "False"
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "seed0.json").write_text("{}")
    assert dirty(tmp_path) == "False"
    (tmp_path / "suite" / "new.py").write_text("")
    assert dirty(tmp_path) == "True"


def test_the_commit_of_a_repository_around_us_is_not_ours(tmp_path: Path) -> None:
    """As in a virtual environment within somebody's project."""
    site = tmp_path / "venv"
    shutil.copytree(ROOT / "suite", site / "suite", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / ".gitignore").write_text("venv/\n")
    name = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for arguments in (["init", "-q"], ["add", "."], [*name, "commit", "-qm", "start"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    script = "from suite.bench.provenance import provenance as p; print(p()['commit'])"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=site, capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"
