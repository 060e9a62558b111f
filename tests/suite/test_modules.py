"""Modules and functions as models to place, and broken ones."""

import json
import sys

import pytest
from command_line import ROOT, placebench
from users_models import outcomes

from suite.capture import from_module
from suite.capture.options import Options
from suite.cli import main
from suite.core.errors import InputError

BATCH, UNITS, FLOAT = 8, 64, 4

NET = """
import tensorflow as tf
print("users' modules may print")
w = tf.Variable(tf.ones([64, 64]), name="w")
b = tf.Variable(tf.zeros([64]), name="b")
inputs = [tf.TensorSpec([8, 64])]

@tf.function
def layer(x):
    return tf.nn.relu(tf.matmul(x, w) + b)

def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(layer(layer(x)) ** 2)
    for v, g in zip((w, b), tape.gradient(loss, [w, b])):
        v.assign_sub(0.1 * g)
    return loss

step = tf.function(train, input_signature=inputs)
class Builders:
    concrete = staticmethod(lambda: step.get_concrete_function())
def pair(size=3): return tf.function(train), inputs
def plain(): return train, inputs
def network():
    import keras
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])

unknown = tf.function(train)
number = 3
def needs(batch): pass
odd = [tf.Variable(tf.ones([3]), name=name) for name in ("Größe 1", "Größe_1", "_x")]
@tf.function(input_signature=[])
def odd_names(): return tf.add_n([v.assign_add(tf.ones([3])) for v in odd])
def model_and_inputs(): return network(), inputs
def nothing(): pass
def nonsense(): return {"a": 1}
def numbers(): return train, [3]
def bare(): return train, tf.TensorSpec([8, 64])
def many(): return train, inputs * 2
def fails(): raise ValueError("no data at all\\nand more")
def leaves(): raise SystemExit("usage: net")
@tf.function(input_signature=[tf.TensorSpec([3, 4])])
def clash(x): return tf.matmul(x, x)
@tf.function(input_signature=[tf.TensorSpec([None, 64])])
def open_batch(x): return tf.matmul(x, w)
@tf.function(input_signature=[tf.TensorSpec([3])])
def loop(x):
    for _ in tf.range(3):
        x = x * 2.0
    return x
@tf.function(input_signature=[])
def empty(): pass
def gone():
    v = tf.Variable(1.0)
    @tf.function(input_signature=[tf.TensorSpec([3])])
    def f(x): return x * v.assign_add(1.0)
    return f.get_concrete_function()
"""


@pytest.fixture
def folder(user_folder, monkeypatch):
    """A folder with the user's modules, to run in."""
    monkeypatch.syspath_prepend(user_folder)
    (user_folder / "users_net.py").write_text(NET)
    (user_folder / "users_broken.py").write_text("import users_net\n1 / 0\n")
    (user_folder / "users_needy.py").write_text("import not_installed_at_all\n")
    yield user_folder
    for name in ("users_net", "users_broken", "users_needy"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["step", "Builders.concrete", "pair", "plain"])
def test_every_way_to_give_a_step_is_the_same_step(name):
    """Nested functions are inlined: two layers forward, their gradients, two updates."""
    graph = from_module.capture_target(f"users_net:{name}", Options()).graph
    assert graph.op_types.count("MatMul") == 2 + 3
    assert graph.op_types.count("AssignSubVariableOp") == 2
    assert not [t for t in graph.op_types if "PartitionedCall" in t]
    assert graph.persistent_bytes.sum() == FLOAT * (UNITS * UNITS + UNITS)
    products = [i for i, t in enumerate(graph.op_types) if t == "MatMul"]
    assert graph.flops[products].tolist() == [2 * BATCH * UNITS * UNITS] * 5
    assert graph.metadata["parameters"] == UNITS * UNITS + UNITS


