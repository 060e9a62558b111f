"""What it costs the step to send, or to run, more of what happens before a window.

Constants and variables are read all over a step and made at its start, where channels are busy with
them. An operation of a later window that moves may need such a tensor on another device. It is
there in time; but what is sent at the start may have to wait for it, and the step with it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.local_search.windows.slack import NONE, Slack, Times
from suite.core.arrays import Ints
from suite.core.compilation import kernel
from suite.simulator.compiled.channels import transfer_time
from suite.simulator.compiled.layout import Layout

SEND = -1
"""In place of nanoseconds: what is not there in time is sent when the window begins."""
FAR = int(np.iinfo(np.int64).max) // 4


class Requests(NamedTuple):
    """The transfers of each channel, in the order in which they were asked for."""

    begin: NDArray[np.int64]
    """int64[channels + 1]: where each channel's begin below."""
    asked: Times
    """int64[held]: when each was asked for."""
    free: Times
    """int64[held]: when the channel was free of all up to this one."""
    latest: Times
    """int64[held]: the latest start of any from this one on."""

    @classmethod
    def of(cls, slack: Slack, channels: int) -> Requests:
        """Of one step."""
        number, side = np.nonzero(slack.channel != NONE)
        held = slack.channel[number, side]
        asked = slack.times.requested[number]
        order = np.lexsort((number, asked, held))
        begin = np.searchsorted(held[order], np.arange(channels + 1)).astype(np.int64)
        free, latest = slack.free[number[order]], slack.transfer_start[number[order]]
        for first, end in pairwise(begin):
            free[first:end] = np.maximum.accumulate(free[first:end])
            latest[first:end] = np.minimum.accumulate(latest[first:end][::-1])[::-1]
        return cls(begin, asked[order].astype(np.int64), free, latest)


@kernel
def transfer_prices(
    flat: Layout,
    requests: Requests,
    tensors: Ints,
    source: Ints,
    made: Ints,
    begins: int,
    prices: Times,
) -> None:
    """Fill in what these tensors cost on each device: ``prices``, int64[tensors of all, devices].

    Nanoseconds by which the step ends later if one more transfer is asked for when a tensor is
    ``made`` on ``source`` (int64[tensors] both); SEND where it would arrive after the window
    ``begins``; 0 on ``source``.
    """
    links = flat.links
    for i in range(len(tensors)):
        for device in range(prices.shape[1]):
            prices[tensors[i], device] = 0
            if device == source[i]:
                continue
            line = links.queue[source[i], device]
            start, latest = made[i], FAR
            for side in range(2):
                channel = links.first[line] if side == 0 else links.second[line]
                if channel < 0:
                    continue
                first, end = requests.begin[channel], requests.begin[channel + 1]
                at = first + np.searchsorted(requests.asked[first:end], made[i], side="right")
                if at > first:
                    start = max(start, requests.free[at - 1])
                if at < end:
                    latest = min(latest, requests.latest[at])
            arrival = start + transfer_time(links, source[i], device, flat.graph.size[tensors[i]])
            prices[tensors[i], device] = SEND if arrival > begins else max(0, arrival - latest)
