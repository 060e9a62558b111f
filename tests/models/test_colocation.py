"""ColocRL's per-model rules: what ends up in one group, forward and backward."""

import re
from collections import defaultdict

import keras
import numpy as np
import pytest

from models.inception import InceptionV3, branch_of
from models.nmt import NMT
from models.resnet import ResNet152
from models.rnnlm import RNNLM
from suite.capture.to_graph import capture
from suite.core.colocation import colocation_groups, forward_name
from suite.core.graph import OpGraph
from suite.core.model import CPU

STEPS = 3
SMALL = {"batch": 2, "units": 8, "steps": STEPS, "vocabulary": 20}
MODELS = {
    "nmt": NMT(2, 2, None, **SMALL),
    "rnnlm": RNNLM(softmax_per_step=True, layer_per_gpu=True, **SMALL),
    "joint": RNNLM(**SMALL),
}
UNROLLED = {
    "nmt": [
        *(f"{side}/layer_{i}" for side in ("encoder", "decoder") for i in (0, 1)),
        *("attention", "softmax"),
    ],
    "rnnlm": ["lstm/layer_0", "lstm/layer_1", "softmax"],
    "joint": ["lstm/layer_0", "lstm/layer_1"],
}


@pytest.fixture(scope="module", params=MODELS)
def grouped(request):
    """Model, its unrolled scopes, its graph, and the group of each operation by name."""
    model = MODELS[request.param]
    graph = capture(*model.build(), request.param).graph
    groups = colocation_groups(graph, model.block)
    named = dict(zip(graph.op_names, groups.tolist(), strict=True))
    return model, UNROLLED[request.param], graph, named


def test_each_step_of_each_unrolled_scope_is_one_group(grouped):
    _, scopes, _, groups = grouped
    of_block = defaultdict(set)
    for name, group in groups.items():
        block = re.match(r"(.+/step_\d+)/", forward_name(name))
        if block and not block[1].startswith("embedding"):
            of_block[block[1]].add(group)
    assert set(of_block) == {f"{scope}/step_{i}" for scope in scopes for i in range(STEPS)}
    assert {len(found) for found in of_block.values()} == {1}
    assert len(set.union(*of_block.values())) == len(of_block)


def test_gradients_are_with_their_forward_operations(grouped):
    _, _, _, groups = grouped
    pairs = [
        (name, of[1])
        for name in groups
        if (of := re.match(r"gradients/(.+)_grad/", name)) and of[1] in groups
    ]
    assert len(pairs) > 0.2 * len(groups)
    assert [pair for pair in pairs if groups[pair[0]] != groups[pair[1]]] == []


def test_a_table_has_its_lookups_and_its_update(grouped):
    """A lookup takes the table's handle, so TensorFlow keeps the two together."""
    _, _, _, groups = grouped
    tables = [name for name in groups if re.fullmatch(r"embedding(/\w+)?/table", name)]
    for table in tables:
        scope = table.removesuffix("table")
        mine = {groups[n] for n in groups if n.startswith((f"{scope}step_", f"{table}/adam/Resou"))}
        assert mine == {groups[table]}


def test_little_is_left_besides_steps_and_variables(grouped):
    """Constants, the loss, the input columns: less than a dozen groups, whatever the length."""
    _, scopes, graph, groups = grouped
    variables = sum(
        graph.persistent_bytes[graph.colocation == c].any() for c in range(graph.n_classes)
    )
    expected = len(scopes) * STEPS + variables
    assert expected - 2 <= len(set(groups.values())) <= expected + 12


def test_one_softmax_over_all_steps_is_one_step():
    graph = capture(*MODELS["joint"].build(), "joint").graph
    groups = colocation_groups(graph, MODELS["joint"].block)
    softmax = {
        int(group)
        for name, group in zip(graph.op_names, groups, strict=True)
        if re.match(r"softmax/(MatMul|BiasAdd|concat|Sparse)", forward_name(name))
    }
    assert len(softmax) == 1


@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_colocrls_expert_gives_each_layer_of_rnnlm_a_gpu(gpus):
    model = MODELS["rnnlm"]
    graph = capture(*model.build(), "rnnlm").graph
    experts = dict(zip(graph.op_names, model.expert(graph, gpus).tolist(), strict=True))
    last = min(gpus, 2) - 1
    homes = {"lstm/layer_0/": 0, "lstm/layer_1/": last, "softmax/": last, "embedding/": 0}
    for scope, gpu in homes.items():
        found = {
            experts[n] for n in experts if forward_name(n).startswith(scope) and "/adam/Re" not in n
        }
        assert found <= {gpu, CPU}
        assert gpu in found


