"""The step of one placement, and the windows of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.local_search.windows.early_transfers import Requests, transfer_prices
from baselines.local_search.windows.slack import Slack, Times
from baselines.local_search.windows.window import Window
from suite.core.arrays import Bools, Ints, csr
from suite.core.compilation import kernel
from suite.core.problem import Problem
from suite.simulator.compiled.channels import transfer_time
from suite.simulator.compiled.judge import Simulator
from suite.simulator.compiled.layout import Layout
from suite.simulator.timeline import record

Classes = NDArray[np.int64]


class Edges:
    """Who reads what of whom, in one problem."""

    def __init__(self, problem: Problem, simulator: Simulator) -> None:
        """Look it up."""
        graph, flat = problem.graph, simulator.layout.graph
        self.problem, self.simulator = problem, simulator
        self.tensor = np.repeat(np.arange(len(flat.size)), np.diff(flat.use_start))
        self.maker = flat.edge_source.astype(np.int64)
        self.reader = flat.consumer.astype(np.int64)
        self.classes = graph.colocation.astype(np.int64)
        self.by_class = np.argsort(self.classes, kind="stable")
        self.size = np.bincount(self.classes, minlength=graph.n_classes)
        self.source = flat.n_inputs == 0
        self.follows = self._follows()

    def _follows(self) -> Classes:
        """int64[ops]: the class that alone reads a source, which goes along with it; -1: none does.

        Most are constants.
        """
        count = self.problem.graph.n_classes
        first, last = np.full(len(self.classes), count), np.full(len(self.classes), -1)
        np.minimum.at(first, self.maker, self.classes[self.reader])
        np.maximum.at(last, self.maker, self.classes[self.reader])
        alone = self.source & (self.size[self.classes] == 1) & (first == last)
        return np.where(alone, last, -1)


@dataclass(frozen=True, eq=False)
class Traced:
    """A placement and the times of its step."""

    edges: Edges
    row: Classes
    """int64[n_classes]: devices, on which all can run."""
    slack: Slack
    requests: Requests
    late: Times
    """int64[devices]: nanoseconds by which the sources of each device could end later; 0 where it
    has none, though one there might hold up nothing."""

    @classmethod
    def of(cls, edges: Edges, row: Classes) -> Traced:
        """Simulate the step of class devices ``row``."""
        simulator = edges.simulator
        devices = row[edges.classes].astype(np.int32)
        slack = Slack.of(simulator, record(simulator, devices))
        requests = Requests.of(slack, len(simulator.layout.links.channel_mask))
        late = np.zeros(edges.problem.machine.n_devices, np.int64)
        for device in range(len(late)):
            here = np.flatnonzero(edges.source & (devices == device))
            if len(here):
                last = here[np.argmax(slack.times.start[here])]
                late[device] = slack.op_start[last] - slack.times.start[last]
        return cls(edges, row, slack, requests, late)

    @property
    def nanoseconds(self) -> int:
        """Of the step."""
        return self.slack.times.result.nanoseconds

    def window(self, begins: int, ends: int, requests: int) -> Window:
        """What starts between these times; ``requests`` there were when it begins."""
        edges, flat = self.edges, self.edges.simulator.layout
        start = self.slack.times.start
        devices = self.row[edges.classes]
        inside = (start >= begins) & (start < ends)
        members = np.flatnonzero(inside)
        number = np.full(len(devices), -1)
        number[members] = np.arange(len(members))
        part_begin, part_ops, part_of = self._parts(inside, begins)
        parts = len(part_begin) - 1
        reads, read = part_of[edges.reader] >= 0, part_of[edges.maker] >= 0
        part = np.concatenate([part_of[edges.reader[reads]], part_of[edges.maker[read]]])
        other = np.concatenate([edges.maker[reads], edges.reader[read]])
        beside = (part_of[other] != part) & (edges.follows[other] < 0)
        near_begin, near = csr(part[beside], other[beside], parts)
        # Nothing is known of what is under way: it counts as there, wherever its reader goes.
        early = reads & (self.slack.arrived < begins)
        may = edges.problem.allowed[edges.classes[part_ops[part_begin[:-1]]]]
        undelivered = np.count_nonzero(self.slack.arrived >= begins)
        return Window(
            begins,
            devices,
            members,
            number,
            _tails(
                *(flat, members, number, devices, self.slack.op_start, self._after(ends)),
                self.nanoseconds,
            ),
            part_ops,
            part_begin,
            part_of,
            np.ascontiguousarray(may),
            near.astype(np.int64),
            near_begin.astype(np.int64),
            early,
            edges.tensor,
            self._prices(early, begins),
            len(edges.reader) - requests - int(undelivered),
        )

    def _parts(self, inside: Bools, begins: int) -> tuple[Classes, Classes, Classes]:
        """Where each part's operations begin, these, and the part of every operation."""
        edges = self.edges
        # What waits for nothing is in its queue when the step begins.
        ready = np.full(len(inside), -1)
        np.maximum.at(ready, edges.reader, self.slack.arrived)
        moves = inside & (ready >= begins)
        whole = np.bincount(edges.classes[moves], minlength=len(edges.size)) == edges.size
        part = np.full(len(whole), -1)
        part[whole] = np.arange(np.count_nonzero(whole))
        part_of = part[edges.classes]
        ops = edges.by_class[part_of[edges.by_class] >= 0]
        return np.concatenate([[0], np.cumsum(edges.size[whole])]), ops, part_of

    def _after(self, ends: int) -> Times:
        """int64[devices]: nanoseconds of the step after each can begin with what comes later."""
        start, devices = self.slack.times.start, self.row[self.edges.classes]
        later = start >= ends
        after = np.zeros(len(self.late), np.int64)
        np.maximum.at(after, devices[later], self.nanoseconds - self.slack.op_start[later])
        return after

    def _prices(self, early: Bools, begins: int) -> Times:
        """int64[tensors, devices]: of those that the edges ``early`` carry."""
        edges, flat = self.edges, self.edges.simulator.layout
        devices, count = self.row[edges.classes], len(self.late)
        prices = np.zeros((len(flat.graph.size), count), np.int64)
        some = np.flatnonzero(early)
        tensors, first = np.unique(edges.tensor[some], return_index=True)
        makers = edges.maker[some[first]]
        made = self.slack.times.end[makers]
        transfer_prices(flat, self.requests, tensors, devices[makers], made, begins, prices)
        goes = edges.follows[makers] >= 0
        time = flat.graph.duration[makers[goes]][:, flat.graph.kind]
        own = np.arange(count) == devices[makers[goes], None]
        prices[tensors[goes]] = np.where(own, 0, np.maximum(0, time - self.late))
        # Where something reads it anyway it is for nothing.
        prices[edges.tensor, devices[edges.reader]] = 0
        return prices


@kernel
def _tails(
    flat: Layout,
    members: Ints,
    number: Ints,
    devices: Ints,
    op_start: Ints,
    after: Ints,
    last: int,
) -> Times:
    """int64[members, devices]: :attr:`Window.tail`."""
    graph = flat.graph
    tail = np.empty((len(members), len(after)), np.int64)
    for member in range(len(members)):
        op = members[member]
        for device in range(len(after)):
            longest = after[device]
            for k in range(graph.out_start[op], graph.out_start[op + 1]):
                tensor = graph.out_tensor[k]
                for edge in range(graph.use_start[tensor], graph.use_start[tensor + 1]):
                    reader = graph.consumer[edge]
                    if number[reader] < 0:
                        rest = last - op_start[reader]
                        if devices[reader] != device:
                            rest += transfer_time(
                                flat.links, device, devices[reader], graph.size[tensor]
                            )
                        longest = max(longest, rest)
            tail[member, device] = longest
    return tail
