"""An LSTM over a sequence, with a backward pass written by hand.

Differentiating a ``tf.while_loop`` adds up the weights' gradients step by step. Here the backward
loop computes only the gradient of each step's gates; those of the weights are one matrix product
over all steps at the end (benchmarks/policy_update.md).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planners.nn.backend import tf
from planners.nn.tensor import Tensor, TensorArray

Backward = Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor, Tensor]]


def lstm(inputs: Tensor, kernel: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Run an LSTM over gates that already contain the inputs' share and the bias.

    ``inputs``: float32[steps, batch, 4 units], gates in the order input, forget, candidate,
    output; ``kernel``: float32[units, 4 units], from the last hidden state to the gates;
    ``hidden``, ``cell``: float32[batch, units]. Returns the hidden states float32[steps, batch,
    units] and the last cell state float32[batch, units].
    """
    results: tuple[Tensor, Tensor] = tf.custom_gradient(_lstm)(inputs, kernel, hidden, cell)
    return results


def _lstm(
    inputs: Tensor, kernel: Tensor, hidden: Tensor, cell: Tensor
) -> tuple[tuple[Tensor, Tensor], Backward]:
    steps, batch, width = inputs.shape
    units = width // 4

    def forward(
        step: Tensor, hidden: Tensor, cell: Tensor, *kept: TensorArray
    ) -> tuple[Tensor | TensorArray, ...]:
        gates, cell, hidden = advance(inputs[step], kernel, hidden, cell)
        values = (gates, cell, hidden)
        return (
            step + 1,
            hidden,
            cell,
            *(array.write(step, value) for array, value in zip(kept, values, strict=True)),
        )

    arrays = [_array(steps, [batch, size]) for size in (width, units, units)]
    *_, last, gates, cells, hiddens = tf.while_loop(
        lambda step, *_: step < steps,
        forward,
        (0, hidden, cell, *arrays),
        maximum_iterations=steps,
    )
    gates, cells, hiddens = gates.stack(), cells.stack(), hiddens.stack()
    before = tf.concat([hidden[None], hiddens[:-1]], 0)
    cells_before = tf.concat([cell[None], cells[:-1]], 0)

    def backward(d_hiddens: Tensor, d_last: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        transposed = tf.transpose(kernel)

        def body(
            step: Tensor, d_hidden: Tensor, d_cell: Tensor, kept: TensorArray
        ) -> tuple[Tensor, Tensor, Tensor, TensorArray]:
            d_gates, d_cell = _retreat(
                gates[step], cells[step], cells_before[step], d_hidden + d_hiddens[step], d_cell
            )
            return step - 1, d_gates @ transposed, d_cell, kept.write(step, d_gates)

        _, d_hidden, d_cell, kept = tf.while_loop(
            lambda step, *_: step >= 0,
            body,
            (steps - 1, tf.zeros_like(hidden), d_last, _array(steps, [batch, width])),
            maximum_iterations=steps,
        )
        d_inputs = kept.stack()
        flat = tf.reshape(before, [-1, units]), tf.reshape(d_inputs, [-1, width])
        return d_inputs, tf.matmul(*flat, transpose_a=True), d_hidden, d_cell

    return (hiddens, last), backward


def advance(
    inputs: Tensor, kernel: Tensor, hidden: Tensor, cell: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One step: return the activated gates [batch, 4 units], and the new cell and hidden state."""
    i, f, g, o = tf.split(inputs + hidden @ kernel, 4, axis=-1)
    i, f, g, o = tf.sigmoid(i), tf.sigmoid(f), tf.tanh(g), tf.sigmoid(o)
    cell = f * cell + i * g
    return tf.concat([i, f, g, o], -1), cell, o * tf.tanh(cell)


def _retreat(
    gates: Tensor, cell: Tensor, cell_before: Tensor, d_hidden: Tensor, d_cell: Tensor
) -> tuple[Tensor, Tensor]:
    """One step back: gradients of the gates before activation, and of the previous cell state."""
    i, f, g, o = tf.split(gates, 4, axis=-1)
    squashed = tf.tanh(cell)
    d_cell += d_hidden * o * (1 - squashed**2)
    d_gates = [
        d_cell * g * i * (1 - i),
        d_cell * cell_before * f * (1 - f),
        d_cell * i * (1 - g**2),
        d_hidden * squashed * o * (1 - o),
    ]
    return tf.concat(d_gates, -1), d_cell * f


def with_forget_bias(bias: Tensor, constant: float) -> Tensor:
    """Add a constant to the forget gate's quarter of a bias, float32[4 units]."""
    quarter = bias.shape[0] // 4
    values = np.zeros(4 * quarter, np.float32)
    values[quarter : 2 * quarter] = constant
    return bias + values


def _array(steps: int, shape: list[int]) -> TensorArray:
    array: TensorArray = tf.TensorArray(tf.float32, steps, element_shape=shape)
    return array
