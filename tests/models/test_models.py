"""The recurrent models at toy sizes; every task at the papers' size on paper only."""

import math
from dataclasses import replace

import networkx
import numpy as np
import pytest
import tensorflow as tf

from models._recurrent import LSTM, Parameters
from models.nmt import NMT
from models.post_tasks import PostRNNLM
from models.rnnlm import RNNLM
from suite.capture.to_graph import capture
from suite.core.model import CPU
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.graph_networkx import to_networkx
from suite.formats.machine_toml import load_machine
from suite.search.registry import tasks

STEPS, UNITS, WORDS, LAYERS = 3, 8, 20, 4
SMALL_NMT = NMT(LAYERS, LAYERS, None, batch=2, units=UNITS, steps=STEPS, vocabulary=WORDS)
FED_NMT = replace(SMALL_NMT, input_feeding=True)
SMALL_RNNLM = RNNLM(batch=2, units=UNITS, steps=STEPS, vocabulary=WORDS)


@pytest.fixture(scope="module")
def nmt():
    return capture(*SMALL_NMT.build(), "nmt").graph


@pytest.fixture(scope="module")
def fed_nmt():
    return capture(*FED_NMT.build(), "nmt").graph


@pytest.fixture(scope="module")
def rnnlm():
    return capture(*SMALL_RNNLM.build(), "rnnlm").graph


def lstm_weights(layers, units):
    return layers * ((2 * units) * (4 * units) + 4 * units)


def nmt_weights(model):
    embeddings = 2 * model.vocabulary * model.units
    attention = 2 * model.units**2 + model.units + 2 * model.units * model.units
    softmax = model.units * model.vocabulary + model.vocabulary
    return embeddings + lstm_weights(2 * model.layers, model.units) + attention + softmax


def fed_nmt_weights(model):
    return nmt_weights(model) + 2 * model.units**2


def rnnlm_weights(model):
    softmax = model.units * model.vocabulary + model.vocabulary
    return model.vocabulary * model.units + lstm_weights(model.layers, model.units) + softmax


