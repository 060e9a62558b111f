"""What a graph convolution multiplies with (Kipf and Welling, ICLR 2017)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from planners.nn.backend import tf
from planners.nn.tensor import Tensor
from suite.core.arrays import Ints


def adjacency(count: int, sources: Ints, targets: Ints) -> csr_array:
    """D^-1/2 (A + I) D^-1/2 of the graph without directions, [count, count]."""
    loops = np.arange(count)
    one = np.concatenate([sources, targets, loops])
    other = np.concatenate([targets, sources, loops])
    near = csr_array((np.ones(len(one), np.float32), (one, other)), shape=(count, count))
    near.data[:] = 1
    root = 1 / np.sqrt(near.sum(axis=1))
    return near.multiply(root[:, None]).multiply(root[None, :]).tocsr()


def repeated(near: csr_array, times: int) -> Tensor:
    """A graph's adjacency so many times, as the parts of one graph; a sparse tensor."""
    part = near.tocoo()
    offsets = np.repeat(np.arange(times), part.nnz)[:, None] * near.shape[0]
    places = np.tile(np.stack([part.row, part.col], axis=1), (times, 1)) + offsets
    values = np.tile(part.data, times).astype(np.float32)
    tensor: Tensor = tf.sparse.SparseTensor(places, values, [times * n for n in near.shape])
    return tensor
