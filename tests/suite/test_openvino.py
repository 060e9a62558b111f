"""OpenVINO's models become graphs: every operation and edge of the IR, counted by hand."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from math import prod

import numpy as np
import pytest

pytest.importorskip("openvino", reason="the extra openvino is not installed")

import openvino
from openvino import opset13 as op
from small_networks import TINY_ONNX, constant, convolutions, dense

from suite.capture.load_model import load
from suite.capture.openvino.read import as_stored, convert, fix_shapes, read_file
from suite.capture.openvino.to_graph import to_graph
from suite.capture.options import Options
from suite.cli import main
from suite.core.costs import op_seconds
from suite.core.errors import InputError
from suite.formats.machine_toml import load_machine


def save(model, path, half=False):
    openvino.save_model(model, path, compress_to_fp16=half)
    return str(path)


def by_type(graph, values):
    """Operation type -> its values in the order of the graph."""
    found = {}
    for kind, value in zip(graph.op_types, values, strict=True):
        found.setdefault(kind, []).append(value)
    return found


def test_costs_of_a_dense_layer_by_hand():
    graph = to_graph(dense(), "dense")
    work = {k: v for k, v in by_type(graph, graph.flops).items() if any(v)}
    assert work == {"MatMul": [2 * 2 * 4 * 3], "Add": [8], "Relu": [8]}
    moved = {k: v for k, v in by_type(graph, graph.bytes_touched).items() if any(v)}
    assert moved == {"MatMul": [4 * (6 + 12 + 8)], "Add": [4 * (8 + 4 + 8)], "Relu": [4 * (8 + 8)]}
    assert graph.metadata["parameters"] == 12 + 4


def test_what_costs_nothing_takes_no_time_anywhere():
    machine = load_machine("k40").with_gpus(1)
    graph = to_graph(as_stored(dense()), "dense")
    seconds = by_type(graph, op_seconds(graph, machine).max(axis=1))
    free = {"Parameter", "Constant", "Convert", "Reshape", "Result"}
    assert {kind for kind, times in seconds.items() if not any(times)} == free
    assert set(seconds) - free == {"MatMul", "Add", "Relu"}


def test_a_reshaped_tensor_is_the_same_buffer():
    graph = to_graph(as_stored(dense()), "dense")
    kinds = np.array(graph.op_types)[graph.producer]
    shared = {
        kind: np.unique(kinds[graph.alias_of[kinds == kind]]) for kind in ("Reshape", "Convert")
    }
    assert shared == {"Reshape": ["Relu"], "Convert": ["Constant"]}
    assert (graph.alias_of[~np.isin(kinds, ["Reshape", "Convert"])] == -1).all()


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("make", [dense, convolutions])
def test_the_graph_is_what_stands_in_the_ir(make, half, tmp_path):
    path = save(make(), tmp_path / "net.xml", half)
    root = ET.parse(path).getroot()
    layers = {layer.get("id"): layer for layer in root.iter("layer")}
    pairs = [(e.get("from-layer"), e.get("to-layer")) for e in root.iter("edge")]
    graph = to_graph(read_file(path, Options())[0], "net")
    assert sorted(graph.op_names) == sorted(layer.get("name") for layer in layers.values())
    names = np.array(graph.op_names)
    tensors, readers = graph.edges
    found = zip(names[graph.producer[tensors]], names[readers], strict=True)
    assert sorted(found) == sorted((layers[a].get("name"), layers[b].get("name")) for a, b in pairs)
    elements = {"f32": 4, "f16": 2, "i64": 8}
    for tensor, producer in enumerate(graph.producer):
        layer = next(x for x in layers.values() if x.get("name") == names[producer])
        port = layer.find("output/port")
        sizes = [int(d.text) for d in port.findall("dim")]
        kind = {"FP32": "f32", "FP16": "f16", "I64": "i64"}[port.get("precision")]
        assert graph.tensor_bytes[tensor] == prod(sizes) * elements[kind]


def image(*shape):
    return op.parameter([*shape], np.float32)


X = (2, 6, 8, 8)
ONE = ([1, 1], [0, 0], [0, 0], [1, 1])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: op.convolution(image(*X), constant(4, 6, 3, 3), *ONE), 2 * 2 * 4 * 36 * 6 * 9),
        (
            lambda: op.group_convolution(image(*X), constant(3, 4, 2, 3, 3), *ONE),
            2 * 2 * 12 * 36 * 2 * 9,
        ),
        (
            lambda: op.convolution_backprop_data(image(*X), constant(6, 5, 2, 2), [2, 2]),
            2 * prod(X) * 5 * 4,
        ),
        (lambda: op.matmul(image(7, 3, 5), constant(7, 3, 4), True, False), 2 * 7 * 5 * 4 * 3),
        (lambda: op.matmul(image(5), constant(5, 4), True, False), 2 * 4 * 5),
        (
            lambda: op.scaled_dot_product_attention(
                image(1, 2, 5, 16), image(1, 2, 7, 16), image(1, 2, 7, 16)
            ),
            4 * (2 * 5 * 16) * 7,
        ),
        (lambda: op.einsum([image(3, 4, 5), image(3, 5, 6)], "bij,bjk->bik"), 2 * 3 * 4 * 6 * 5),
        (
            lambda: op.einsum([image(3, 2, 4, 5), image(3, 2, 5)], "...ij,...j->...i"),
            2 * 3 * 2 * 4 * 5,
        ),
        (lambda: op.einsum([image(3, 4), image(4, 5)], "ij,jk"), 2 * 3 * 5 * 4),
        (lambda: op.relu(image(3, 4)), 12),
    ],
)
def test_flops_by_hand(make, expected):
    built = make()
    node = built if isinstance(built, openvino.Node) else built.get_node()
    read = [value.get_node() for value in node.input_values()]
    inputs = [one for one in read if one.get_type_name() == "Parameter"]
    graph = to_graph(openvino.Model([node.output(0)], inputs, "one"), "one")
    assert graph.flops.sum() == expected


def test_a_recurrent_layer_multiplies_both_weights_at_every_step():
    batch, steps, width, units = 2, 5, 3, 4
    x, state = image(batch, steps, width), op.constant(np.zeros((batch, 1, units), np.float32))
    lengths = op.constant(np.full(batch, steps))
    weights = constant(1, 4 * units, width), constant(1, 4 * units, units), constant(1, 4 * units)
    node = op.lstm_sequence(x, state, state, lengths, *weights, units, "forward")
    graph = to_graph(openvino.Model([node.output(0)], [x], "lstm"), "lstm")
    assert graph.flops.sum() == 2 * batch * steps * 4 * units * (width + units)


def test_a_look_up_reads_no_more_than_it_writes():
    words = op.parameter([7], np.int64)
    node = op.gather(constant(1000, 3), words, op.constant(np.int64(0)))
    graph = to_graph(openvino.Model([node], [words], "look up"), "look up")
    assert graph.bytes_touched.sum() == 2 * 7 * 3 * 4


def test_an_output_that_nothing_reads_is_not_computed():
    x = image(1, 2, 4, 4)
    pooled = op.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], "floor")
    graph = to_graph(openvino.Model([pooled.output(0)], [x], "pool"), "pool")
    assert graph.n_tensors == 2
    assert by_type(graph, graph.flops)["MaxPool"] == [8]


@pytest.mark.parametrize(
    ("options", "rows"),
    [({}, 1), ({"batch": 6}, 6), ({"inputs": {"x": (5, 3)}}, 5)],
)
def test_open_sizes_are_given_or_one(options, rows, tmp_path):
    path = save(dense(-1), tmp_path / "open.xml")
    model, chosen = read_file(path, Options(**options))
    assert chosen == [f"input x: {rows}, 3"]
    graph = to_graph(model, "open")
    assert by_type(graph, graph.flops)["MatMul"] == [2 * rows * 4 * 3]


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"y": (2, 3)}, "no input 'y'; inputs: x"),
        ({"x": (2, 4)}, "input 'x' has the shape"),
        ({"x": (2, 3, 1)}, "input 'x' has the shape"),
    ],
)
def test_sizes_that_do_not_fit_are_told(inputs, words):
    with pytest.raises(InputError, match=words) as told:
        fix_shapes(dense(-1), Options(inputs=inputs))
    assert "\n" not in str(told.value)


def test_a_size_that_only_data_tell_is_refused():
    x = image(4)
    model = openvino.Model([op.non_zero(x, "i64")], [x], "found")
    with pytest.raises(InputError, match=r"\(NonZero\) has the open shape .*depends on data"):
        to_graph(model, "found")


def test_a_branch_would_be_one_operation_and_is_refused():
    x, choice = image(4), op.parameter([], np.bool_)
    bodies = []
    for make in (op.relu, op.tanh):
        inner = image(4)
        bodies.append(openvino.Model([make(inner)], [inner], "body"))
    branch = op.if_op(choice.output(0))
    branch.set_then_body(bodies[0])
    branch.set_else_body(bodies[1])
    branch.set_input(x.output(0), *(body.get_parameters()[0] for body in bodies))
    found = branch.set_output(*(body.get_results()[0] for body in bodies))
    model = openvino.Model([found], [x, choice], "branch")
    with pytest.raises(InputError, match=r"loop or a branch \(If\)"):
        to_graph(model, "branch")


def test_what_follows_from_the_sizes_is_no_operation(tmp_path):
    x = op.parameter([-1, 3], np.float32, name="x")
    rows = op.gather(op.shape_of(x), op.constant([0]), op.constant(0))
    twice = op.concat([rows, op.constant(np.array([3]))], 0)
    model = openvino.Model([op.reshape(op.relu(x), twice, False)], [x], "folded")
    fixed, _ = read_file(save(model, tmp_path / "m.xml"), Options(batch=4))
    types = to_graph(fixed, "folded").op_types
    assert sorted(types) == ["Constant", "Parameter", "Relu", "Reshape", "Result"]


def test_names_are_unique_although_openvino_lets_them_repeat():
    model = dense()
    for node in model.get_ordered_ops():
        node.set_friendly_name("same")
    names = to_graph(model, "same").op_names
    assert names[:3] == ("same", "same#2", "same#3")


def test_files_are_captured_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "tiny.onnx"
    path.write_bytes(TINY_ONNX)
    first, again = load(str(path), Options()), load(str(path), Options())
    assert first.graph.metadata["choices"] == ["input x: 1, 2"]
    assert first.graph.flops.sum() == 2 * 3 * 2 + 3 + 3
    assert "from now on" in first.origin
    assert again.origin.endswith("(cached)")
    assert again.graph.fingerprint == first.graph.fingerprint
    assert again.graph_def is None


def test_a_users_function_may_return_a_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ("from openvino import Model, opset13 as op", "import numpy as np", "def net():")
    lines += ("    x = op.parameter([5], np.float32)", "    return Model([op.relu(x)], [x], 'n')")
    (tmp_path / "users_openvino.py").write_text("\n".join(lines))
    graph = load("users_openvino:net", Options()).graph
    assert graph.op_types == ("Parameter", "Relu", "Result")


EXAMPLES = [np.zeros((7, 3)), (np.zeros((7, 3)),), {"x": np.zeros((7, 3))}]


@pytest.mark.parametrize("example", EXAMPLES, ids=["alone", "in a tuple", "by name"])
@pytest.mark.parametrize(
    ("options", "rows"),
    [({}, 7), ({"batch": 2}, 2), ({"inputs": {"x": (5, 3)}}, 5)],
)
def test_example_inputs_give_open_sizes_unless_others_are_asked_for(example, options, rows):
    _, chosen = convert("net:pair", (dense(-1), example), Options(**options))
    assert chosen == [f"input x: {rows}, 3"]


def test_sizes_that_the_model_gives_are_not_those_of_an_example():
    for options in (Options(), Options(batch=4)):
        model, chosen = convert("net:pair", (dense(4), np.zeros((7, 3))), options)
        assert chosen == []
        assert tuple(model.input().get_shape()) == (4, 3)


def test_a_batch_that_the_model_does_not_take_is_refused():
    with pytest.raises(InputError, match=r"a batch of 2: x \(4, 3\); leave out --batch"):
        convert("net:pair", (dense(4), np.zeros((7, 3))), Options(batch=2))


def test_a_module_is_traced_with_its_example_or_with_zeros_of_the_sizes_given():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Halves(torch.nn.Module):
        """Loops and unpacks, which scripting refuses."""

        def forward(self, x):
            return sum(part * (i + 1) for i, part in enumerate(x.chunk(2, -1)))

    traced, _ = convert("net:pair", (Halves(), torch.zeros(2, 6)), Options())
    sized, chosen = convert("net:module", Halves(), Options(inputs={"x": (2, 6)}))
    assert chosen == ["input x: 2, 6"]
    graphs = [to_graph(model, "halves") for model in (traced, sized)]
    assert graphs[0].op_types == graphs[1].op_types
    assert graphs[0].tensor_bytes.tolist() == graphs[1].tensor_bytes.tolist()
    with pytest.raises(InputError, match="return a pair, the module and its example inputs"):
        convert("net:module", Halves(), Options())


def test_a_module_that_takes_ids_is_traced_with_the_type_given():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rows = Options(inputs={"input": (2, 6)})
    with pytest.raises(InputError, match="cannot be converted by OpenVINO"):
        convert("net:module", torch.nn.Embedding(50, 4), rows)
    ids = replace(rows, types={"input": "int64"})
    model, _ = convert("net:module", torch.nn.Embedding(50, 4), ids)
    assert model.input().get_element_type().to_dtype() == np.int64


def test_a_type_that_the_model_says_is_not_changed():
    with pytest.raises(InputError, match="input 'x' is float32, the model says; leave out int32"):
        fix_shapes(dense(4), Options(types={"x": "int32"}))


def refused(capsys, *arguments):
    """The one line with which a call ends."""
    assert main(list(arguments)) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    return told


def test_files_that_are_none_are_told(tmp_path, capsys):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"not a model")
    told = refused(capsys, "graph", str(path))
    assert f"{path} cannot be read" in told
