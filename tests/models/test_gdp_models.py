"""GDP's models at toy sizes: their wiring, where an expert puts them, and that they train."""

import math

import networkx
import numpy as np
import pytest
import tensorflow as tf

from models._convolutional import RMSProp, Weights, normalise
from models._recurrent import Parameters
from models.amoebanet import CELLS, AmoebaNet, apply_cell
from models.gnmt import GNMT, Encoder
from models.transformer_xl import TransformerXL, shift
from models.wavenet import Convolution, WaveNet
from suite.capture.to_graph import capture
from suite.core.colocation import colocation_groups, forward_name
from suite.core.model import CPU
from suite.formats.graph_networkx import to_networkx
from suite.report.load_records import load_published
from suite.search.registry import tasks

STEPS = 3
SIDES = ("encoder", "decoder")
MODELS = {
    "gnmt": GNMT(3, 3, batch=2, units=4, steps=STEPS, vocabulary=11),
    "transformer_xl": TransformerXL(
        2, 2, batch=2, segment=3, memory=4, width=8, heads=2, inner=8, vocabulary=11
    ),
    "wavenet": WaveNet(2, 2, 2, batch=1, samples=12, residual=2, dilation=2, skip=4, amplitudes=11),
    "amoebanet": AmoebaNet(cells=3, filters=16, image_size=35, batch=2),
}


@pytest.fixture(scope="module")
def graphs():
    """Whole steps; of AmoebaNet, whose backward half is tried on one cell, the forward half."""
    network, weights = MODELS["amoebanet"], Weights()
    _, inputs = network.build()
    forward = tf.function(lambda x, y: network.loss(weights, x, y), autograph=False)
    steps = {name: model.build() for name, model in MODELS.items()}
    steps["amoebanet"] = forward, inputs
    return {name: capture(*step, name).graph for name, step in steps.items()}


def inputs_of(specs):
    rng = np.random.default_rng(0)
    draw = {tf.int32: lambda s: rng.integers(0, 11, s), tf.float32: rng.standard_normal}
    return [tf.constant(draw[s.dtype](s.shape), s.dtype) for s in specs]


def check_memory(model, batch, first):
    """What a layer of Transformer-XL keeps is the latest of what it saw."""
    assert first.shape == batch[2].shape
    kept = model.memory - model.segment
    np.testing.assert_array_equal(first[:, :kept], batch[2][:, -kept:])
    assert not np.allclose(first[:, kept:], batch[2][:, kept:])


@pytest.mark.parametrize("name", ["gnmt", "transformer_xl", "wavenet"])
def test_training_starts_at_chance_and_learns(name):
    step, specs = MODELS[name].build()
    batch = inputs_of(specs)
    found = [step(*batch) for _ in range(5)]
    losses = [float(one[0] if isinstance(one, list) else one) for one in found]
    assert losses[0] == pytest.approx(math.log(11), abs=1e-4)
    assert (np.diff(losses) < 0).all()
    if name == "transformer_xl":
        check_memory(MODELS[name], batch, found[0][1])


