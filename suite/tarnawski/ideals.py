"""Ideals (downward closed sets) of a DAG of blocks as bitsets, and the steps between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.compilation import kernel
from suite.core.errors import Unsupported

Words = NDArray[np.uint64]
Rows = TypeVar("Rows", NDArray[np.uint64], NDArray[np.int32])


@dataclass(frozen=True)
class Ideals:
    """All ideals, small ones first, and for each the maximal blocks that may leave it."""

    offsets: Ints
    """int64[ideals + 1]: rows of the two arrays below."""
    block: Ints
    """int32[steps]: a maximal block of the ideal."""
    smaller: Ints
    """int32[steps]: the ideal that is left without it."""
    words: Words
    """uint64[ideals, words]: the sets, 64 blocks a word."""

    @property
    def count(self) -> int:
        """Number of ideals, the empty and the full one included."""
        return len(self.offsets) - 1

    def members(self, ideal: int, blocks: int) -> Ints:
        """Blocks of an ideal as bool[blocks]."""
        bits = np.unpackbits(self.words[ideal].view(np.uint8), bitorder="little")
        return bits[:blocks].astype(np.bool_)


def enumerate_ideals(blocks: int, edges: Ints, limit: int) -> Ideals:
    """Enumerate the ideals of a DAG (int64[edges, 2]).

    Raises Unsupported when there are more than ``limit``, before memory fills.
    """
    words = (blocks + 63) // 64
    before = np.zeros((blocks, words), np.uint64)
    for a, b in edges.tolist():
        before[b, a // 64] |= np.uint64(1 << (a % 64))
    sets, count, block, smaller, larger = _grow(before, limit)
    if count > limit:
        raise Unsupported(
            f"more than {limit:,} ideals: exact dynamic programming would take too much memory and "
            "time; use dpl or ip, or raise --ideals"
        )
    order = np.argsort(larger, kind="stable")
    offsets = np.searchsorted(larger[order], np.arange(count + 1))
    return Ideals(offsets, block[order], smaller[order], sets[:count].copy())


def prefixes(order: Ints) -> Ideals:
    """The ideals of a line of blocks (int64[blocks]): dynamic programming on a linearised DAG."""
    n = len(order)
    sets = np.zeros((n + 1, (n + 63) // 64), np.uint64)
    for i, b in enumerate(order.tolist()):
        sets[i + 1] = sets[i]
        sets[i + 1, b // 64] |= np.uint64(1 << (b % 64))
    offsets = np.concatenate([[0], np.arange(n + 1)])
    return Ideals(offsets, order.astype(np.int32), np.arange(n, dtype=np.int32), sets)


@kernel
def _hash(words: Words, mask: int) -> np.int64:
    # MurmurHash3's finaliser, a word at a time: sets differ in single bits, and each must reach the
    # few low bits that are kept. FNV's took 300 probes a set on NMT's 264 blocks; this takes 0.3.
    value = np.uint64(0x9E3779B97F4A7C15)
    for word in words:
        value = (value ^ word) * np.uint64(0xFF51AFD7ED558CCD)
        value ^= value >> np.uint64(33)
        value *= np.uint64(0xC4CEB9FE1A85EC53)
        value ^= value >> np.uint64(33)
    # numba's int() would leave it unsigned, and unsigned with signed numbers makes floating point.
    return np.int64(value & np.uint64(mask))


@kernel
def _grow(
    before: Words, limit: int
) -> tuple[Words, int, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Breadth first from the empty set; the table finds sets already seen."""
    blocks, words = before.shape
    sets = np.empty((min(1024, limit + 1), words), np.uint64)
    sets[0] = 0
    slots = 1 << 12
    table = np.full(slots, -1, np.int64)
    table[_hash(sets[0], slots - 1)] = 0
    steps, used = np.empty((4096, 3), np.int32), 0
    count, i = 1, 0
    candidate = np.empty(words, np.uint64)
    while i < count and count <= limit:
        for b in range(blocks):
            word, bit = b // 64, np.uint64(1) << np.uint64(b % 64)
            ready = sets[i, word] & bit == 0
            for w in range(words):
                ready = ready and before[b, w] & ~sets[i, w] == 0
            if not ready:
                continue
            candidate[:] = sets[i]
            candidate[word] |= bit
            slot = _hash(candidate, slots - 1)
            while table[slot] >= 0 and not (sets[table[slot]] == candidate).all():
                slot = (slot + 1) & (slots - 1)
            if table[slot] < 0:
                sets = _room(sets, count)
                sets[count] = candidate
                table[slot] = count
                count += 1
            steps = _room(steps, used)
            steps[used, 0], steps[used, 1], steps[used, 2] = b, i, table[slot]
            used += 1
            if 2 * count > slots:
                slots *= 4
                table = np.full(slots, -1, np.int64)
                for k in range(count):
                    slot = _hash(sets[k], slots - 1)
                    while table[slot] >= 0:
                        slot = (slot + 1) & (slots - 1)
                    table[slot] = k
        i += 1
    return sets, count, steps[:used, 0].copy(), steps[:used, 1].copy(), steps[:used, 2].copy()


@kernel
def _room(rows: Rows, used: int) -> Rows:
    if used < len(rows):
        return rows
    longer = np.empty((2 * len(rows), rows.shape[1]), rows.dtype)
    longer[:used] = rows
    return longer
