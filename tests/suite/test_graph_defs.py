"""GraphDefs as models to place, and broken ones."""

import gzip

import numpy as np
import pytest
import tensorflow as tf
from users_models import outcomes, placed, refused

from suite.capture import from_graph_def
from suite.capture.load_model import load
from suite.capture.options import Options
from suite.cli import main

v1 = tf.compat.v1
FLOAT = 4


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
def test_a_graph_def_with_variables(user_folder, resource, form):
    """Also: a variable counts once, and what updates it stays beside it."""
    definition = training_graph(resource)
    binary, text = definition.SerializeToString(), str(definition).encode()
    data = {"pb": binary, "pb.gz": gzip.compress(binary)}.get(form, text)
    (user_folder / f"train.{form}").write_bytes(data)
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


def test_a_fetch_leaves_out_the_rest(user_folder):
    (user_folder / "train.pb").write_bytes(training_graph(True).SerializeToString())
    graph = from_graph_def.capture_file("train.pb", Options(fetch=("loss",))).graph
    assert graph.metadata["choices"] == ["inputs x (32, 4), y (32, 3)", "runs loss"]
    assert not [n for n in graph.op_names if n.startswith(("gradients", "train"))]
    message = refused(from_graph_def.capture_file, "train.pb", Options(fetch=("los",)))
    assert message == "train.pb: there is no operation 'los' to fetch; check the name"


@pytest.mark.parametrize("as_text", [False, True])
def test_a_meta_graph_runs_what_trains_it(user_folder, as_text):
    """Also: it need not say so."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(training_graph(True), name="")
        v1.train.export_meta_graph("plain.meta", as_text=as_text)
        v1.add_to_collection("train_op", graph.get_operation_by_name("train"))
        v1.train.export_meta_graph("model.ckpt-9.meta", as_text=as_text)
    graph = load("model.ckpt-9.meta", Options(batch=5)).graph
    assert graph.name == "model.ckpt-9"
    assert graph.metadata["choices"] == [
        "inputs x (5, 4), y (5, 3)",
        "runs train (its train_op; --fetch)",
    ]
    assert "ResourceApplyGradientDescent" in graph.op_types
    plain = from_graph_def.capture_file("plain.meta", Options()).graph
    assert plain.metadata["choices"][1].startswith("runs loss, train, ")
    forward = from_graph_def.capture_file("model.ckpt-9.meta", Options(fetch=("loss",))).graph
    assert forward.metadata["choices"][1] == "runs loss"
    (user_folder / "no.meta").write_bytes(training_graph(True).SerializeToString()[:-9])
    assert "no.meta is damaged or no MetaGraph" in refused(from_graph_def.capture_file, "no.meta")


def test_a_steps_own_assignment_is_no_initialisation(user_folder):
    """It has TensorFlow 1's default name, too."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [8, 4], name="x")
        w = v1.get_variable("w", [4], use_resource=False)
        v1.assign(w, w - 0.1 * tf.reduce_mean(x, 0))
        (user_folder / "g.pb").write_bytes(graph.as_graph_def(add_shapes=True).SerializeToString())
    graph = from_graph_def.capture_file("g.pb", Options()).graph
    assert graph.op_types.count("Assign") == 1
    assert "Mean" in graph.op_types
    assert "Assign" in classmates(graph, "w")


def test_operations_stay_together_beside_a_library_of_functions(user_folder):
    """Inlining, which is needed then, drops what ``_class`` says."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [8, 4], name="x")
        a = tf.exp(x, name="a")
        with v1.colocate_with(a.op):
            b = tf.tanh(x, name="b")
        tf.function(lambda t: t * 2.0, autograph=False)(tf.add(a, b, name="sum"))
        (user_folder / "g.pb").write_bytes(graph.as_graph_def(add_shapes=True).SerializeToString())
    graph = from_graph_def.capture_file("g.pb", Options(fetch=("sum",))).graph
    assert {"Exp", "Tanh"} == classmates(graph, "a")


def frozen_graph():
    """relu(x c) * keep, of which keep has no shape."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        keep = v1.placeholder(tf.float32, name="keep")
        tf.multiply(tf.nn.relu(tf.matmul(x, np.ones((4, 3), np.float32))), keep, name="out")
        return graph.as_graph_def()


