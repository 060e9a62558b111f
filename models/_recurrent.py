"""What the unrolled recurrent models share: LSTM cells, variables, and one Adam update."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from models._zeros import zeros

if TYPE_CHECKING:
    import tensorflow as tf


class Parameters:
    """Named variables, each read once a step so that its value is one tensor."""

    def __init__(self) -> None:
        """Start without variables."""
        self.variables: list[tf.Variable] = []

    def create(self, name: str, shape: Sequence[int]) -> tf.Variable:
        """Return a new float32 variable of zeros (values do not matter to a placement)."""
        import tensorflow as tf

        variable = tf.Variable(zeros(*shape), name=name)
        self.variables.append(variable)
        return variable


class LSTM:
    """One layer: gates in one matrix product (Hochreiter and Schmidhuber; forget bias 1)."""

    def __init__(self, parameters: Parameters, scope: str, inputs: int, units: int) -> None:
        """Create kernel [inputs + units, 4 units] and bias [4 units]."""
        self.scope = scope
        self.kernel = parameters.create(f"{scope}/kernel", [inputs + units, 4 * units])
        self.bias = parameters.create(f"{scope}/bias", [4 * units])

    def weights(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Read kernel and bias, once for all steps."""
        import tensorflow as tf

        with tf.name_scope(self.scope):
            return self.kernel.read_value(), self.bias.read_value()

    def step(
        self,
        step: int,
        x: tf.Tensor,
        state: tuple[tf.Tensor, tf.Tensor],
        weights: tuple[tf.Tensor, tf.Tensor],
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Run one step on float32[batch, inputs]: the next state, which ends with the output."""
        import tensorflow as tf

        memory, output = state
        with tf.name_scope(f"{self.scope}/step_{step}"):
            z = tf.nn.bias_add(tf.matmul(tf.concat([x, output], 1), weights[0]), weights[1])
            gate, new, forget, out = tf.split(z, 4, axis=1)
            kept = memory * tf.sigmoid(forget + 1.0)
            memory = kept + tf.sigmoid(gate) * tf.tanh(new)
            return memory, tf.tanh(memory) * tf.sigmoid(out)

    def unroll(
        self, inputs: Sequence[tf.Tensor], state: tuple[tf.Tensor, tf.Tensor]
    ) -> tuple[list[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]:
        """Run over ``inputs`` (float32[batch, inputs] each): (outputs, final state)."""
        weights, outputs = self.weights(), []
        for step, x in enumerate(inputs):
            state = self.step(step, x, state, weights)
            outputs.append(state[1])
        return outputs, state


def lookup(table: tf.Variable, scope: str, tokens: tf.Tensor) -> list[tf.Tensor]:
    """Embed int32[batch, steps] step by step: a list of float32[batch, units]."""
    import tensorflow as tf

    embedded = []
    with tf.name_scope(scope):
        columns = tf.unstack(tokens, axis=1)
    for step, column in enumerate(columns):
        with tf.name_scope(f"{scope}/step_{step}"):
            embedded.append(tf.gather(table, column))
    return embedded


class Softmax:
    """Projection to the vocabulary and mean cross entropy."""

    def __init__(self, parameters: Parameters, units: int, vocabulary: int) -> None:
        """Create kernel [units, vocabulary] and bias [vocabulary]."""
        self.kernel = parameters.create("softmax/kernel", [units, vocabulary])
        self.bias = parameters.create("softmax/bias", [vocabulary])

    def loss(self, outputs: Sequence[tf.Tensor], labels: tf.Tensor) -> tf.Tensor:
        """One product per step of float32[batch, units]; ``labels`` is int32[batch, steps]."""
        import tensorflow as tf

        with tf.name_scope("softmax"):
            kernel, bias = self.kernel.read_value(), self.bias.read_value()
            columns = tf.unstack(labels, axis=1)
        losses = []
        for step, (output, column) in enumerate(zip(outputs, columns, strict=True)):
            with tf.name_scope(f"softmax/step_{step}"):
                logits = tf.nn.bias_add(tf.matmul(output, kernel), bias)
                losses.append(
                    tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(column, logits))
                )
        with tf.name_scope("softmax"):
            return tf.add_n(losses) / len(losses)

    def joint_loss(self, outputs: Sequence[tf.Tensor], labels: tf.Tensor) -> tf.Tensor:
        """One product over all steps, with the arguments of :meth:`loss`."""
        import tensorflow as tf

        with tf.name_scope("softmax"):
            hidden = tf.concat(outputs, 0)
            logits = tf.nn.bias_add(tf.matmul(hidden, self.kernel), self.bias)
            flat = tf.reshape(tf.transpose(labels), [-1])
            return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(flat, logits))


def gpu_of_layer(layer: int, decoder: bool, layers: int, gpus: int) -> int:
    """The GPU of a layer of an encoder or a decoder of ``layers`` each (HDP, section 4.1).

    Layer i of both share a GPU unless there are GPUs for all of them; with fewer GPUs than layers,
    neighbours share.
    """
    apart = gpus >= 2 * layers
    parts = layers * (2 if apart else 1)
    return (layer + (layers if apart and decoder else 0)) * min(gpus, parts) // parts


def step_block(name: str) -> str | None:
    """Name one co-location group per step of whatever is unrolled (ColocRL, section 3.3).

    That is each LSTM cell, embedding lookup, attention step and softmax step.
    """
    step = re.match(r".*/step_\d+(?=/)", name)
    return step and step[0]


def minimise(loss: tf.Tensor, parameters: Parameters, adam: Adam) -> None:
    """Differentiate ``loss`` and update every variable.

    ``tf.gradients``, as in the papers' TensorFlow 1: a weight shared by all steps keeps every
    step's gradient until one AddN sums them. (GradientTape sums large ones four at a time, which
    no system of the papers did, and which decides what fits in memory.)
    """
    import tensorflow as tf

    gradients = tf.gradients(loss, parameters.variables)
    for variable, gradient in zip(parameters.variables, gradients, strict=True):
        adam.update(variable, tf.convert_to_tensor(gradient))
    adam.advance()


class Adam:
    """Adam (Kingma and Ba) by TensorFlow's fused kernel; embeddings' gradients are made dense."""

    BETAS = (0.9, 0.999)

    def __init__(self, variables: Sequence[tf.Variable]) -> None:
        """Create two slots for every variable, and the powers of the two decays at step 1."""
        import tensorflow as tf

        def state(value: tf.Tensor | float, name: str) -> tf.Variable:
            return tf.Variable(value, name=name, trainable=False)

        self.powers = [state(beta, f"adam/beta{i}") for i, beta in enumerate(self.BETAS, 1)]
        self.slots = {}
        for variable in variables:
            scope = variable.name.split(":")[0]
            self.slots[scope] = [state(zeros(*variable.shape), f"{scope}/{s}") for s in "mv"]

    def update(self, variable: tf.Variable, gradient: tf.Tensor) -> None:
        """Apply one dense gradient."""
        import tensorflow as tf

        scope = variable.name.split(":")[0]
        m, v = self.slots[scope]
        with tf.name_scope(f"{scope}/adam"):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=m.handle,
                v=v.handle,
                beta1_power=self.powers[0].read_value(),
                beta2_power=self.powers[1].read_value(),
                lr=1e-3,
                beta1=self.BETAS[0],
                beta2=self.BETAS[1],
                epsilon=1e-8,
                grad=gradient,
            )

    def advance(self) -> None:
        """Multiply the powers of the decays by the decays."""
        import tensorflow as tf

        for power, beta in zip(self.powers, self.BETAS, strict=True):
            with tf.name_scope(power.name.split(":")[0]):
                power.assign(power.read_value() * beta)