def test_a_users_module_is_placed_and_simulated(folder, capsys):
    """The module is found in the current folder; what it prints is kept out of the answer."""
    here = ["users_net:step", "--machine", "k40", "--gpus", "2"]
    run = ["place", *here, "--placer", "metis", "--json"]
    done = placebench(*run, "--output", "p.json", "--trace", "t.json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    verdict = json.loads(done.stdout)
    assert "not cached" in verdict["model"]
    assert verdict["placer"] == "metis"
    assert verdict["status"] == "ok"
    assert verdict["ratio_to_bound"] == verdict["step_time"] / verdict["lower_bound"] >= 1
    assert list(verdict["busy"]) == list(verdict["capacity"]) == ["cpu:0", "gpu:0", "gpu:1"]
    assert outcomes(verdict) == dict.fromkeys(["cpu_only", "gpu_only", "scotch", "mincut"], "ok")
    trace = json.loads((folder / "t.json").read_text())["traceEvents"]
    assert max(e["ts"] + e["dur"] for e in trace if e["ph"] == "X") == pytest.approx(
        1e6 * verdict["step_time"]
    )
    again = ["simulate", *here, "--placement", "p.json", "--json"]
    assert main(again) == 0
    assert json.loads(capsys.readouterr().out)["step_time"] == verdict["step_time"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("users_nett:step", "no module 'users_nett' in this folder or installed"),
        ("users_net.layers:step", "no module 'users_net.layers' in this folder"),
        ("users_net.py:step", "names no function; write package.module:function (no .py)"),
        ("users_net:", "names no function"),
        ("users_net:stepp", "module users_net has no 'stepp'; did you mean 'step'?"),
        ("users_broken:step", "ZeroDivisionError: division by zero (users_broken.py:2)"),
        ("users_needy:step", "No module named 'not_installed_at_all' (users_needy.py:1)"),
        ("users_net:number", "users_net:number gives 3 (int); return a tf.function with"),
        ("users_net:nothing", "users_net:nothing gives None; return"),
        ("users_net:model_and_inputs", "gives a Keras model and its inputs: of what"),
        ("users_net:Builders.concrte", "no 'concrte'; did you mean 'concrete'?"),
        ("users_net:nonsense", "gives {'a': 1} (dict); return"),
        ("users_net:inputs", "gives a list (TensorSpec); return"),
        ("users_net:needs", "users_net:needs needs the argument 'batch'"),
        ("users_net:unknown", "the step takes x of unknown shapes; return"),
        ("users_net:numbers", "3 (int) among the step's inputs; each must be a tf.TensorSpec"),
        ("users_net:bare", "its second must be a list of tf.TensorSpec"),
        ("users_net:many", "tracing users_net:many failed: TypeError: "),
        ("users_net:fails", "users_net:fails failed: ValueError: no data at all (users_net.py:"),
        ("users_net:leaves", "users_net:leaves failed: SystemExit: usage: net (users_net.py:"),
        ("users_net:clash", "Dimensions must be equal, but are 4 and 3"),
        ("users_net:open_batch", "users_net:open_batch: tensor 'x:0' has the unknown shape"),
        ("users_net:loop", "calls a function; build the step from plain operations"),
        ("users_net:empty", "users_net:empty: the step computes nothing; return its loss"),
        ("users_net:gone", "users_net:gone: the step's variables are gone; return the tf.function"),
    ],
)
def test_a_wrong_module_or_function_is_told_on_one_line(target, words):
    with pytest.raises(InputError) as error:
        from_module.capture_target(target, Options())
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_users_folder_that_a_package_hides_is_told(user_folder):
    (user_folder / "models").mkdir()
    (user_folder / "models" / "own.py").write_text(NET)
    done = placebench("place", "models.own:step", "--machine", "k40", "--placer", "gpu_only")
    hidden = f"models/own.py is hidden by another models ({ROOT}/models/__init__.py)"
    assert done.stderr == f"placebench: error: {hidden}; give the folder models another name\n"
    assert done.returncode == 2


@pytest.mark.parametrize("target", ["users_nett:step", "users_net:nonsense"])
def test_a_wrong_module_or_function_ends_with_exit_code_2(folder, target):
    done = placebench("place", target, "--machine", "k40", "--placer", "gpu_only", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("placebench: error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_variables_may_have_names_that_operations_cannot_have():
    program = from_module.capture_target("users_net:odd_names", Options())
    assert list(program.variables) == ["Gr__e_1", "Gr__e_1_1", "variable_x"]


@pytest.mark.usefixtures("folder")
def test_a_function_may_return_a_keras_model():
    graph = from_module.capture_target("users_net:network", Options(batch=7)).graph
    assert graph.metadata["choices"][0].endswith(" (7, 4)")
