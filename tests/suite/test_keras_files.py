"""Keras files as models to place, and broken ones."""

import zipfile

import keras
import pytest
from users_models import placed, refused

from suite.capture import from_keras
from suite.capture.options import Options
from suite.cli import main

FLOAT = 4


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


@pytest.mark.usefixtures("user_folder")
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


@pytest.mark.usefixtures("user_folder")
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


@pytest.mark.usefixtures("user_folder")
def test_an_uncompiled_keras_file_gets_a_stated_loss_and_optimizer(capsys):
    classifier().save("net.keras")
    assert main(["graph", "net.keras"]) == 0
    facts = capsys.readouterr().out
    said = "not compiled: optimizer SGD and the sum of the outputs' mean squares as loss"
    assert f"chosen here                        {said}" in facts
    assert "inputs words (32, 6)" in facts
    assert f"trainable parameters               {WEIGHTS}" in facts


@pytest.mark.usefixtures("user_folder")
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


def test_unusable_keras_files_are_told_on_one_line(user_folder):
    capture = from_keras.capture_file
    network = classifier()
    network.save("net.keras")
    network.save("net.h5")
    network.save_weights("net.weights.h5")
    for name in ("net.keras", "net.h5"):
        whole = (user_folder / name).read_bytes()
        (user_folder / f"cut_{name}").write_bytes(whole[: len(whole) // 2])
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


@pytest.mark.usefixtures("user_folder")
def test_open_lengths_are_asked_for():
    words = keras.Input((None, 3), name="words")
    keras.Model(words, keras.layers.Dense(1)(keras.layers.GRU(4)(words))).save("net.keras")
    capture = from_keras.capture_file
    open_shape, asked = (
        "input 'words' has the shape (?, ?, 3)",
        "give it whole with --input words=SIZE",
    )
    assert f"{open_shape}; {asked}" in refused(capture, "net.keras")
    said = f"{open_shape}, which 2,5,4 does not fit; {asked}"
    assert said in refused(capture, "net.keras", Options(inputs={"words": (2, 5, 4)}))
    missing = refused(capture, "net.keras", Options(inputs={"word": (2, 5, 3)}))
    assert missing == "there is no input 'word'; inputs: words"
    graph = capture("net.keras", Options(inputs={"words": (2, 5, 3)})).graph
    assert graph.metadata["choices"][0] == "inputs words (2, 5, 3)"
