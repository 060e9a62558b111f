"""Kernels made of one function by other globals: each is its own, wherever it was compiled."""

import os
import subprocess
import sys

from suite.core.compilation import inline, kernel, lean_kernel, with_globals
from suite.core.paths import ROOT

RULE = False


@inline
def leaf(x):
    # With the rule there is a list that no compiler takes, so it must be gone before.
    return [x, "x"] if RULE else x + 1


@inline
def branch(x):
    return leaf(x) + leaf(2 * x)


def trunk(x):
    return branch(x) if not RULE else -x


def test_a_global_reaches_all_that_is_inlined_and_what_it_rules_out_is_not_compiled():
    off, on = (with_globals(trunk, {"RULE": rule}) for rule in (False, True))
    assert (kernel(off)(3), lean_kernel(on, "on")(3), trunk(3)) == (11, -3, 11)


# Long enough not to be inlined: the second function calls the first by its name.
VARIANTS = """
from suite.core.compilation import lean_kernel, with_globals

RULE = False

def one(x):
    if RULE:
        return -1
{steps}
    return x

def many(x):
    return one(x) + one(x + 1)

def made(rule):
    name = "on" if rule else "off"
    single = lean_kernel(with_globals(one, {{"RULE": rule}}), name)
    return single, lean_kernel(with_globals(many, {{"one": single}}), name)

(on, _), (off, both) = made(True), made(False)
"""


def test_variants_compiled_by_two_processes_are_two_functions_in_a_third(tmp_path):
    """Each is the first that its process compiles, and numba numbers functions by process."""
    steps = "\n".join(f"    x = (x * {i + 3} + {i}) % 1_000_003 ^ {i * i}" for i in range(200))
    module = tmp_path / "variants.py"
    module.write_text(VARIANTS.format(steps=steps))
    paths = f"{tmp_path}{os.pathsep}{ROOT}"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": paths}

    def run(*words):
        script = f"import variants; print({', '.join(f'variants.{word}(0)' for word in words)})"
        command = [sys.executable, "-P", "-c", script]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return [int(word) for word in done.stdout.split()]

    assert run("on") == [-1]
    first = run("off")
    [many] = run("both")
    assert run("on", "off", "both") == [-1, *first, many]
    assert run("on", "both") == [-1, many]
    assert many != -2
