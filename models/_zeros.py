"""What the models' variables hold at first: their values do not matter to a placement."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tensorflow as tf


@cache
def zeros(*shape: int) -> tf.Tensor:
    """float32 zeros, one tensor of each shape.

    Variables share its buffer until they are written, and a capture writes none: the large models'
    variables would take gigabytes.
    """
    import tensorflow as tf

    return tf.zeros(shape)
