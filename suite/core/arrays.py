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
_ROWS = 4096
"""Rows of a table that are looked at together."""


def frozen(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """Return ``values`` as a contiguous, read-only array of ``dtype``; itself if it is one."""
    if isinstance(values, np.ndarray) and values.dtype == dtype:
        flags = values.flags
        # What owns its data and is read-only stays as it is: no copy of what is large already.
        if flags.c_contiguous and flags.owndata and not flags.writeable:
            return values
    array = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array


def csr(keys: Ints, values: Ints, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Group ``values`` by ``keys``: (offsets int64[rows + 1], grouped int32[len(values)]).

    Values of one key are ascending and distinct.
    """
    values = np.asarray(values, np.int64)
    # One number per pair sorts many times faster than pairs do.
    span = int(values.max(initial=0)) + 1
    pairs = np.sort(np.asarray(keys, np.int64) * span + values)
    new = np.ones(len(pairs), np.bool_)
    new[1:] = pairs[1:] != pairs[:-1]
    grouped, ordered = np.divmod(pairs[new], span)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(grouped, minlength=rows), out=offsets[1:])
    return offsets, ordered.astype(np.int32)


def same_columns(table: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group equal columns, by their bits: (first of each group, group of each column), int64.

    Groups are numbered by their first column.
    """
    group = [0] * table.shape[1]
    # A few rows at a time: a large table is never copied, and columns part early.
    for start in range(0, len(table), _ROWS):
        columns = np.ascontiguousarray(table[start : start + _ROWS].T)
        seen: dict[tuple[int, bytes], int] = {}
        pairs = zip(group, (column.tobytes() for column in columns), strict=True)
        group = [seen.setdefault(pair, len(seen)) for pair in pairs]
    _, firsts, groups = np.unique(np.array(group, np.int64), return_index=True, return_inverse=True)
    return firsts.astype(np.int64), groups.reshape(-1).astype(np.int64)


def digest(parts: Iterable[object]) -> str:
    """Hash arrays, strings and numbers into 16 hexadecimal digits, the same on every machine."""
    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            sha.update(f"{part.dtype.str}{part.shape}".encode())
            sha.update(np.ascontiguousarray(part).data)
        else:
            sha.update(repr(part).encode())
        sha.update(b"\0")
    return sha.hexdigest()[:16]