def by_hand(name, gpus):
    """A scope and the GPU of it that each expert must have on so many GPUs."""
    last = gpus - 1
    if name == "gnmt":
        layers = {f"{side}/layer_{i}/": i * gpus // 3 for side in SIDES for i in range(3)}
        return layers | {"embedding/": 0, "attention/": 0, "softmax/": last}
    if name == "transformer_xl":
        layers = {f"layer_{i}/": i * gpus // 2 for i in range(2)}
        return layers | {"embedding/": 0, "position/": 0, "softmax/": last}
    if name == "wavenet":
        layers = {f"stack_{s}/layer_{i}/": s * gpus // 2 for s in (0, 1) for i in (0, 1)}
        return layers | {"start/": 0, "post/": last}
    order = ["stem_0", "stem_1", "cell_0", "reduction_0", "cell_1", "reduction_1", "cell_2"]
    cells = {f"{cell}/": i * gpus // 7 for i, cell in enumerate(order)}
    return cells | {"start/": 0, "head/": last}


@pytest.mark.parametrize("gpus", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_the_expert_gives_each_run_of_layers_its_gpu(graphs, name, gpus):
    """What computes; of updates, those of a run's variables only."""
    graph, homes = graphs[name], by_hand(name, gpus)
    expert = MODELS[name].expert(graph, gpus)
    assert set(expert.tolist()) - {CPU} == set(range(gpus))
    computes = [
        (op, gpu)
        for op, kind, gpu in zip(graph.op_names, graph.op_types, expert.tolist(), strict=True)
        if kind not in ("Const", "ReadVariableOp", "NoOp", "Identity", "VarHandleOp")
    ]
    known = [
        (op, gpu, home)
        for op, gpu in computes
        for scope, home in homes.items()
        if forward_name(op).startswith(scope)
    ]
    assert len(known) > 0.8 * len(computes)
    assert [(op, gpu, home) for op, gpu, home in known if gpu != home] == []


@pytest.mark.parametrize("name", ["gnmt", "transformer_xl", "wavenet"])
def test_a_block_holds_its_operations_and_their_gradients(graphs, name):
    graph, model = graphs[name], MODELS[name]
    groups = dict(zip(graph.op_names, colocation_groups(graph, model.block).tolist(), strict=True))
    of_block = {}
    for op, group in groups.items():
        if block := model.block(forward_name(op)):
            of_block.setdefault(block, set()).add(group)
    assert len(of_block) >= 6
    assert {block for block, found in of_block.items() if len(found) > 1} == set()
    if name == "gnmt":  # in a mere chain of blocks, ColocRL's rules leave one group
        assert len(set.union(*of_block.values())) > len(of_block) / 2


def before(graph, name):
    return networkx.ancestors(to_networkx(graph), name)


def test_gnmts_encoder_reads_both_directions(graphs):
    found = before(graphs["gnmt"], "encoder/layer_1/step_0/MatMul")
    assert "encoder/layer_0/backward/step_0/MatMul" in found  # the last piece, read first
    assert f"encoder/layer_0/backward/step_{STEPS - 1}/MatMul" in found
    assert "encoder/layer_0/forward/step_1/MatMul" not in found


def test_every_decoder_layer_of_gnmt_reads_what_the_first_attends_to(graphs):
    """The first layer reads that of the step before, the others that of their own step."""
    network = to_networkx(graphs["gnmt"])
    contexts = [n for n in network if n.startswith("attention/step_1/Sum")]
    readers = {r.rpartition("/")[0] for n in contexts for r in network.successors(n)}
    decoding = {r for r in readers if r.startswith("decoder")}
    assert decoding == {
        "decoder/layer_0/step_2",
        "decoder/layer_1/step_1",
        "decoder/layer_2/step_1",
    }


def test_gnmts_encoder_has_residuals_from_the_third_layer_on():
    """With kernels of zeros an LSTM gives zeros: a residual hands on what came in."""
    words = [tf.fill([2, 4], float(step)) for step in range(STEPS)]
    for layers in (2, 3, 4):
        encoder = Encoder(Parameters(), layers, 4)
        for cell in encoder.upper[:1]:
            cell.bias.assign(tf.ones_like(cell.bias))
        outputs, states = encoder.unroll(words, tf.zeros([2, 4]))
        assert len(states) == layers
        second, _ = encoder.upper[0].unroll([tf.zeros([2, 8])] * STEPS, (tf.zeros([2, 4]),) * 2)
        np.testing.assert_array_equal(outputs, second)
        assert np.abs(outputs).min() > 0


def test_a_shifted_column_is_one_position():
    """Row i, column j of the result is what row i says of the distance i + memory - j."""
    segment, memory = 3, 4
    reach = segment + memory
    scores = np.random.default_rng(0).standard_normal((1, 1, segment, reach)).astype(np.float32)
    shifted = shift(tf.constant(scores)).numpy()[0, 0]
    for i in range(segment):
        for j in range(memory + i + 1):
            of_distance = reach - 1 - (i + memory - j)  # distances fall from reach - 1 to 0
            assert shifted[i, j] == scores[0, 0, i, of_distance]


@pytest.mark.parametrize("rate", [1, 2, 4])
def test_wavenets_convolutions_see_nothing_later(rate):
    convolution = Convolution(Parameters(), "c", 2, 3, 5, rate)
    rng = np.random.default_rng(0)
    kernel, x = rng.standard_normal((1, 2, 3, 5)), rng.standard_normal((1, 1, 10, 3))
    convolution.kernel.assign(kernel)
    y = convolution(tf.constant(x, tf.float32)).numpy()[0, 0]
    padded = np.concatenate([np.zeros((rate, 3)), x[0, 0]])
    by_hand = padded[:10] @ kernel[0, 0] + padded[rate:] @ kernel[0, 1]
    np.testing.assert_allclose(y, by_hand, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("stride", [1, 2])
def test_a_cell_of_amoebanet_gives_its_states_side_by_side(kind, stride):
    cell = CELLS[kind][stride - 1]
    x, previous = tf.ones([2, 6, 6, 5]), tf.ones([2, 12, 12, 7])
    y = apply_cell(Weights(), cell, x, previous, 8, stride)
    assert y.shape == (2, 6 // stride, 6 // stride, 8 * len(cell.output))


def test_what_amoebanets_cells_do_not_return_is_read():
    for cell in (cell for cells in CELLS.values() for cell in cells):
        read = {state for _, left, _, right in cell.pairs for state in (left, right)}
        assert read | set(cell.output) == set(range(7))
        for number, (_, left, _, right) in enumerate(cell.pairs, 2):
            assert max(left, right) < number


def test_every_weight_of_a_cell_is_trained():
    weights = Weights()
    optimizer = RMSProp(weights)

    @tf.function(autograph=False)
    def step(x, previous):
        y = apply_cell(weights, CELLS["A"][1], x, previous, 8, 2)
        loss = tf.reduce_sum(y)
        optimizer.minimise(loss)
        return loss

    inputs = [tf.TensorSpec([2, 6, 6, 5]), tf.TensorSpec([2, 12, 12, 7])]
    graph = capture(step, inputs, "cell").graph
    updates = [op for op in graph.op_names if op.endswith("ResourceApplyRMSProp")]
    assert len(updates) == len(weights.trainable) > 20
    assert graph.op_types.count("AssignVariableOp") == 2 * graph.op_types.count("FusedBatchNormV2")


def test_amoebanet_halves_images_and_doubles_filters(graphs):
    """35 pixels are 17 behind the start; each of four reductions halves, rounding up."""
    graph = graphs["amoebanet"]
    shapes = {}
    for tensor, producer in enumerate(graph.producer):
        name = graph.op_names[producer]
        if name.endswith("/output/concat"):
            shapes[name.partition("/")[0]] = graph.tensor_bytes[tensor]
    sizes = {"stem_0": (9, 4, 3), "stem_1": (5, 8, 3), "cell_0": (5, 16, 4)}
    sizes |= {"reduction_0": (3, 32, 3), "cell_1": (3, 32, 4)}
    sizes |= {"reduction_1": (2, 64, 3), "cell_2": (2, 64, 4)}
    assert shapes == {k: 4 * 2 * n * n * c * s for k, (n, c, s) in sizes.items()}


def test_batch_normalisation_moves_its_averages():
    weights, x = Weights(), np.random.default_rng(0).standard_normal((4, 5, 5, 2)) * 3 + 1
    with tf.name_scope("layer"):
        normalise(weights, tf.zeros([4, 5, 5, 2]), "norm")
        [gain, _] = weights.trainable
        gain.assign([1.0, 2.0])
        y = normalise(weights, tf.constant(x, tf.float32), "norm").numpy()
    assert len(weights.trainable) == 2
    np.testing.assert_allclose(y.mean((0, 1, 2)), 0, atol=1e-4)
    np.testing.assert_allclose(y.std((0, 1, 2)), [1, 2], rtol=1e-3)


def test_rmsprop_follows_its_formula():
    """Mean square 0.9 s + 0.1 g^2 and momentum 0.9 m + rate g / sqrt(s + 1), from zeros."""
    weights = Weights()
    optimizer = RMSProp(weights)

    @tf.function(autograph=False)
    def step(target):
        with tf.name_scope("layer"):
            loss = 0.5 * tf.reduce_sum(tf.square(weights.get("w", [3]).read_value() - target))
        optimizer.minimise(loss)
        return loss

    target = np.array([1.0, -2.0, 3.0])
    w, square, momentum = np.zeros((3, 3))
    for _ in range(3):
        assert float(step(tf.constant(target, tf.float32))) == pytest.approx(
            0.5 * np.square(w - target).sum(), rel=1e-5
        )
        square = 0.9 * square + 0.1 * (w - target) ** 2
        momentum = 0.9 * momentum + 0.015 * (w - target) / np.sqrt(square + 1)
        w = w - momentum
    [variable] = weights.trainable
    np.testing.assert_allclose(variable, w, rtol=1e-5)


def test_the_tasks_are_those_of_gdps_tables():
    published = load_published()
    rows = published[(published["paper"] == "GDP") & (published["gpus"] > 0)]
    printed = rows.drop_duplicates("task").set_index("task")
    assert len(printed) == 13
    for name, row in printed.iterrows():
        model, label = tasks()[name], row["printed_task"]
        assert model.gpus == row["gpus"]
        if "-layer" in label and "stack" not in label:
            assert model.layers == int(label[0])
        if "stack" in label:
            assert label == f"{model.stacks}-stack {model.layers}-layer WaveNet"
