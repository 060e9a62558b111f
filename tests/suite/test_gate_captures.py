"""Two checkouts that capture a task differently are each run with their own code."""

import os
import shutil
import subprocess

from command_line import ROOT

from suite.core.child_python import python_command

MODEL = """
from dataclasses import dataclass

from suite.core.model import all_on_first


@dataclass(frozen=True)
class Chain:
    paper_ops: None = None
    gpus: int = 1
    choices: tuple[str, ...] = ()
    block: None = None

    def build(self):
        import tensorflow as tf

        @tf.function
        def step(x):
            for _ in range(PRODUCTS):
                x = tf.matmul(x, x)
            return x

        return step, [tf.TensorSpec([8, 8])]

    def expert(self, graph, gpus):
        return all_on_first(graph, gpus)


TASKS = {"chain": Chain()}
"""


def ops_of_chain(code, cache):
    """Run a checkout as the gate does, on a command that needs no compiled simulator."""
    environment = os.environ | {"PYTHONPATH": str(code), "PLACEBENCH_CACHE": str(cache)}
    done = subprocess.run(
        python_command("-m", "suite.cli", "graph", "chain"),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (line,) = (one for one in done.stdout.splitlines() if one.startswith("operations  "))
    return int(line.split()[-1])


def test_each_checkout_captures_with_its_own_code(tmp_path, monkeypatch):
    """The head's folder is the working folder, as it is for who runs the gate."""
    for products, name in ((3, "base"), (5, "head")):
        for package in ("suite", "baselines", "planners", "models"):
            shutil.copytree(ROOT / package, tmp_path / name / package)
        text = MODEL.replace("PRODUCTS", str(products))
        (tmp_path / name / "models/chain.py").write_text(text)
    monkeypatch.chdir(tmp_path / "head")
    found = [ops_of_chain(tmp_path / name, tmp_path / "cache") for name in ("base", "head")]
    assert found == [3 + 2, 5 + 2]  # products, the placeholder and what the step returns
