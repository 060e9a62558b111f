"""What a digest of code covers, on packages written for it."""

import importlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import version

import pytest
from command_line import ROOT

from suite.core import source_digest
from suite.core.library_versions import library_version
from suite.core.source_digest import (
    arguments,
    attributes,
    code_digest,
    libraries,
    reached,
)

FILES = {
    "pack/__init__.py": "",
    "pack/placer.py": (
        '"""Words."""\nfrom __future__ import annotations\n'
        "import json\nimport numpy as np\nfrom typing import TYPE_CHECKING\n"
        "from . import near\nif TYPE_CHECKING:\n    from pack import typed\n"
        "def place(problem, search):\n"
        '    """More words."""\n    from pack.lazy import late\n    import loose\n'
        "    make_placer('metis', {})\n    call('pack.child:run', problem.expert)\n"
    ),
    "pack/near.py": "import absent_library\n",
    "pack/lazy.py": "def late(): ...\n",
    "pack/child.py": "def run(): ...\n",
    "pack/typed.py": "",
    "pack/unused.py": "",
    "loose.py": "X = 1\n",
}


@pytest.fixture
def pack(tmp_path, monkeypatch):
    """A folder with two packages of somebody else, which no distribution holds."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    forget()
    yield tmp_path
    forget()


def forget():
    """As in a new process."""
    importlib.invalidate_caches()
    for name in ("reached", "_source", "_path", "_roots", "_siblings", "_first_party"):
        getattr(source_digest, name).cache_clear()


def digest_after(pack, name, text):
    (pack / name).write_text(text)
    forget()
    return code_digest("pack.placer")


def test_all_that_is_reached_counts_and_nothing_else(pack):
    assert reached("pack.placer") == (
        *("loose", "pack", "pack.child", "pack.lazy", "pack.near", "pack.placer"),
    )
    assert reached("pack.placer", without=("pack.near", "loose")) == (
        *("pack", "pack.child", "pack.lazy", "pack.placer"),
    )


def test_names_of_the_whole_suite_stand_for_the_modules_that_they_come_from(pack):
    """A placer that has them from ``suite`` is no older when ``suite.apply`` changes."""
    named = "from suite import BudgetExhausted, Placement, Search as S\n"
    homes = ("suite.core.errors", "suite.core.placement", "suite.search.placer")
    digest_after(pack, "pack/placer.py", named)
    assert set(reached("pack.placer")) == {"pack", "pack.placer", *reached(*homes)}
    digest_after(pack, "pack/placer.py", "from suite import Placement, apply\n")
    assert "suite.execution.apply" in reached("pack.placer")
    digest_after(pack, "pack/placer.py", "import suite\nsuite.apply\n")
    assert "suite.execution.apply" in reached("pack.placer")


@pytest.mark.parametrize("name", ["pack/__init__.py", "pack/lazy.py", "pack/child.py", "loose.py"])
def test_a_change_of_what_is_reached_is_a_change(pack, name):
    before = code_digest("pack.placer")
    assert digest_after(pack, name, FILES[name] + "X = 2\n") != before


@pytest.mark.parametrize("name", ["pack/typed.py", "pack/unused.py"])
def test_a_change_of_what_is_not_reached_is_none(pack, name):
    before = code_digest("pack.placer")
    assert digest_after(pack, name, "X = 2\n") == before


def test_words_and_layout_do_not_count(pack):
    before = code_digest("pack.placer")
    text = FILES["pack/placer.py"].replace("ords", "ords, others").replace("json\n", "json # c\n\n")
    assert digest_after(pack, "pack/placer.py", text) == before
    assert digest_after(pack, "pack/placer.py", text.replace("'metis'", "'scotch'")) != before


def test_types_do_not_count(pack):
    before = code_digest("pack.placer")
    text = FILES["pack/placer.py"].replace("problem, search):", "problem: X, *, search: Y) -> Z:")
    assert digest_after(pack, "pack/placer.py", text) != before  # a parameter by keyword alone
    typed = text.replace("*, ", "").replace("import TYPE_CHECKING", "import TYPE_CHECKING, Any")
    assert digest_after(pack, "pack/placer.py", typed) == before


def test_what_type_checkers_are_not_to_read_counts(pack):
    text = FILES["pack/near.py"] + "if not TYPE_CHECKING:\n    import hidden\n"
    before = digest_after(pack, "pack/near.py", text)
    assert digest_after(pack, "pack/near.py", text.replace("hidden", "other")) != before


def test_code_says_which_libraries_attributes_and_arguments_it_uses(pack):
    modules = reached("pack.placer")
    assert libraries(*modules) == ("absent_library", "numpy")
    assert "expert" in attributes(*modules)
    assert "groups" not in attributes(*modules)
    assert arguments(*modules, function="make_placer") == ("metis",)


def test_versions_are_those_of_distributions():
    import numpy

    assert library_version("numpy") == numpy.__version__
    assert library_version("dateutil") == f"python-dateutil {version('python-dateutil')}"
    assert library_version("absent_library") is None


def test_a_module_that_is_not_there_is_an_error():
    with pytest.raises(ModuleNotFoundError, match=r"no module named .suite\.search\.nothing"):
        code_digest("suite.search.nothing")


KEYS = """
from suite.capture.cache import cache_key
from suite.capture.load_model import _key
from suite.capture.options import Options
print(*(cache_key(n) for n in ("rnnlm", "nmt_2", "inception_v3")), _key({file!r}, Options()))
"""


def test_captures_are_kept_only_as_long_as_their_code(tmp_path):
    """Every file that a capture reaches counts, for tasks and for model files; words do not."""
    for package in ("suite", "baselines", "planners", "models"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    model = tmp_path / "net.pb"
    model.write_bytes(b"")

    def keys():
        command = [sys.executable, "-P", "-c", KEYS.format(file=str(model))]
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    known = [keys()]

    def changed(file, line):
        with (tmp_path / file).open("a") as opened:
            opened.write(line)
        known.append(keys())
        return [now != then for now, then in zip(known[-1], known[-2], strict=True)]

    assert changed("suite/capture/flatten.py", "\n# words\n") == [False] * 4
    assert changed("suite/capture/flatten.py", "\nADDED = 1\n") == [True] * 4
    assert changed("suite/core/graph.py", "\nADDED = 1\n") == [True] * 4
    assert changed("suite/capture/from_keras.py", "\nADDED = 1\n") == [False] * 3 + [True]
    assert changed("models/_recurrent.py", "\nADDED = 1\n") == [True, True, False, False]
    assert changed("suite/simulator/timeline.py", "\nADDED = 1\n") == [False] * 4
