"""Subclassed Keras models whose shapes Keras knows, and files that carry Python code."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from suite.capture.from_keras import capture_file, capture_keras
from suite.capture.options import Options
from suite.cli import main
from suite.core.errors import InputError

SAID = "(the shapes of the call that built it)"


class Dense(keras.Model):
    """One dense layer, no build method."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(3)

    def call(self, x):
        return self.dense(x)


class Pair(Dense):
    """Takes a list of two tensors."""

    def call(self, pair):
        first, second = pair
        return self.dense(first) + self.dense(second)


class TwoArguments(Dense):
    """Takes two tensors and says how it is built from them."""

    def build(self, a_shape, b_shape):
        self.dense.build(a_shape)

    def call(self, a, b):
        return self.dense(a) * b


OUTPUTS = (("my_input", 2), ("near", 1))


def called(model, *data):
    model(*data)
    return model


def chosen(model, **options):
    return capture_keras(model, "model", Options(**options)).graph.metadata["choices"][0]


def test_a_model_that_was_called_on_data_has_the_shapes_of_that_call():
    model = called(Dense(), np.zeros((4, 6)))
    assert chosen(model) == f"inputs input (4, 6) float32 {SAID}"
    assert chosen(model, batch=8) == f"inputs input (8, 6) float32 {SAID}"
    assert chosen(model, inputs={"input": (5, 6)}) == f"inputs input (5, 6) float32 {SAID}"
    for said in ({"inputs": {"x": (5, 6)}}, {"types": {"x": "int32"}}):
        with pytest.raises(InputError, match="there is no input 'x'; inputs: input"):
            chosen(model, **said)


def test_several_tensors_keep_their_structure():
    pair = called(Pair(), [np.zeros((4, 6)), np.zeros((4, 6))])
    assert chosen(pair) == f"inputs input_0 (4, 6) float32, input_1 (4, 6) float32 {SAID}"
    two = called(TwoArguments(), np.zeros((4, 6)), np.zeros((4, 3)))
    assert chosen(two, batch=2) == f"inputs a (2, 6) float32, b (2, 3) float32 {SAID}"


class Words(keras.Model):
    """Means of embedded token ids, which are cut off at 256 if they come as bfloat16."""

    def __init__(self):
        super().__init__(dtype="mixed_bfloat16")
        self.embed = keras.layers.Embedding(5000, 4, dtype="mixed_bfloat16")

    def call(self, ids):
        return keras.ops.mean(self.embed(ids), axis=1)


def test_arguments_have_the_names_of_inputs_and_of_several_outputs():
    """As Python can spell them, none twice."""
    given = [keras.Input((3,), name=name) for name in ("my-input", "class", "2d")]
    total = keras.layers.Add()(given)
    outputs = [keras.layers.Dense(units, name=name)(total) for name, units in OUTPUTS]
    model = keras.Model(given, outputs)
    model.compile(keras.optimizers.SGD(0.0), ["mse", "mae"])
    function = capture_keras(model, "model", Options(batch=4)).function
    rng = np.random.default_rng(0)
    shapes = {"my_input": 3, "class_": 3, "arg_2d": 3, "my_input_": 2, "near": 1}
    data = {name: rng.random((4, size), np.float32) for name, size in shapes.items()}
    loss = function(**{name: tf.constant(data[name]) for name in sorted(data)})
    x, y = list(data.values())[:3], list(data.values())[3:]
    assert float(loss) == pytest.approx(model.test_on_batch(x, y, return_dict=True)["loss"])


def test_a_type_that_the_model_does_not_say_is_given():
    words = called(Words(), np.zeros((8, 6), np.int32))
    program = capture_keras(words, "model", Options(types={"input": "int32"}))
    assert program.graph.metadata["choices"][0] == f"inputs input (8, 6) int32 {SAID}"
    (ids,) = (tensor for tensor in program.function.inputs if tensor.dtype != tf.resource)
    assert ids.dtype == tf.int32
    whole = Options(inputs={"input": (2, 6)}, types={"input": "int32"})
    said = capture_keras(words, "model", whole).graph.metadata["choices"][0]
    assert said == f"inputs input (2, 6) int32 {SAID}"


def test_a_type_that_the_model_says_is_not_changed():
    x = keras.Input((4,), name="x")
    network = keras.Model(x, keras.layers.Dense(2)(x))
    assert chosen(network, types={"x": "float32"}) == "inputs x (32, 4)"
    with pytest.raises(InputError, match="input 'x' is float32, the model says; leave out int32"):
        chosen(network, types={"x": "int32"})


@pytest.mark.parametrize("name", ["int", "words", "object", "str32", "datetime64", "int32,int32"])
def test_a_type_is_one_of_numbers(name):
    with pytest.raises(InputError, match=f"input x: there is no type '{name}'; give one such as"):
        Options(types={"x": name})


def test_a_model_that_was_never_called_is_told_how_to_mend_it():
    with pytest.raises(InputError, match="or call it once on data before you return it"):
        capture_keras(Dense(), "model", Options())


@pytest.fixture
def lambda_file(tmp_path):
    """A saved model with Python code in it."""
    x = keras.Input((4,))
    network = keras.Model(x, keras.layers.Lambda(lambda y: y * 2)(keras.layers.Dense(2)(x)))
    network.save(tmp_path / "net.keras")
    return str(tmp_path / "net.keras")


def test_python_code_in_a_file_needs_the_users_word(lambda_file):
    with pytest.raises(InputError, match=r"holds Python code .*; if you know .* add --trust$"):
        capture_file(lambda_file, Options(batch=2))
    assert capture_file(lambda_file, Options(batch=2, trust=True)).graph.n_ops


@pytest.mark.parametrize("suffix", ["h5", "hdf5"])
def test_hdf5_needs_the_users_word_before_anything_is_loaded(tmp_path, suffix, capsys):
    path = tmp_path / f"net.{suffix}"
    path.write_bytes(b"not even a model")
    assert main(["graph", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.endswith(" or add --trust if you know who made it\n")
    assert len(said.splitlines()) == 1


def test_trust_is_for_keras_files_alone(capsys):
    assert main(["graph", "nmt_2", "--trust"]) == 2
    assert "--trust is for Keras models in files; leave it out" in capsys.readouterr().err


@pytest.mark.parametrize("names", [(0, 1), ("", "2nd"), ("class", "class_")])
def test_outputs_may_have_any_names(names):
    x = keras.Input((4,), name="x")
    network = keras.Model(x, {name: keras.layers.Dense(1)(x) for name in names})
    network.compile("sgd", dict.fromkeys(names, "mse"))
    types = capture_keras(network, "net", Options()).graph.op_types
    assert types.count("Placeholder") == 3
