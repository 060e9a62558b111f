"""What transfers cost and wait for, as flat arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats, Ints
from suite.core.machine import Link, Machine
from suite.simulator.channels import channels_of
from suite.simulator.semantics import Semantics

WORD = 64
"""Bits of a mask's word. One is that of queues with one channel, the others are copy engines."""


class FlatLinks(NamedTuple):
    """Read-only. A broadcast goes from a device to itself, at the slowest of its links."""

    latency: NDArray[np.float64]
    """float64[devices, devices]: seconds."""
    bandwidth: NDArray[np.float64]
    """float64[devices, devices]: bytes per second."""
    hold: NDArray[np.float64]
    """float64[devices, devices]: seconds that a transfer holds its channel beside its bytes;
    perhaps less than its latency (``at_once``)."""
    trail: NDArray[np.int64]
    """int64[devices, devices]: nanoseconds that a transfer holds its channel after its arrival."""
    occupancy: NDArray[np.float64]
    """float64[3, devices, devices]: seconds for which a transfer keeps its sender and its receiver
    from computing, and seconds per byte of either (``detailed``)."""
    scheduling: NDArray[np.int64]
    """int64[devices, devices]: nanoseconds that a transfer takes longer where its sender computes
    on (``detailed``)."""
    shortest: int
    """Nanoseconds that a transfer takes at least."""
    queue: NDArray[np.int32]
    """int32[devices, devices]: the queue of a transfer; one queue per distinct set of channels."""
    first: NDArray[np.int32]
    """int32[queues]: the first channel held."""
    second: NDArray[np.int32]
    """int32[queues]: the second channel held; -1 where there is one only."""
    channel_word: NDArray[np.int32]
    channel_mask: NDArray[np.uint64]
    """int32[channels], uint64[channels]: word and bit of a channel that shares queues with others;
    0 for the rest."""
    other_word: NDArray[np.int32]
    other_mask: NDArray[np.uint64]
    """int32[queues, 2], uint64[queues, 2]: the queue's word and bit among those of its first, and
    of its second channel."""
    line_at: NDArray[np.int32]
    """int32[channels x words, 64]: the queue of each bit."""

    @property
    def words(self) -> int:
        """Words of a mask: one, unless there are more copy engines than bits."""
        return len(self.line_at) // max(1, len(self.channel_mask))


def flat_links(machine: Machine, semantics: Semantics) -> FlatLinks:
    """Flatten the links of a machine."""
    names, *channels = channels_of(machine, semantics)
    queue, first, second = _queues(*channels)
    latency, bandwidth, trail = _speeds(machine, semantics)
    waits = _figures(
        np.zeros(latency.shape), machine, semantics, lambda link: link.scheduling_latency
    )
    return FlatLinks(
        latency=latency,
        bandwidth=bandwidth,
        hold=_figures(latency.copy(), machine, semantics, lambda link: link.held),
        trail=trail,
        occupancy=_figures(
            np.zeros((3, *latency.shape)), machine, semantics, lambda link: link.occupancy
        ),
        scheduling=np.rint(1e9 * waits).astype(np.int64),
        shortest=0 if semantics.free else 1,
        queue=queue,
        first=first,
        second=second,
        **_masks(first, second, len(names)),
    )


def _queues(
    first: Ints, second: Ints
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Number the distinct (first, second) channel pairs: queue of each device pair, channels."""
    queue = np.full(first.shape, -1, np.int32)
    seen: dict[tuple[int, int], int] = {}
    for s, t in zip(*np.nonzero(first >= 0), strict=True):
        queue[s, t] = seen.setdefault((int(first[s, t]), int(second[s, t])), len(seen))
    pairs = np.array(list(seen), np.int32).reshape(-1, 2)
    return queue, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def _masks(first: Ints, second: Ints, channels: int) -> dict[str, NDArray[Any]]:
    """Number the channels of two-channel queues; a queue's bit on one is its other channel's."""
    paired = second >= 0
    numbers = {c: i for i, c in enumerate(sorted({*first[paired], *second[paired]}))}
    alone = len(numbers)
    words = alone // WORD + 1
    channel_word, channel_mask = np.zeros(channels, np.int32), np.zeros(channels, np.uint64)
    for channel, number in numbers.items():
        channel_word[channel], channel_mask[channel] = number // WORD, 1 << number % WORD
    other_word = np.zeros((len(first), 2), np.int32)
    other_mask = np.zeros((len(first), 2), np.uint64)
    line_at = np.full((channels * words, WORD), -1, np.int32)
    for line, ends in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        for side, channel in enumerate(ends):
            if channel >= 0:
                word, bit = divmod(numbers.get(ends[1 - side], alone), WORD)
                other_word[line, side], other_mask[line, side] = word, 1 << bit
                line_at[channel * words + word, bit] = line
    return {
        "channel_word": channel_word,
        "channel_mask": channel_mask,
        "other_word": other_word,
        "other_mask": other_mask,
        "line_at": line_at,
    }


def _speeds(machine: Machine, semantics: Semantics) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Latency and bandwidth of every pair; nanoseconds that a channel is held afterwards."""
    latency = np.zeros((machine.n_devices, machine.n_devices))
    bandwidth = np.full_like(latency, np.inf)
    if machine.n_devices > 1:
        for pair, link in machine.link_of.items():
            latency[pair], bandwidth[pair] = link.latency, link.bandwidth
    if semantics.broadcast and len(latency) > 1:
        away = ~np.eye(len(latency), dtype=np.bool_)
        np.fill_diagonal(latency, latency.max(axis=1, where=away, initial=0))
        np.fill_diagonal(bandwidth, bandwidth.min(axis=1, where=away, initial=np.inf))
    if semantics.free:
        latency, bandwidth = np.zeros_like(latency), np.full_like(bandwidth, np.inf)
    if semantics.trailing_latency:
        return np.zeros_like(latency), bandwidth, np.rint(1e9 * latency).astype(np.int64)
    return latency, bandwidth, np.zeros(latency.shape, np.int64)


def _figures(
    result: Floats, machine: Machine, semantics: Semantics, figure: Callable[[Link], Any]
) -> Floats:
    """float64[..., devices, devices]: a figure of each link, where the semantics know of it."""
    if machine.n_devices > 1 and semantics.of_machine:
        for (s, t), link in machine.link_of.items():
            result[..., s, t] = figure(link)
    return result
