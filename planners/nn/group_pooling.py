"""Groups of nodes as the nodes of the next graph."""

from __future__ import annotations

from planners.nn.backend import tf
from planners.nn.perceptron import normalised
from planners.nn.tensor import Tensor


def pool(
    z: Tensor, logits: Tensor, sources: Tensor, targets: Tensor, groups: Tensor, count: Tensor
) -> Tensor:
    """Embeddings of groups, float32[groups, hidden]: of their nodes' sum, by their edges' score.

    The mean score of the edges within a group weights it, as in HSDAG's released code; through it
    alone the scores learn. ``z``: float32[nodes, hidden]; ``logits``, ``sources``, ``targets``:
    [edges]; ``groups``: int64[nodes], below ``count``.
    """
    home = tf.gather(groups, sources)
    within = tf.cast(home == tf.gather(groups, targets), tf.float32)
    edges = tf.math.unsorted_segment_sum(within, home, count)
    scores = tf.math.unsorted_segment_sum(within * tf.sigmoid(logits), home, count)
    mean = tf.where(edges > 0, scores / tf.maximum(edges, 1), 1.0)
    sums = tf.math.unsorted_segment_sum(z, groups, count)
    pooled: Tensor = normalised(sums) * mean[:, None]
    return pooled