def test_four_gpus_hold_the_four_lstm_layers_of_nmt():
    model = MODELS["nmt"]
    graph = capture(*model.build(), "nmt").graph
    experts = dict(zip(graph.op_names, model.expert(graph, 4).tolist(), strict=True))
    homes = {"encoder/layer_0": 0, "encoder/layer_1": 1, "decoder/layer_0": 2, "decoder/layer_1": 3}
    homes |= {"attention": 3, "softmax": 3}
    for scope, gpu in homes.items():
        assert experts[next(n for n in experts if n.startswith(f"{scope}/step_1/MatMul"))] == gpu


@pytest.fixture(scope="module")
def inception():
    """The network's layers as operations, named as TensorFlow names theirs."""
    keras.backend.clear_session()
    network = keras.applications.InceptionV3(weights=None, input_shape=(75, 75, 3))
    layers = [layer for layer in network.layers if layer.__class__.__name__ != "InputLayer"]
    index = {layer.name: i for i, layer in enumerate(layers)}
    edges = [
        (index[tensor._keras_history.operation.name], index[layer.name])
        for layer in layers
        for tensor in (layer.input if isinstance(layer.input, list) else [layer.input])
        if tensor._keras_history.operation.name in index
    ]
    names = [f"inception_v3_1/{layer.name}_1/op" for layer in layers]
    return OpGraph.create(
        "inception",
        names,
        [layer.__class__.__name__ for layer in layers],
        [source for source, _ in edges],
        [(i, reader) for i, (_, reader) in enumerate(edges)],
        tensor_bytes=4,
    )


def layer_name(name):
    return name.removeprefix("inception_v3_1/").removesuffix("_1/op")


def is_join(layer):
    return re.fullmatch(r"mixed\d+", layer) is not None


def test_the_branches_of_inception_are_what_lies_between_two_joins(inception):
    """Cut out the joins of modules: what then still hangs together behind the stem is a branch."""
    layers = [layer_name(name) for name in inception.op_names]
    root = {layer: layer for layer in layers}

    def find(layer):
        return layer if root[layer] == layer else find(root[layer])

    tensors, readers = inception.edges
    stem_end = next(
        layers[inception.producer[t]]
        for t, r in zip(tensors, readers, strict=True)
        if layers[r] == "conv2d_5"
    )
    for tensor, reader in zip(tensors.tolist(), readers.tolist(), strict=True):
        ends = layers[inception.producer[tensor]], layers[reader]
        if not any(is_join(end) or end == stem_end for end in ends):
            root[find(ends[0])] = find(ends[1])
    branches = defaultdict(set)
    for layer in layers:
        branches[find(layer)].add(layer)
    mine = defaultdict(set)
    for layer in layers:
        branch = branch_of(layer)
        if branch and branch[0] >= 0:
            mine[branch].add(layer)
    assert len(mine) == 42
    apart = {frozenset(b) for b in branches.values() if len(b) > 1 or "pooling" in min(b)}
    assert {frozenset(b) for b in mine.values()} <= apart


def test_inceptions_groups_are_branches_and_layers(inception):
    """42 branches, 5 convolutions and 2 poolings of the stem, 11 joins, 2 layers of the head."""
    model = InceptionV3()
    blocks = [model.block(name) for name in inception.op_names]
    assert None not in blocks
    assert len(set(blocks)) == 42 + 5 + 2 + 11 + 2


@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_colocrls_expert_cuts_inception_into_contiguous_parts(inception, gpus):
    model = InceptionV3(contiguous_parts=True)
    experts = model.expert(inception, gpus)
    tensors, readers = inception.edges
    assert (experts[inception.producer[tensors]] <= experts[readers]).all()
    convolutions = np.array([t == "Conv2D" for t in inception.op_types])
    share = np.bincount(experts[convolutions], minlength=gpus) / convolutions.sum()
    assert share.min() > 0.7 / gpus
    assert share.max() < 1.4 / gpus


def test_a_residual_block_is_a_group():
    block = ResNet152().block
    assert block("resnet152_1/conv3_block2_1_conv_1/convolution") == "conv3_block2"
    assert block("resnet152_1/conv3_block2_out_1/Relu") == "conv3_block2"
    assert block("resnet152_1/conv1_bn_1/add") == "conv1_bn"
    assert block("conv1_bn/gamma") is None
