"""BERT base, uncased (Devlin et al. 2019), as Hugging Face has it, for one short text."""

from __future__ import annotations

import numpy as np
import openvino
from openvino import opset13 as op

from models.openvino.layers import Tensor, integers, linear, network, scalar, weights

LAYERS, HEADS, WIDTH = 12, 12, 768
VOCABULARY, POSITIONS, KINDS = 30_522, 512, 2
"""Rows of the embeddings of words, of their positions and of the two texts."""

LOWEST = float(np.finfo(np.float32).min)
"""What is added to the scores of hidden words; float16 cannot hold it."""


def bert(tokens: int) -> openvino.Model:
    """Return the network from int64[1, tokens] thrice (words, mask, which text) to states.

    These are of the words, float32[1, tokens, 768], and of the text, float32[1, 768].
    """
    names = ("input_ids", "attention_mask", "token_type_ids")
    words, mask, kinds = (op.parameter([1, tokens], np.int64, name=name) for name in names)
    positions = op.gather(weights(POSITIONS, WIDTH), integers([[*range(tokens)]]), integers(0))
    x = op.add(op.add(_embedded(VOCABULARY, words), _embedded(KINDS, kinds)), positions)
    x = _normalised(x)
    hidden = op.convert(op.unsqueeze(op.unsqueeze(mask, integers(1)), integers(2)), "f32")
    bias = op.multiply(op.subtract(scalar(1.0), hidden), scalar(LOWEST))
    for _ in range(LAYERS):
        x = _layer(x, bias, tokens)
    first = op.gather(x, integers(0), integers(1))
    return network([x, op.tanh(linear(first, WIDTH, WIDTH))], [words, mask, kinds], "bert")


def _embedded(rows: int, indices: Tensor) -> Tensor:
    return op.gather(weights(rows, WIDTH), op.convert(indices, "i32"), integers(0))


def _normalised(x: Tensor) -> Tensor:
    centred = op.mvn(x, integers([-1]), True, 1e-12, "INSIDE_SQRT")
    return op.add(op.multiply(centred, weights(1, 1, WIDTH)), weights(1, 1, WIDTH))


def _layer(x: Tensor, bias: Tensor, tokens: int) -> Tensor:
    """Attention and two dense layers, each added to its input and normalised."""
    attended = linear(_attention(x, bias, tokens), WIDTH, WIDTH)
    x = _normalised(op.add(attended, x))
    inner = op.gelu(linear(x, WIDTH, 4 * WIDTH), "erf")
    return _normalised(op.add(linear(inner, 4 * WIDTH, WIDTH), x))


def _attention(x: Tensor, bias: Tensor, tokens: int) -> Tensor:
    """Attention of twelve heads, operation by operation; the keys have a transposition."""
    query, key, value = (_heads(linear(x, WIDTH, WIDTH), tokens) for _ in range(3))
    scores = op.matmul(query, op.transpose(key, integers([0, 1, 3, 2])), False, False)
    shares = op.softmax(op.add(op.divide(scores, scalar((WIDTH / HEADS) ** 0.5)), bias), 3)
    mixed = op.transpose(op.matmul(shares, value, False, False), integers([0, 2, 1, 3]))
    return op.reshape(mixed, integers([1, tokens, WIDTH]), False)


def _heads(x: Tensor, tokens: int) -> Tensor:
    split = op.reshape(x, integers([1, tokens, HEADS, WIDTH // HEADS]), False)
    return op.transpose(split, integers([0, 2, 1, 3]))
