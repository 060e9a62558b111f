"""Losses of the sequence models by NumPy in float64, written from the papers and public code.

Each takes a model, its variables by name, and what a step is given.
"""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def surprise(logits, labels):
    """Mean of minus the logarithm of what the labels are given."""
    chosen = np.take_along_axis(softmax(logits), np.asarray(labels)[..., None], -1)
    return -np.log(chosen).mean()


def lstm(w, scope, x, state):
    """BasicLSTMCell of TensorFlow 1: input gate, new input, forget gate (bias 1), output gate."""
    memory, output = state
    gates = np.concatenate([x, output], 1) @ w[f"{scope}/kernel"] + w[f"{scope}/bias"]
    i, j, f, o = np.split(gates, 4, 1)
    memory = sigmoid(f + 1) * memory + sigmoid(i) * np.tanh(j)
    return memory, sigmoid(o) * np.tanh(memory)


def run(w, scope, inputs, state):
    """Outputs of all steps, and the last state."""
    outputs = []
    for x in inputs:
        state = lstm(w, scope, x, state)
        outputs.append(state[1])
    return outputs, state


def embedded(table, words):
    """Steps first."""
    return list(table[np.asarray(words).T])


def vocabulary_loss(w, outputs, labels):
    logits = np.stack(outputs, 1) @ w["softmax/kernel"] + w["softmax/bias"]
    return surprise(logits, labels)


def rnnlm(model, w, words, targets):
    outputs = embedded(w["embedding/table"], words)
    for layer in range(model.layers):
        outputs, _ = run(w, f"lstm/layer_{layer}", outputs, zero_state(model))
    return vocabulary_loss(w, outputs, targets)


def zero_state(model):
    return (np.zeros((model.batch, model.units)),) * 2


def context_of(shares, memory):
    return np.einsum("bs,bsu->bu", shares, memory)


def nmt(model, w, source, target, labels):
    """Bahdanau's score; Luong's attentional vector, which the next step reads if it is fed."""
    outputs, states = embedded(w["embedding/source/table"], source), []
    for layer in range(model.layers):
        outputs, state = run(w, f"encoder/layer_{layer}", outputs, zero_state(model))
        states.append(state)
    memory, attended, found = np.stack(outputs, 1), np.zeros((model.batch, model.units)), []
    keys = memory @ w["attention/key"]
    for x in embedded(w["embedding/target/table"], target):
        if model.input_feeding:
            x = np.concatenate([x, attended], 1) @ w["attention/feed"]
        for layer in range(model.layers):
            states[layer] = lstm(w, f"decoder/layer_{layer}", x, states[layer])
            x = states[layer][1]
        query = x @ w["attention/query"]
        shares = softmax(np.tanh(keys + query[:, None]) @ w["attention/score"])
        context = context_of(shares, memory)
        attended = np.tanh(np.concatenate([context, x], 1) @ w["attention/mix"])
        found.append(attended)
    return vocabulary_loss(w, found, labels)


def gnmt(model, w, source, target, labels):
    """The encoder and decoder of tensorflow/nmt, architecture gnmt_v2, normed_bahdanau."""
    words, zero = embedded(w["embedding/source/table"], source), zero_state(model)
    ahead, _ = run(w, "encoder/layer_0/forward", words, zero)
    back, state = run(w, "encoder/layer_0/backward", words[::-1], zero)
    outputs, states = list(np.concatenate([ahead, back[::-1]], 2)), [state]
    for layer in range(1, model.layers):
        above, state = run(w, f"encoder/layer_{layer}", outputs, zero)
        outputs = [a + b for a, b in zip(above, outputs, strict=True)] if layer > 1 else above
        states.append(state)
    memory, context, found = np.stack(outputs, 1), np.zeros((model.batch, model.units)), []
    direction = w["attention/direction"] / np.linalg.norm(w["attention/direction"])
    for x in embedded(w["embedding/target/table"], target):
        for layer in range(model.layers):
            joined = np.concatenate([x, context], 1)
            states[layer] = lstm(w, f"decoder/layer_{layer}", joined, states[layer])
            x = states[layer][1] + (x if layer > 1 else 0)
            if layer == 0:
                query = x @ w["attention/query"]
                sums = memory @ w["attention/key"] + query[:, None] + w["attention/offset"]
                scores = w["attention/length"] * (np.tanh(sums) @ direction)
                context = context_of(softmax(scores), memory)
        found.append(x)
    return vocabulary_loss(w, found, labels)


