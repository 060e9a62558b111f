"""RNNLM: two LSTM layers over 40 unrolled steps (Jozefowicz et al. 2016; ColocRL, section 4.1)."""

import tensorflow as tf

BATCH, LAYERS, UNITS, STEPS = 64, 2, 2048, 40


def cells():
    """The layers of one step."""
    return tf.contrib.rnn.MultiRNNCell([tf.contrib.rnn.BasicLSTMCell(UNITS) for _ in range(LAYERS)])


def softmax_weights(vocabulary):
    """Kernel and bias of the projection to the vocabulary."""
    return (
        tf.get_variable("softmax_w", [UNITS, vocabulary]),
        tf.get_variable("softmax_b", [vocabulary]),
    )


def joint(vocabulary):
    """The loss with a lookup for each step and one softmax, as in TensorFlow's PTB tutorial."""
    words = tf.placeholder(tf.int32, [BATCH, STEPS], "words")
    targets = tf.placeholder(tf.int32, [BATCH, STEPS], "targets")
    table = tf.get_variable("embedding", [vocabulary, UNITS])
    inputs = [tf.nn.embedding_lookup(table, word) for word in tf.unstack(words, axis=1)]
    outputs, _ = tf.contrib.rnn.static_rnn(cells(), inputs, dtype=tf.float32, scope="RNN")
    kernel, bias = softmax_weights(vocabulary)
    with tf.name_scope("softmax"):
        hidden = tf.reshape(tf.stack(outputs, axis=1), [-1, UNITS])
        logits = tf.matmul(hidden, kernel) + bias
        losses = tf.contrib.legacy_seq2seq.sequence_loss_by_example(
            [logits], [tf.reshape(targets, [-1])], [tf.ones([BATCH * STEPS])]
        )
        return tf.reduce_sum(losses) / BATCH


def step_by_step(vocabulary):
    """The loss with a lookup and a softmax for each step, as ColocRL's groups presuppose."""
    words = [tf.placeholder(tf.int32, [BATCH], "word_%d" % i) for i in range(STEPS)]
    targets = [tf.placeholder(tf.int32, [BATCH], "target_%d" % i) for i in range(STEPS)]
    table = tf.get_variable("embedding", [vocabulary, UNITS])
    inputs = [tf.nn.embedding_lookup(table, word) for word in words]
    outputs, _ = tf.contrib.rnn.static_rnn(cells(), inputs, dtype=tf.float32, scope="RNN")
    kernel, bias = softmax_weights(vocabulary)
    logits = []
    for step, output in enumerate(outputs):
        with tf.name_scope("softmax_%d" % step):
            logits.append(tf.matmul(output, kernel) + bias)
    weights = [tf.ones([BATCH]) for _ in range(STEPS)]
    return tf.contrib.legacy_seq2seq.sequence_loss(logits, targets, weights)
