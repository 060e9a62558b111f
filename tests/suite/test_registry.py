"""What files of one's own are told that are no placers and no models."""

import sys

import pytest

import baselines
import models
from suite.cli import main
from suite.search.registry import placers, task_sources, tasks

MODEL = "from models.nmt import TASKS as known\nTASKS = dict(list(known.items())[:1])\n"
CALLED_TWICE = "two tasks are named 'nmt_2': models.again and models.nmt; rename one"
LIKE_ANOTHER = "two placers are named 'hdp': baselines.hdp and planners.hdp; rename one"


@pytest.fixture(autouse=True)
def _forgets():
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("baselines.", "models.")):
            del sys.modules[name]
    for found in (placers, tasks, task_sources):
        found.cache_clear()


@pytest.mark.parametrize(
    ("package", "name", "text", "told"),
    [
        (models, "bare", "X = 1\n", "models.bare defines no TASKS, a mapping of names to models;"),
        (models, "again", MODEL, CALLED_TWICE),
        (
            models,
            "odd",
            "\nTASKS = made\n",
            "NameError: name 'made' is not defined (odd.py:2); mend",
        ),
        (
            models,
            "needy",
            "import not_there\n",
            "No module named 'not_there' (needy.py:1); install",
        ),
        (baselines, "odd", "def place(:\n", "cannot import baselines.odd: SyntaxError: invalid"),
        (baselines, "hdp", "", LIKE_ANOTHER),
    ],
)
def test_a_file_that_fails_is_told_in_one_line(
    tmp_path, request, capsys, package, name, text, told
):
    (tmp_path / f"{name}.py").write_text(text)
    package.__path__.append(str(tmp_path))
    request.addfinalizer(lambda: package.__path__.remove(str(tmp_path)))
    for found in (placers, tasks, task_sources):
        found.cache_clear()
    kind = "placers" if package is baselines else "tasks"
    assert main(["list", kind]) == 2
    error = capsys.readouterr().err
    assert error.startswith("placebench: error: ")
    assert told in error
    assert error.count("\n") == 1
