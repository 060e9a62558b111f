"""placebench place on other people's models: modules, Keras files, GraphDefs, and broken ones."""

import gzip
import json
import sys
import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf
from command_line import SMOKE_GRAPH, placebench
from two_ops import GRAPH, MACHINE

from suite.bench.first_use import compile_first
from suite.capture import from_graph_def, from_keras, from_module
from suite.capture.options import Options
from suite.cli import main
from suite.core.compile_time import COMPILE_TIME
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.formats.interchange import read_graph
from suite.formats.machine_toml import load_machine
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

v1 = tf.compat.v1
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
def folder(tmp_path, monkeypatch):
    """A folder with the user's module, to run in, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "users_net.py").write_text(NET)
    (tmp_path / "users_broken.py").write_text("import users_net\n1 / 0\n")
    (tmp_path / "users_needy.py").write_text("import not_installed_at_all\n")
    yield tmp_path
    for name in ("users_net", "users_broken", "users_needy"):
        sys.modules.pop(name, None)


def placed(capsys, *arguments):
    """The JSON object that ``placebench place ... --json`` prints."""
    assert main(["place", "--machine", "k40", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def outcomes(verdict):
    return {trial["placer"]: trial["status"] for trial in verdict["comparison"]}


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


@pytest.mark.parametrize("target", ["users_nett:step", "users_net:nonsense"])
def test_a_wrong_module_or_function_ends_with_exit_code_2(folder, target):
    done = placebench("place", target, "--machine", "k40", "--placer", "gpu_only", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("placebench: error: ")
    assert done.stderr.count("\n") == 1


def classifier():
    """6 words of 8 numbers each, an LSTM of 4 units, 3 classes."""
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((6,), name="words"),
            layers.Embedding(10, 8),
            layers.LSTM(4),
            layers.Dense(3, activation="softmax"),
        ]
    )


WEIGHTS = 10 * 8 + 4 * 4 * (8 + 4 + 1) + 3 * (4 + 1)


@pytest.mark.usefixtures("folder")
def test_a_keras_file_is_placed_and_captured_once(capsys):
    network = classifier()
    network.compile("adam", "sparse_categorical_crossentropy")
    network.save("net.keras")
    arguments = ["net.keras", "--batch", "2", "--gpus", "2", "--placer", "scotch"]
    first = placed(capsys, *arguments)
    assert first["choices"] == [
        "inputs words (2, 6)",
        "recurrent layers unrolled",
        "optimizer Adam and loss sparse_categorical_crossentropy, as compiled",
    ]
    assert first["model"].endswith("(cached from now on)")
    second = placed(capsys, *arguments)
    assert second["model"].endswith("(cached)")
    assert second["step_time"] == first["step_time"]
    network.layers[-1].kernel.assign_add(keras.ops.ones((4, 3)))
    network.save("net.keras")
    assert placed(capsys, *arguments)["model"].endswith("(cached from now on)")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_a_keras_step_trains_what_was_compiled(suffix):
    """Adam keeps two slots beside each weight, the learning rate and a step counter."""
    network = classifier()
    network.compile("adam", "sparse_categorical_crossentropy")
    network.save(f"net.{suffix}")
    graph = from_keras.capture_file(f"net.{suffix}", Options(batch=2)).graph
    assert graph.metadata["parameters"] == WEIGHTS
    assert graph.persistent_bytes.sum() == FLOAT * (3 * WEIGHTS + 1) + 8
    assert graph.name == "net"


@pytest.mark.usefixtures("folder")
def test_an_uncompiled_keras_file_gets_a_stated_loss_and_optimizer(capsys):
    classifier().save("net.keras")
    assert main(["graph", "net.keras"]) == 0
    facts = capsys.readouterr().out
    said = "not compiled: optimizer SGD and the sum of the outputs' mean squares as loss"
    assert f"chosen here                        {said}" in facts
    assert "inputs words (32, 6)" in facts
    assert f"trainable parameters               {WEIGHTS}" in facts


@pytest.mark.usefixtures("folder")
def test_several_inputs_outputs_and_losses():
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    hidden = keras.layers.Dense(5, kernel_regularizer="l2")(keras.layers.Add()([a, b]))
    p, q = keras.layers.Dense(3, name="p")(hidden), keras.layers.Dense(1, name="q")(hidden)
    network = keras.Model({"a": a, "b": b}, {"p": p, "q": q})
    sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    network.compile(keras.optimizers.SGD(0.1, momentum=0.9), {"p": sparse, "q": "mse"})
    network.save("named.keras")
    network = keras.Model([a, b], [p, q])
    network.compile("sgd", ["mse", "mae"])
    network.save("listed.keras")
    graph = from_keras.capture_file("named.keras", Options()).graph
    said = "optimizer SGD and loss p: sparse_categorical_crossentropy, q: mse, as compiled"
    labels = "labels of the outputs p (32,), q (32, 1), in this order"
    assert graph.metadata["choices"] == ["inputs a (32, 4), b (32, 4)", said, labels]
    labels = [n for n, t in zip(graph.op_names, graph.op_types, strict=True) if t == "Placeholder"]
    assert sorted(labels) == ["a", "b", "label_0", "label_1"]
    graph = from_keras.capture_file("listed.keras", Options()).graph
    assert graph.metadata["choices"][1] == "optimizer SGD and loss mse, mae, as compiled"


@pytest.mark.usefixtures("folder")
def test_a_function_may_return_a_keras_model():
    graph = from_module.capture_target("users_net:network", Options(batch=7)).graph
    assert graph.metadata["choices"][0].endswith(" (7, 4)")


def refused(capture, file, options=None):
    with pytest.raises(InputError) as error:
        capture(str(file), options or Options())
    assert "\n" not in str(error.value)
    return str(error.value)


def test_unusable_keras_files_are_told_on_one_line(folder):
    capture = from_keras.capture_file
    network = classifier()
    network.save("net.keras")
    network.save("net.h5")
    network.save_weights("net.weights.h5")
    for name in ("net.keras", "net.h5"):
        whole = (folder / name).read_bytes()
        (folder / f"cut_{name}").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile("other.keras", "w") as archive:
        archive.writestr("hello", "world")
    assert "cut_net.keras is damaged or no .keras file" in refused(capture, "cut_net.keras")
    assert "Keras cannot load cut_net.h5: OSError" in refused(capture, "cut_net.h5")
    other = refused(capture, "other.keras")
    assert "Keras cannot load other.keras" in other
    assert other.endswith("name the function that builds it instead (package.module:function)")
    assert "No model config found" in refused(capture, "net.weights.h5")
    keras.Sequential([keras.layers.Dense(3)]).save("unbuilt.keras")
    assert "unbuilt does not say its inputs" in refused(capture, "unbuilt.keras")
    keras.Sequential([keras.Input((3,)), keras.layers.ReLU()]).save("fixed.keras")
    assert "fixed has no trainable weights" in refused(capture, "fixed.keras")


@pytest.mark.usefixtures("folder")
def test_open_lengths_are_asked_for():
    words = keras.Input((None, 3), name="words")
    keras.Model(words, keras.layers.Dense(1)(keras.layers.GRU(4)(words))).save("net.keras")
    capture = from_keras.capture_file
    said = "input 'words' has the shape (?, ?, 3); give it whole with --input words=SIZE"
    assert said in refused(capture, "net.keras")
    assert said in refused(capture, "net.keras", Options(inputs={"words": (2, 5, 4)}))
    missing = refused(capture, "net.keras", Options(inputs={"word": (2, 5, 3)}))
    assert missing == "there is no input 'word'; inputs: words"
    graph = capture("net.keras", Options(inputs={"words": (2, 5, 3)})).graph
    assert graph.metadata["choices"][0] == "inputs words (2, 5, 3)"


def training_graph(resource):
    """TensorFlow 1: x w against y, gradient descent; an initialiser and a saver beside it."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        y = v1.placeholder(tf.float32, [None, 3], name="y")
        scale = v1.placeholder_with_default(np.float32(2), [], name="scale")
        w = v1.get_variable("w", [4, 3], use_resource=resource)
        loss = tf.reduce_mean((tf.matmul(x, w) * scale - y) ** 2, name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
        v1.global_variables_initializer()
        v1.train.Saver()
        return graph.as_graph_def(add_shapes=True)


def classmates(graph, name):
    same = graph.colocation == graph.colocation[graph.op_names.index(name)]
    return {graph.op_types[i] for i in np.flatnonzero(same)}


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("form", ["pb", "pbtxt", "pb.gz", "text.pb"])
def test_a_graph_def_with_variables(folder, resource, form):
    """Also: a variable counts once, and what updates it stays beside it."""
    definition = training_graph(resource)
    binary, text = definition.SerializeToString(), str(definition).encode()
    data = {"pb": binary, "pb.gz": gzip.compress(binary)}.get(form, text)
    (folder / f"train.{form}").write_bytes(data)
    graph = from_graph_def.capture_file(f"train.{form}", Options(batch=5)).graph
    assert graph.metadata["choices"][0] == "inputs x (5, 4), y (5, 3)"
    assert graph.metadata["choices"][1].startswith("runs loss, train, ")
    assert graph.persistent_bytes.sum() == FLOAT * 4 * 3
    (variable,) = np.flatnonzero(graph.persistent_bytes)
    assert graph.tensor_bytes[graph.producer == variable].sum() == 0
    update = "ResourceApplyGradientDescent" if resource else "ApplyGradientDescent"
    assert update in classmates(graph, "w")
    assert not [n for n in graph.op_names if n.startswith("save") or "Initializer" in n]
    product = graph.op_names.index("MatMul")
    assert graph.flops[product] == 2 * 5 * 4 * 3


def test_a_fetch_leaves_out_the_rest(folder):
    (folder / "train.pb").write_bytes(training_graph(True).SerializeToString())
    graph = from_graph_def.capture_file("train.pb", Options(fetch=("loss",))).graph
    assert graph.metadata["choices"] == ["inputs x (32, 4), y (32, 3)", "runs loss"]
    assert not [n for n in graph.op_names if n.startswith(("gradients", "train"))]
    message = refused(from_graph_def.capture_file, "train.pb", Options(fetch=("los",)))
    assert message == "train.pb: there is no operation 'los' to fetch; check the name"


def frozen_graph():
    """relu(x c) * keep, of which keep has no shape."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        keep = v1.placeholder(tf.float32, name="keep")
        tf.multiply(tf.nn.relu(tf.matmul(x, np.ones((4, 3), np.float32))), keep, name="out")
        return graph.as_graph_def()


def test_a_frozen_graph_def_is_placed(folder, capsys):
    (folder / "frozen.pb").write_bytes(frozen_graph().SerializeToString())
    arguments = ["frozen.pb", "--input", "keep=", "--gpus", "0", "--placer", "cpu_only"]
    arguments += ["--machine", "k40"]
    verdict = placed(capsys, *arguments)
    assert verdict["choices"][0] == "inputs x (32, 4), keep ()"
    assert list(verdict["busy"]) == ["cpu:0"]
    assert verdict["busy"]["cpu:0"] == verdict["step_time"]
    declined = {"gpu_only", "mincut", "metis"}
    assert outcomes(verdict) == {"scotch": "ok", **dict.fromkeys(declined, "skipped")}
    reasons = {t["reason"] for t in verdict["comparison"] if t["placer"] in declined}
    assert reasons == {"machine k40 has no GPU"}
    assert main(["place", *arguments]) == 0
    assert "metis              skipped: machine k40 has no GPU" in capsys.readouterr().out


def test_unusable_graph_defs_are_told_on_one_line(folder):
    capture = from_graph_def.capture_file
    whole = frozen_graph()
    data = whole.SerializeToString()
    (folder / "net.pb").write_bytes(data)
    assert "net.pb: input 'keep' has an unknown shape; give it whole" in refused(capture, "net.pb")
    (folder / "cut.pb").write_bytes(data[:-9])
    (folder / "cut.pbtxt").write_text(str(whole)[:-9])
    (folder / "cut.pb.gz").write_bytes(gzip.compress(data)[:-9])
    assert "cut.pb is damaged or no GraphDef; of a SavedModel, name the folder" in refused(
        capture, "cut.pb"
    )
    assert "cut.pbtxt is damaged or no GraphDef" in refused(capture, "cut.pbtxt")
    assert "cut.pb.gz cannot be unpacked" in refused(capture, "cut.pb.gz")
    whole.node[3].op = "Conv2DD"
    (folder / "op.pb").write_bytes(whole.SerializeToString())
    options = Options(inputs={"keep": ()})
    assert "Conv2DD" in refused(capture, "op.pb", options)
    del whole.node[0]
    (folder / "hole.pb").write_bytes(whole.SerializeToString())
    assert "'x' is read but not there" in refused(capture, "hole.pb", options)


def test_a_loop_in_a_graph_def_is_refused(folder):
    with tf.Graph().as_default() as graph:
        graph._set_control_flow_context(None)
        enter = tf.raw_ops.Enter(data=tf.constant(0), frame_name="f")
        tf.identity(tf.raw_ops.Exit(data=enter), name="out")
        (folder / "loop.pb").write_bytes(graph.as_graph_def().SerializeToString())
    assert "'Enter' is part of a loop; unroll it" in refused(from_graph_def.capture_file, "loop.pb")


def test_a_corrupt_file_ends_with_exit_code_2(folder, capsys):
    (folder / "net.pb").write_bytes(b"\x0a\xff\xff")
    assert main(["place", "net.pb", "--machine", "k40", "--placer", "gpu_only"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("placebench: error: net.pb is damaged or no GraphDef")
    assert said.count("\n") == 1
    assert not list((folder / "cache").rglob("*.npz"))


def test_a_wrong_placer_is_told_before_the_model_is_captured(folder, capsys):
    (folder / "net.keras").write_text("never read")
    assert main(["place", "net.keras", "--placer", "gpu_onyl"]) == 2
    assert "no placer 'gpu_onyl'; did you mean 'gpu_only'?" in capsys.readouterr().err


def test_the_comparison_by_hand(folder, capsys):
    """a, then b: 0.5 s each on the CPU, 0.1 s each on the GPU; nothing else can be as fast."""
    (folder / "g.json").write_text(json.dumps(GRAPH))
    (folder / "m.toml").write_text(MACHINE)
    arguments = ["g.json", "--machine", "m.toml", "--placer", "cpu_only"]
    verdict = placed(capsys, *arguments)
    assert (verdict["step_time"], verdict["status"], verdict["oom"]) == (1.0, "oom", ["cpu:0"])
    assert (verdict["lower_bound"], verdict["ratio_to_bound"]) == (0.2, 5.0)
    others = {trial["placer"]: trial for trial in verdict["comparison"]}
    assert others["gpu_only"]["step_time"] == pytest.approx(0.2)
    assert others["gpu_only"]["ratio_to_bound"] == pytest.approx(1.0)
    assert main(["place", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "bound      0.200000 s, proven (critical_path); this is x5.00" in lines
    (row,) = [line for line in lines if line.startswith("cpu_only")]
    assert row.split()[:4] == ["cpu_only", "1.000000", "s", "5.00"]
    assert row.endswith("out of memory: cpu:0")
    assert [k.split()[0] for k in lines[-5:]] == [
        "cpu_only",
        "gpu_only",
        "scotch",
        "mincut",
        "metis",
    ]


def test_without_a_placer_the_fastest_of_many_is_taken(folder, capsys):
    (folder / "g.json").write_text(json.dumps(GRAPH))
    (folder / "m.toml").write_text(MACHINE)
    arguments = ["g.json", "--machine", "m.toml", "--evaluations", "300"]
    verdict = placed(capsys, *arguments, "--output", "answer.json")
    trials = [verdict, *verdict["comparison"]]
    fits = [trial for trial in trials if trial["status"] == "ok"]
    assert verdict["step_time"] == min(trial["step_time"] for trial in fits)
    assert verdict["fastest"] == verdict["placer"]
    assert {"annealing", "metis", "heft", "m_etf"} <= {trial["placer"] for trial in trials}
    assert json.loads((folder / "answer.json").read_text())
    assert main(["place", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    (told,) = [line for line in lines if line.startswith("placer ") and "none was named" in line]
    assert "300 evaluations of annealing and 9 quick placers" in told
    (best,) = [line for line in lines if line.endswith("  fastest")]
    assert best.split()[0] == verdict["placer"]


def test_what_needs_a_placer_says_so(folder, capsys):
    (folder / "g.json").write_text(json.dumps(GRAPH))
    for more in (["--set", "k=5"], ["--judge", "worst"], ["--measure-top", "3"]):
        assert main(["place", "g.json", "--machine", "k40", *more]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{more[0]} goes with a placer; add --placer" in line


def test_options_of_searches_are_told_where_a_placer_searches_nothing(folder, capsys):
    (folder / "g.json").write_text(json.dumps(GRAPH))
    given = ["place", "g.json", "--machine", "k40", "--evaluations", "9", "--placer"]
    assert main([*given, "metis", "--judge", "mean", "--spread", "0.1"]) == 0
    told = "placebench: metis had no placement judged, so that --evaluations, --judge did nothing"
    assert told in capsys.readouterr().err.splitlines()
    assert main([*given, "best_of_random"]) == 0
    assert "did nothing" not in capsys.readouterr().err


def test_the_fastest_is_marked_where_a_placer_was_named_too(folder, capsys):
    (folder / "g.json").write_text(json.dumps(GRAPH))
    (folder / "m.toml").write_text(MACHINE)
    assert main(["place", "g.json", "--machine", "m.toml", "--placer", "cpu_only"]) == 0
    (best,) = [line for line in capsys.readouterr().out.splitlines() if line.endswith("  fastest")]
    assert best.startswith("gpu_only")


def test_what_a_placer_compiles_is_there_before_its_clock_starts(folder, monkeypatch):
    """From then on nothing is left to compile, whatever the caches held before."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(folder / "compiled"))
    machine = load_machine("k40").with_gpus(2)
    placer = make_placer("heft", {})
    compile_first("heft", placer, machine)
    assert (folder / "compiled" / "complete").is_dir()
    before = COMPILE_TIME.wall
    problem = Problem.create(read_graph(SMOKE_GRAPH), machine)
    placer.place(problem, Search(problem, Simulator(problem)))
    assert COMPILE_TIME.wall == before