def test_a_frozen_graph_def_is_placed(user_folder, capsys):
    (user_folder / "frozen.pb").write_bytes(frozen_graph().SerializeToString())
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


def test_unusable_graph_defs_are_told_on_one_line(user_folder):
    capture = from_graph_def.capture_file
    whole = frozen_graph()
    data = whole.SerializeToString()
    (user_folder / "net.pb").write_bytes(data)
    assert "net.pb: input 'keep' has an unknown shape; give it whole" in refused(capture, "net.pb")
    (user_folder / "cut.pb").write_bytes(data[:-9])
    (user_folder / "cut.pbtxt").write_text(str(whole)[:-9])
    (user_folder / "cut.pb.gz").write_bytes(gzip.compress(data)[:-9])
    assert "cut.pb is damaged or no GraphDef; of a SavedModel, name the folder" in refused(
        capture, "cut.pb"
    )
    assert "cut.pbtxt is damaged or no GraphDef" in refused(capture, "cut.pbtxt")
    assert "cut.pb.gz cannot be unpacked" in refused(capture, "cut.pb.gz")
    whole.node[3].op = "Conv2DD"
    (user_folder / "op.pb").write_bytes(whole.SerializeToString())
    options = Options(inputs={"keep": ()})
    assert "Conv2DD" in refused(capture, "op.pb", options)
    del whole.node[0]
    (user_folder / "hole.pb").write_bytes(whole.SerializeToString())
    assert "'x' is read but not there" in refused(capture, "hole.pb", options)


def test_a_loop_in_a_graph_def_is_refused(user_folder):
    with tf.Graph().as_default() as graph:
        graph._set_control_flow_context(None)
        enter = tf.raw_ops.Enter(data=tf.constant(0), frame_name="f")
        tf.identity(tf.raw_ops.Exit(data=enter), name="out")
        (user_folder / "loop.pb").write_bytes(graph.as_graph_def().SerializeToString())
    assert "'Enter' is part of a loop; unroll it" in refused(from_graph_def.capture_file, "loop.pb")


def test_a_branch_in_a_graph_def_is_refused(user_folder):
    with tf.Graph().as_default() as graph:
        switch = tf.raw_ops.Switch(data=tf.constant(1.0), pred=tf.constant(True))
        tf.raw_ops.Merge(inputs=[switch.output_false, switch.output_true], name="out")
        (user_folder / "branch.pb").write_bytes(graph.as_graph_def().SerializeToString())
    said = refused(from_graph_def.capture_file, "branch.pb")
    assert "'Switch' is part of a branch, of which a step runs one side" in said


@pytest.mark.parametrize("how", ["left out", "a scalar of an old file"])
def test_a_placeholder_that_says_no_shape_has_any(user_folder, how):
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        tf.multiply(x, 2.0, name="y")
    data = graph.as_graph_def()
    if how == "left out":
        [node] = [node for node in data.node if node.name == "x"]
        del node.attr["shape"]
    else:
        data.versions.producer = 21
    (user_folder / "net.pb").write_bytes(data.SerializeToString())
    capture = from_graph_def.capture_file
    assert "input 'x' has an unknown shape; give it whole" in refused(capture, "net.pb")
    captured = capture("net.pb", Options(inputs={"x": (3, 5)}))
    assert captured.graph.tensor_bytes.max() == 3 * 5 * 4


def test_a_corrupt_file_ends_with_exit_code_2(user_folder, capsys):
    (user_folder / "net.pb").write_bytes(b"\x0a\xff\xff")
    assert main(["place", "net.pb", "--machine", "k40", "--placer", "gpu_only"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("placebench: error: net.pb is damaged or no GraphDef")
    assert said.count("\n") == 1
    assert not list((user_folder / "cache").rglob("*.npz"))
