"""SavedModels as models to place, simulate and export."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from suite.capture.from_saved_model import capture_folder
from suite.capture.load_model import kind_of
from suite.capture.options import Options
from suite.cli import main
from suite.core.errors import InputError

ROWS, COLUMNS, FLOAT = 4, 3, 4


class Line(tf.Module):
    """y = x w, with a step of gradient descent on its mean square."""

    def __init__(self):
        self.w = tf.Variable(tf.fill([ROWS, COLUMNS], 2.0), name="w")

    @tf.function(input_signature=[tf.TensorSpec([None, ROWS], name="x")])
    def call(self, x):
        return {"y": tf.matmul(x, self.w)}

    @tf.function(input_signature=[tf.TensorSpec([None, ROWS], name="x")])
    def train(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.matmul(x, self.w) ** 2)
        self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
        return {"loss": loss}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with both signatures."""
    folder = str(tmp_path_factory.mktemp("saved") / "line")
    line = Line()
    signatures = {"serving_default": line.call, "train": line.train}
    tf.saved_model.save(line, folder, signatures=signatures)
    return folder


def test_the_usual_signature_is_taken_at_the_batch_that_is_asked_for(saved):
    graph = capture_folder(saved, Options(batch=8)).graph
    (product,) = [i for i, kind in enumerate(graph.op_types) if kind == "MatMul"]
    assert graph.flops[product] == 2 * 8 * ROWS * COLUMNS
    assert graph.persistent_bytes.sum() == FLOAT * ROWS * COLUMNS
    signature = "signature serving_default of serving_default, train"
    assert graph.metadata["choices"] == [signature, f"inputs x (8, {ROWS})"]


def test_a_training_step_is_fetched_with_its_update_and_its_variable(saved):
    program = capture_folder(saved, Options(batch=8, fetch=("train",)))
    kinds = program.graph.op_types
    assert kinds.count("MatMul") == 2
    assert kinds.count("AssignSubVariableOp") == 1
    assert program.graph.metadata["parameters"] == ROWS * COLUMNS
    (variable,) = program.variables.values()
    assert np.all(variable.numpy() == 2.0)


def test_the_inference_that_keras_exports_is_taken(tmp_path):
    network = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5, activation="relu")])
    network.export(tmp_path / "net", verbose=False)
    graph = capture_folder(str(tmp_path / "net"), Options(batch=2)).graph
    assert sorted(set(graph.op_types) & {"MatMul", "Relu"}) == ["MatMul", "Relu"]
    assert graph.flops[graph.op_types.index("MatMul")] == 2 * 2 * 6 * 5


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (Options(fetch=("call",)), "has the signatures serving_default, train; name one with"),
        (Options(fetch=("train", "serving_default")), "has the signatures serving_default, train"),
        (Options(inputs={"z": (1,)}), "there is no input 'z'; inputs: x"),
        (
            Options(inputs={"x": (8, 5)}),
            "input 'x' has the shape (?, 4), which 8,5 does not fit; give it whole with",
        ),
        (Options(types={"x": "int32"}), "input 'x' is float32, the model says; leave out int32"),
    ],
)
def test_what_does_not_fit_is_told_on_one_line(saved, options, told):
    with pytest.raises(InputError) as error:
        capture_folder(saved, options)
    assert told in str(error.value)


def test_a_folder_without_signatures_or_damaged_is_told(tmp_path):
    tf.saved_model.save(tf.Module(), str(tmp_path / "none"))
    with pytest.raises(InputError, match="has no signatures; save it with some"):
        capture_folder(str(tmp_path / "none"), Options())
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "saved_model.pb").touch()
    with pytest.raises(InputError, match="empty is damaged: it has no graph; save it again"):
        capture_folder(str(tmp_path / "empty"), Options())
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "saved_model.pb").write_bytes(b"not one")
    with pytest.raises(InputError, match=r"TensorFlow cannot load .*bad"):
        capture_folder(str(tmp_path / "bad"), Options())


def test_what_tensorflow_1_saves_is_refused_by_what_it_is(tmp_path):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, ROWS], "x")
        w = v1.get_variable("W", [ROWS, COLUMNS], use_resource=False)
        y = tf.matmul(x, w)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "old"), {"x": x}, {"y": y})
    with pytest.raises(InputError, match="'W' is a reference variable of TensorFlow 1"):
        capture_folder(str(tmp_path / "old"), Options())


def test_graphs_that_tags_tell_apart_are_refused(tmp_path):
    builder = tf.compat.v1.saved_model.Builder(str(tmp_path / "two"))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.constant(1.0)
        builder.add_meta_graph_and_variables(session, ["train"])
        builder.add_meta_graph(["serve"])
    builder.save()
    with pytest.raises(InputError, match="two has several graphs, told apart by tags; save one"):
        capture_folder(str(tmp_path / "two"), Options())


def test_a_task_is_no_folder_of_its_name(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nmt_2").symlink_to(saved)
    assert kind_of("nmt_2") == "task"
    assert {kind_of(name) for name in ("./nmt_2", "nmt_2/", saved)} == {"saved_model"}


def test_it_is_placed_and_exported_with_its_values(saved, user_folder, capsys):
    given = [saved, "--batch", "8", "--fetch", "train", "--machine", "k40", "--gpus", "1"]
    assert main(["place", *given, "--placer", "cpu_only", "--output", "p.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "ok"
    export = ["export", *given, "--placement", "p.json", "--output", "placed"]
    assert main(export) == 0
    assert "made where tensors" not in capsys.readouterr().err
    loaded = tf.saved_model.load(str(user_folder / "placed"))
    (loss,) = loaded.step(x=tf.ones([8, ROWS])).values()
    assert float(loss) == (2.0 * ROWS) ** 2
    # What is written can be placed again, and a placement of another batch is told of.
    assert "MatMul" in capture_folder("placed", Options()).graph.op_types
    given[2] = "4"
    with pytest.warns(UserWarning, match="p.json was made where tensors have"):
        main(["export", *given, "--placement", "p.json", "--output", "again"])