def gpu_by_hand(name, gpus):
    """The GPU that HDP's rule gives a named scope, or None where the name says nothing."""
    scope = name.removeprefix("gradients/")
    for layer in range(LAYERS):
        if scope.startswith((f"encoder/layer_{layer}/", f"decoder/layer_{layer}/")):
            return {1: 0, 2: layer // 2, 3: (0, 0, 1, 2)[layer], 4: layer}[gpus]
    if scope.startswith(("attention/", "softmax/")):
        return gpus - 1
    return 0 if scope.startswith("embedding/") else None


@pytest.mark.parametrize("gpus", [1, 2, 3, 4])
def test_the_expert_puts_each_layer_of_nmt_on_its_gpu(nmt, gpus):
    """All that a scope names but the updates' reads of Adam's powers, which stay with those."""
    expert = SMALL_NMT.expert(nmt, gpus)
    powers = nmt.colocation[[nmt.op_names.index(f"adam/beta{i}") for i in (1, 2)]]
    free = ~np.isin(nmt.colocation, powers)
    wanted = [gpu_by_hand(name, gpus) for name in nmt.op_names]
    placed = {
        name: (gpu, by_hand)
        for name, gpu, by_hand, own in zip(nmt.op_names, expert, wanted, free, strict=True)
        if own and by_hand is not None
    }
    assert len(placed) > 0.85 * nmt.n_ops
    assert {name: pair for name, pair in placed.items() if pair[0] != pair[1]} == {}
    assert set(expert.tolist()) == set(range(gpus))


@pytest.mark.parametrize("gpus", [2, 4])
def test_a_layers_updates_are_on_its_gpu(nmt, gpus):
    """The variable, its slots, the sum of its gradients and the update."""
    expert = dict(zip(nmt.op_names, SMALL_NMT.expert(nmt, gpus).tolist(), strict=True))
    for side in ("encoder", "decoder"):
        for layer in range(LAYERS):
            gpu = layer * gpus // LAYERS
            update = f"{side}/layer_{layer}/kernel/adam/ResourceApplyAdam"
            assert expert[f"{side}/layer_{layer}/kernel"] == gpu
            assert expert[update] == gpu
            assert expert[gradient_of(nmt, update)] == gpu


@pytest.mark.parametrize("gpus", [1, 2, 4])
@pytest.mark.parametrize("model", [SMALL_NMT, SMALL_RNNLM], ids=["nmt", "rnnlm"])
def test_the_experts_are_valid_placements(request, model, gpus):
    graph = request.getfixturevalue("nmt" if model is SMALL_NMT else "rnnlm")
    machine = load_machine("k40").with_gpus(gpus)
    devices = np.array([*machine.gpus, machine.cpus[0]])
    expert = model.expert(graph, gpus)
    Placement.of(Problem.create(graph, machine), devices[expert])
    assert (expert == CPU).sum() <= (~graph.gpu_kernel).sum()


def test_the_expert_puts_rnnlm_on_one_gpu(rnnlm):
    assert set(SMALL_RNNLM.expert(rnnlm, 2).tolist()) <= {0, CPU}


def test_the_expert_gives_each_layer_of_posts_rnnlm_a_gpu():
    model = PostRNNLM(batch=2, units=UNITS, steps=STEPS, vocabulary=WORDS)
    graph = capture(*model.build(), "post_rnnlm").graph
    placed = dict(zip(graph.op_names, model.expert(graph, model.gpus).tolist(), strict=True))
    for layer in range(4):
        assert placed[f"lstm/layer_{layer}/step_1/MatMul"] == layer
    assert placed["embedding/table"] == 0
    assert placed["softmax/kernel"] == 3


def producers(graph, name):
    """Producers of the tensors with bytes that an operation reads."""
    offsets, tensors = graph.inputs
    i = graph.op_names.index(name)
    read = [k for k in tensors[offsets[i] : offsets[i + 1]] if graph.tensor_bytes[k]]
    return [graph.op_names[graph.producer[k]] for k in read]


def gradient_of(graph, update):
    """The operation whose output an update takes: not a constant, nor a read variable."""
    types = dict(zip(graph.op_names, graph.op_types, strict=True))
    (gradient,) = [
        p for p in producers(graph, update) if types[p] not in ("Const", "ReadVariableOp")
    ]
    return gradient


@pytest.mark.parametrize("weight", ["kernel", "bias"])
@pytest.mark.parametrize("model", ["nmt", "rnnlm"])
def test_one_sum_takes_the_gradients_of_all_steps(request, model, weight):
    graph = request.getfixturevalue(model)
    updates = [n for n in graph.op_names if n.endswith(f"{weight}/adam/ResourceApplyAdam")]
    unrolled = [n for n in updates if "layer_" in n]
    assert len(unrolled) == (2 * LAYERS if model == "nmt" else 2)
    for update in unrolled:
        total = gradient_of(graph, update)
        assert graph.op_types[graph.op_names.index(total)] == "AddN"
        scope = update.split(f"/{weight}/")[0]
        sources = sorted(producers(graph, total))
        assert len(sources) == STEPS
        for step, source in enumerate(sources):
            assert source.startswith(f"gradients/{scope}/step_{step}/")


@pytest.mark.parametrize(
    ("graph", "weights"),
    [
        ("nmt", nmt_weights(SMALL_NMT)),
        ("fed_nmt", fed_nmt_weights(SMALL_NMT)),
        ("rnnlm", rnnlm_weights(SMALL_RNNLM)),
    ],
)
def test_weights_and_two_slots_are_resident(request, graph, weights):
    graph = request.getfixturevalue(graph)
    assert graph.metadata["parameters"] == weights
    assert graph.persistent_bytes.sum() == 4 * (3 * weights + 2)


@pytest.mark.parametrize("step", range(1, STEPS))
@pytest.mark.parametrize("graph", ["nmt", "fed_nmt"])
def test_only_a_fed_decoder_waits_for_the_attention_of_the_step_before(request, graph, step):
    captured = request.getfixturevalue(graph)
    before = networkx.ancestors(to_networkx(captured), f"decoder/layer_0/step_{step}/MatMul")
    attended = {name for name in before if name.startswith(f"attention/step_{step - 1}/")}
    assert any(name.endswith("/MatMul_1") for name in attended) == (graph == "fed_nmt")


@pytest.mark.parametrize(
    "model", [SMALL_NMT, FED_NMT, SMALL_RNNLM], ids=["nmt", "fed_nmt", "rnnlm"]
)
def test_training_starts_at_chance_and_learns(model):
    step, specs = model.build()
    rng = np.random.default_rng(0)
    batch = [tf.constant(rng.integers(0, WORDS, s.shape), s.dtype) for s in specs]
    losses = [float(step(*batch)) for _ in range(20)]
    assert losses[0] == pytest.approx(math.log(WORDS), abs=1e-4)
    assert (np.diff(losses) < 0).all()


def test_the_tasks_have_the_papers_sizes():
    """HDP, section 4 and Table 1; ColocRL, section 4.1; what is known of Post."""
    papers = {
        "inception_v3": {"batch": 1, "gpus": 2, "paper_ops": 24_713},
        "resnet_152": {"batch": 128, "gpus": 2, "paper_ops": 20_586},
        "rnnlm": {"batch": 64, "layers": 2, "units": 2048, "steps": 40, "gpus": 2}
        | {"paper_ops": 9_021},
    }
    sizes = {"batch": 64, "units": 1024, "steps": 40}
    for layers, ops in ((2, 28_044), (4, 46_600), (8, 83_712)):
        papers[f"nmt_{layers}"] = sizes | {"layers": layers, "gpus": layers, "paper_ops": ops}
    papers["colocrl_rnnlm"] = papers["rnnlm"] | {"paper_ops": 8_943}
    papers["colocrl_nmt"] = papers["nmt_2"] | {"paper_ops": 22_097}
    papers["colocrl_inception_v3"] = {"batch": 32, "image_size": 299, "paper_ops": 31_180}
    papers |= {
        name: {"batch": 32, "paper_ops": None} for name in ("post_inception_v3", "post_resnet")
    }
    papers["post_rnnlm"] = {"layers": 4, "paper_ops": None}
    for name, expected in papers.items():
        assert {k: getattr(tasks()[name], k) for k in expected} == expected


def test_every_task_says_what_was_chosen_here():
    for model in tasks().values():
        assert model.choices


def test_a_memory_is_kept_by_the_forget_gate_s_bias():
    """All weights are zero: the gate is sigmoid(1), 0.731, and nothing new comes in."""
    layer, nothing = LSTM(Parameters(), "lstm", inputs=1, units=1), tf.zeros([1, 1])
    memory, _ = layer.step(0, nothing, (tf.ones([1, 1]), nothing), layer.weights())
    assert float(memory[0, 0]) == pytest.approx(1 / (1 + math.exp(-1)))


def test_variables_that_begin_with_the_same_zeros_are_written_apart():
    parameters = Parameters()
    written, other = (parameters.create(name, [2, 3]) for name in ("written", "other"))
    written.assign_add(tf.ones([2, 3]))
    assert written.numpy().all()
    assert not other.numpy().any()
    assert not parameters.create("later", [2, 3]).numpy().any()
