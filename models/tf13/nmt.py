"""NMT: LSTM encoder and decoder with attention, as in TensorFlow's translation tutorial.

Its library unrolls both over 40 steps, and feeds each decoder step what the last one attended to.
"""

import tensorflow as tf

BATCH, UNITS, STEPS = 64, 1024, 40


def cells(layers, residual):
    """The layers of one step; with ``residual``, each from the second on adds its input."""
    stack = [tf.contrib.rnn.BasicLSTMCell(UNITS) for _ in range(layers)]
    if residual:
        stack[1:] = [tf.contrib.rnn.ResidualWrapper(cell) for cell in stack[1:]]
    return tf.contrib.rnn.MultiRNNCell(stack)


def words(name):
    """One placeholder a step."""
    return [tf.placeholder(tf.int32, [BATCH], "%s_%d" % (name, i)) for i in range(STEPS)]


def loss(vocabulary, layers, residual):
    """The training loss, with a softmax for each step."""
    source, target, labels = words("source"), words("target"), words("label")
    projection = (
        tf.get_variable("softmax_w", [UNITS, vocabulary]),
        tf.get_variable("softmax_b", [vocabulary]),
    )
    outputs, _ = tf.contrib.legacy_seq2seq.embedding_attention_seq2seq(
        source,
        target,
        cells(layers, residual),
        num_encoder_symbols=vocabulary,
        num_decoder_symbols=vocabulary,
        embedding_size=UNITS,
        output_projection=projection,
    )
    logits = []
    for step, output in enumerate(outputs):
        with tf.name_scope("softmax_%d" % step):
            logits.append(tf.matmul(output, projection[0]) + projection[1])
    weights = [tf.ones([BATCH]) for _ in range(STEPS)]
    return tf.contrib.legacy_seq2seq.sequence_loss(logits, labels, weights)
