"""FLOP of all products of a captured step, beside a count by hand from the layers' shapes."""

from dataclasses import replace

import pytest

from models.gnmt import GNMT
from models.nmt import NMT
from models.rnnlm import RNNLM
from models.transformer_xl import TransformerXL
from models.wavenet import WaveNet
from suite.capture.to_graph import capture

PRODUCTS = ("MatMul", "BatchMatMulV2", "Einsum", "Conv2D")
SIZES = {"batch": 2, "units": 6, "steps": 3, "vocabulary": 11}


def lstms(model, widths):
    """Of layers, each of so many inputs, over all steps."""
    return sum(model.steps * (width + model.units) * 4 * model.units for width in widths)


def rnnlm(model):
    softmax = model.steps * model.units * model.vocabulary
    return model.batch * (lstms(model, [model.units] * model.layers) + softmax)


def nmt(model):
    """Beside LSTMs and softmax: key, query, the mix of two, and what is fed."""
    square, softmax = model.units**2, model.units * model.vocabulary
    attention = 6 * square if model.input_feeding else 4 * square
    cells = lstms(model, [model.units] * 2 * model.layers)
    return model.batch * (cells + model.steps * (attention + softmax))


def gnmt(model):
    units, more = model.units, model.layers - 2
    encoder = [units, units, 2 * units, *[units] * more]
    cells = lstms(model, encoder + [2 * units] * model.layers)
    other = 2 * units**2 + units * model.vocabulary
    return model.batch * (cells + model.steps * other)


def transformer_xl(model):
    """Queries are computed of the memory, too, as by the authors, and distances once a batch."""
    reach, square = model.segment + model.memory, model.width**2
    attention = reach * 3 * square + 3 * model.segment * reach * model.width
    layer = attention + model.segment * (square + 2 * model.width * model.inner)
    softmax = model.segment * model.width * model.vocabulary
    return model.batch * (model.layers * layer + softmax) + model.layers * reach * square


def wavenet(model):
    dilated = 2 * 2 * model.residual * model.dilation
    layer = dilated + model.dilation * (model.residual + model.skip)
    ends = 2 * model.amplitudes * model.residual + model.skip * (model.skip + model.amplitudes)
    layers = model.stacks * model.layers
    # The last layer hands nothing on.
    return model.samples * (layers * layer + ends - model.dilation * model.residual)


RNN, TRANSLATION = RNNLM(**SIZES), NMT(2, 2, None, **SIZES)
XL = TransformerXL(2, 2, batch=2, segment=3, memory=4, width=8, heads=2, inner=6, vocabulary=11)
WAVES = WaveNet(1, 1, 1, samples=8, residual=3, dilation=4, skip=5, amplitudes=7)
MODELS = {
    "rnnlm": (RNN, rnnlm, 0),
    "rnnlm, softmax per step": (replace(RNN, softmax_per_step=True), rnnlm, 0),
    "nmt": (TRANSLATION, nmt, 0),
    "nmt, fed": (replace(TRANSLATION, input_feeding=True), nmt, 0),
    "gnmt": (GNMT(3, 3, **SIZES), gnmt, 0),
    # Distances have no gradient, nor has what was heard.
    "transformer_xl": (XL, transformer_xl, XL.layers * (XL.segment + XL.memory) * XL.width**2),
    "wavenet": (WAVES, wavenet, WAVES.samples * 2 * WAVES.amplitudes * WAVES.residual),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_step_is_three_times_the_forward_pass(name):
    """Two FLOP a term: forwards, by the weights and, where there is a gradient, by the inputs."""
    model, terms, without_gradient = MODELS[name]
    graph = capture(*model.build(), "model").graph
    products = [kind.startswith(PRODUCTS) for kind in graph.op_types]
    assert graph.flops[products].sum() == 2 * (3 * terms(model) - without_gradient)