def normalised(x, gain, shift):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * gain + shift


def sinusoid(distance, width):
    angles = distance / 10_000.0 ** (np.arange(0, width, 2) / width)
    return np.concatenate([np.sin(angles), np.cos(angles)])


def transformer_xl(model, w, words, labels, *memories):
    """Dai et al., section 3.3: every score by itself, from the distance of its two positions."""
    x = w["embedding/table"][words] * model.width**0.5
    for layer, memory in enumerate(memories):
        own = {name.removeprefix(f"layer_{layer}/"): weight for name, weight in w.items()}
        attended = relative_attention(model, own, np.asarray(memory, np.float64), x)
        x = x + attended @ own["attention/output"]
        x = normalised(x, own["attention/gain"], own["attention/shift"])
        inner = np.maximum(x @ own["inner/kernel_1"] + own["inner/bias_1"], 0)
        x = x + inner @ own["inner/kernel_2"] + own["inner/bias_2"]
        x = normalised(x, own["inner/gain"], own["inner/shift"])
    return surprise(x @ w["embedding/table"].T + w["softmax/bias"], labels)


def relative_attention(model, own, memory, x):
    seen, each = np.concatenate([memory, x], 1), model.width // model.heads
    by_query, by_key, by_value = np.split(own["attention/qkv"], 3, 1)
    attended = np.zeros_like(x)
    for head in range(model.heads):
        part = slice(head * each, (head + 1) * each)
        keys, values = seen @ by_key[:, part], seen @ by_value[:, part]
        for i in range(model.segment):
            query = x[:, i] @ by_query[:, part]
            reach = i + memory.shape[1] + 1  # itself and all before
            far = np.stack([sinusoid(reach - 1 - j, model.width) for j in range(reach)])
            far = far @ own["attention/distance"][:, part]
            by_content, by_position = (
                query + own[f"position/{name}"][head] for name in ("content", "position")
            )
            scores = np.einsum("bd,bjd->bj", by_content, keys[:, :reach]) + by_position @ far.T
            attended[:, i, part] = context_of(softmax(scores / each**0.5), values[:, :reach])
    return attended


def causal(w, scope, x, rate=1):
    """A filter of two, of which the first reads ``rate`` samples before the second."""
    kernel, before = w[f"{scope}/kernel"][0], np.zeros((len(x), rate, x.shape[2]))
    earlier = np.concatenate([before, x], 1)[:, : x.shape[1]]
    return earlier @ kernel[0] + x @ kernel[1] + w[f"{scope}/bias"]


def wavenet(model, w, heard, labels):
    """Van den Oord et al., sections 2.3 and 2.4."""
    x, skipped = causal(w, "start/causal", np.eye(model.amplitudes)[heard]), 0.0

    def pointwise(scope, x):
        return x @ w[f"{scope}/kernel"][0, 0] + w[f"{scope}/bias"]

    for number in range(model.stacks * model.layers):
        stack, layer = divmod(number, model.layers)
        scope, rate = f"stack_{stack}/layer_{layer}", 2 ** (layer % 10)
        filtered, gate = (causal(w, f"{scope}/{kind}", x, rate) for kind in ("filter", "gate"))
        gated = np.tanh(filtered) * sigmoid(gate)
        skipped = skipped + pointwise(f"{scope}/skip", gated)
        if number < model.stacks * model.layers - 1:
            x = x + pointwise(f"{scope}/dense", gated)
    hidden = np.maximum(pointwise("post/hidden", np.maximum(skipped, 0)), 0)
    return surprise(pointwise("post/logits", hidden), labels)
