"""``from suite import ...``: what a placer's author needs, loaded only when it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import suite


@pytest.mark.parametrize("name", suite.__all__)
def test_every_name_is_there(name):
    assert getattr(suite, name).__name__ == name


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(suite.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = [alias.asname for node in block.body for alias in node.names]
    assert sorted(seen) == suite.__all__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Plaser'"):
        _ = suite.Plaser


def test_importing_the_package_loads_no_part_of_it():
    code = "import suite, sys; print([n for n in sys.modules if n.startswith(('suite.', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
