"""Array aliases and the small array helpers that graphs, problems and placers share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def frozen(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """Return ``values`` as a contiguous, read-only array of ``dtype``."""
    array = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array


def csr(keys: Ints, values: Ints, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Group ``values`` by ``keys``: (offsets int64[rows + 1], grouped int32[len(values)]).

    Values of one key are ascending and distinct.
    """
    pairs = np.unique(np.stack([np.asarray(keys, np.int64), np.asarray(values, np.int64)]), axis=1)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(pairs[0], minlength=rows), out=offsets[1:])
    return offsets, pairs[1].astype(np.int32)


def digest(parts: Iterable[object]) -> str:
    """Hash arrays, strings and numbers into 16 hexadecimal digits, the same on every machine."""
    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            sha.update(f"{part.dtype.str}{part.shape}".encode())
            sha.update(np.ascontiguousarray(part).tobytes())
        else:
            sha.update(repr(part).encode())
        sha.update(b"\0")
    return sha.hexdigest()[:16]
