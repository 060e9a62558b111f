"""Channels: what transfers hold, and who starts when one is let go.

A channel keeps a word with a bit per queue that has something waiting, and one word says which
channels are held: those who can start are found by two operations on words, not by a search. Where
there are more copy engines than bits, there are several words of each (``WIDE``).
"""

from __future__ import annotations

import numpy as np

from suite.core.compilation import inline, trailing_zeros
from suite.simulator.compiled.heap import push
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.links import FlatLinks
from suite.simulator.compiled.occupancy import wait_for_core
from suite.simulator.compiled.rules import AT_ONCE, DETAILED, WIDE
from suite.simulator.compiled.state import Totals, Work


@inline
def transfer_time(links: FlatLinks, source: int, target: int, size: int) -> int:
    """Nanoseconds."""
    seconds = links.latency[source, target] + size / links.bandwidth[source, target]
    return max(links.shortest, int(np.rint(1e9 * seconds)))


@inline
def hold_time(links: FlatLinks, source: int, target: int, size: int) -> int:
    """Nanoseconds for which a transfer holds its channels (``AT_ONCE``)."""
    seconds = links.hold[source, target] + size / links.bandwidth[source, target]
    return max(links.shortest, int(np.rint(1e9 * seconds)))


@inline
def submit(flat: Layout, w: Work, totals: Totals, number: int, now: int) -> None:
    """Start a new request, or let it wait behind those of its queue, unless it needs no channel."""
    line = flat.links.queue[w.source[number], w.target[number]]
    w.requested[number] = now
    w.following[number] = -1
    if without_copy(flat, w, number):
        w.started[number] = now
        w.ended[number] = now + flat.links.shortest
        push(flat, w, w.ended[number], len(w.running) + number)
    elif w.queue_head[line] >= 0:
        w.following[w.queue_tail[line]] = number
        w.queue_tail[line] = number
    elif _can_start(flat.links, w, line):
        _start(flat, w, totals, number, line, now)
    else:
        w.queue_head[line] = number
        w.queue_tail[line] = number
        _mark(flat.links, w, line)


@inline
def without_copy(flat: Layout, w: Work, number: int) -> bool:
    """Whether a tensor is in host memory, and its new readers are of the same process."""
    return AT_ONCE and flat.graph.handed_on[w.tensor[number]]


@inline
def let_go(links: FlatLinks, w: Work, line: int) -> None:
    """Free the channels of a queue."""
    _free(links, w, links.first[line])
    if links.second[line] >= 0:
        _free(links, w, links.second[line])


@inline
def end_hold(flat: Layout, w: Work, totals: Totals, number: int, now: int) -> None:
    """A transfer needs its channels no longer, though it may be under way (``AT_ONCE``)."""
    line = flat.links.queue[w.source[number], w.target[number]]
    let_go(flat.links, w, line)
    serve(flat, w, totals, line, now)


@inline
def serve(flat: Layout, w: Work, totals: Totals, line: int, now: int) -> None:
    """Start what waited for the channels of ``line``, just freed, by request number."""
    # Those that wait for neither channel could not start before, and cannot now.
    while True:
        best = _first_waiting(flat.links, w, flat.links.first[line])
        if flat.links.second[line] >= 0:
            other = _first_waiting(flat.links, w, flat.links.second[line])
            if best < 0 or (other >= 0 and w.queue_head[other] < w.queue_head[best]):
                best = other
        if best < 0:
            return
        number = w.queue_head[best]
        w.queue_head[best] = w.following[number]
        if w.queue_head[best] < 0:
            _mark(flat.links, w, best)
        _start(flat, w, totals, number, best, now)


@inline
def _can_start(links: FlatLinks, w: Work, line: int) -> bool:
    if w.occupied[links.first[line]]:
        return False
    return links.second[line] < 0 or not w.occupied[links.second[line]]


@inline
def _start(flat: Layout, w: Work, totals: Totals, number: int, line: int, now: int) -> None:
    source, target = w.source[number], w.target[number]
    size = flat.graph.size[w.tensor[number]]
    _hold(flat.links, w, flat.links.first[line])
    totals.moved[flat.links.first[line]] += size
    if flat.links.second[line] >= 0:
        _hold(flat.links, w, flat.links.second[line])
        totals.moved[flat.links.second[line]] += size
    w.started[number] = now
    waits = wait_for_core(flat, w, source, target) if DETAILED else 0
    w.ended[number] = now + transfer_time(flat.links, source, target, size) + waits
    # Requests are numbered behind the lanes, so that at one time those go first.
    push(flat, w, w.ended[number], len(w.running) + number)
    if AT_ONCE:
        free = now + hold_time(flat.links, source, target, size)
        # Held until the arrival, unless the link has a gap.
        if DETAILED and flat.links.hold[source, target] >= flat.links.latency[source, target]:
            free += waits
        push(flat, w, free, len(w.running) + len(w.tensor) + number)


@inline
def _hold(links: FlatLinks, w: Work, channel: int) -> None:
    w.occupied[channel] = True
    w.busy[links.channel_word[channel] if WIDE else 0] |= links.channel_mask[channel]


@inline
def _free(links: FlatLinks, w: Work, channel: int) -> None:
    w.occupied[channel] = False
    w.busy[links.channel_word[channel] if WIDE else 0] &= ~links.channel_mask[channel]


@inline
def _mark(links: FlatLinks, w: Work, line: int) -> None:
    """Note for its channels whether a queue is empty."""
    first, second = links.first[line], links.second[line]
    if WIDE:
        first = first * len(w.busy) + links.other_word[line, 0]
    bit = links.other_mask[line, 0]
    if w.queue_head[line] >= 0:
        w.waiting[first] |= bit
    else:
        w.waiting[first] &= ~bit
    if second >= 0:
        if WIDE:
            second = second * len(w.busy) + links.other_word[line, 1]
        bit = links.other_mask[line, 1]
        if w.queue_head[line] >= 0:
            w.waiting[second] |= bit
        else:
            w.waiting[second] &= ~bit


@inline
def _first_waiting(links: FlatLinks, w: Work, channel: int) -> int:
    """The queue on this channel whose head has the lowest request number and can start, or -1."""
    best = -1
    lowest = len(w.first_edge)
    if not w.occupied[channel]:
        for word in range(len(w.busy) if WIDE else 1):
            # A queue's bit here is its other channel's, so what is held drops out at once.
            place = channel * len(w.busy) + word if WIDE else channel
            candidates = w.waiting[place] & ~w.busy[word]
            while candidates != 0:
                line = links.line_at[place, trailing_zeros(candidates)]
                candidates &= candidates - np.uint64(1)
                number = w.queue_head[line]
                if number < lowest:
                    lowest = number
                    best = line
    return best
