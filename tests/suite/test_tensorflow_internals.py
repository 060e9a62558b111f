"""TensorFlow's private names: all there, all in one module, and whoever misses one is told."""

import ast
from pathlib import Path

import pytest

import suite
from suite.capture import tensorflow_internals
from suite.capture.tensorflow_internals import PRIVATE, Private
from suite.core.errors import InputError

ROOT = Path(suite.__file__).parents[1]
PACKAGES = ("suite", "baselines", "planners", "models")


@pytest.mark.parametrize("private", PRIVATE, ids=str)
def test_the_installed_tensorflow_has_it(private):
    assert callable(private.load())


def test_the_list_is_whole():
    found = [v for v in vars(tensorflow_internals).values() if isinstance(v, Private)]
    assert sorted(found) == sorted(PRIVATE)


@pytest.mark.parametrize(
    ("module", "name"), [("tensorflow.python.nothing", "get"), ("tensorflow", "no_such_name")]
)
def test_what_has_gone_is_named_with_its_purpose(module, name):
    with pytest.raises(InputError, match=rf"has no {module}\.{name}, which is needed to sing; "):
        Private(module, name, "sing").load()


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_private_modules_are_imported_nowhere_else():
    private = ("tensorflow.python", "tensorflow.core")
    for path in (p for folder in PACKAGES for p in (ROOT / folder).rglob("*.py")):
        assert not [name for name in imported(path) if name.startswith(private)], path
