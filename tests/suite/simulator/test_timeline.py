"""Timelines keep the rules of docs/simulator.md, and say so in a trace that viewers can read."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import placed

from suite.simulator.durations import nanoseconds
from suite.simulator.semantics import KNOWN, preset
from suite.simulator.timeline import timeline

CASES = placed(max_ops=15, min_gpus=1)
pytestmark = pytest.mark.filterwarnings("error")


def at_once(start, end):
    """How many overlap at most, and for how long any does."""
    moments = sorted([(t, 1) for t in start.tolist()] + [(t, -1) for t in end.tolist()])
    most = running = covered = 0
    before = 0
    for now, change in moments:
        covered += (now - before) * bool(running)
        running += change
        most, before = max(most, running), now
    return most, covered


def assert_one_at_a_time(start, end):
    order = np.argsort(start)
    assert (np.diff(start[order]) > 0).all()
    assert (end[order][:-1] <= start[order][1:]).all()


@settings(max_examples=150)
@given(CASES)
def test_devices_run_as_many_operations_at_a_time_as_they_have_lanes(case):
    t = timeline(*case)
    for index, device in enumerate(t.problem.machine.devices):
        here = t.devices == index
        most, covered = at_once(t.start[here], t.end[here])
        assert most <= device.parallelism
        assert covered == t.result.busy[index]


@settings(max_examples=150)
@given(CASES)
def test_operations_start_when_their_inputs_are_there(case):
    t = timeline(*case)
    graph = t.problem.graph
    sends = zip(t.tensor.tolist(), t.target.tolist(), t.arrived.tolist(), strict=True)
    arrival = {(tensor, target): at for tensor, target, at in sends}
    for tensor, op in zip(*graph.edges, strict=True):
        producer = graph.producer[tensor]
        local = t.devices[producer] == t.devices[op]
        there = t.end[producer] if local else arrival[tensor, t.devices[op]]
        assert t.start[op] >= there


@settings(max_examples=150)
@given(CASES)
def test_every_tensor_is_sent_once_to_each_device_that_needs_it(case):
    t = timeline(*case)
    graph = t.problem.graph
    readers = zip(*graph.edges, strict=True)
    needed = {(tensor, t.devices[op]) for tensor, op in readers}
    remote = {(k, d) for k, d in needed if d != t.devices[graph.producer[k]]}
    sent = list(zip(t.tensor, t.target, strict=True))
    assert len(sent) == len(set(sent))
    assert set(sent) == remote
    assert (t.source == t.devices[graph.producer[t.tensor]]).all()
    assert (t.requested == t.end[graph.producer[t.tensor]]).all()
    assert (t.requested <= t.sent).all()
    assert (t.sent < t.arrived).all()


@settings(max_examples=150)
@given(CASES)
def test_channels_carry_one_transfer_at_a_time(case):
    t = timeline(*case).copies()
    names, first, second = t.problem.machine.channels
    size = t.problem.graph.tensor_bytes[t.tensor]
    link_of = t.problem.machine.link_of
    links = [link_of[pair] for pair in zip(t.source.tolist(), t.target.tolist(), strict=True)]
    held = [link.held + s / link.bandwidth for link, s in zip(links, size.tolist(), strict=True)]
    free = t.sent + nanoseconds(np.array(held))
    for channel in range(len(names)):
        here = (first[t.source, t.target] == channel) | (second[t.source, t.target] == channel)
        assert_one_at_a_time(t.sent[here], free[here])
        assert size[here].sum() == t.result.moved[channel]


@settings(max_examples=150)
@given(CASES)
def test_the_step_ends_with_its_last_operation_or_transfer(case):
    t = timeline(*case)
    last = max(t.end.max(), t.arrived.max(initial=0))
    assert last <= t.result.nanoseconds  # a last pause of its sender may follow
    assert last == t.result.nanoseconds or t.problem.machine.occupied


@settings(max_examples=150)
@given(CASES)
def test_no_device_idles_while_an_operation_is_ready(case):
    """An operation that did not start when its inputs came started when another ended."""
    t = timeline(*case)
    graph = t.problem.graph
    ready = np.zeros(graph.n_ops, np.int64)
    for tensor, op in zip(*graph.edges, strict=True):
        if t.devices[graph.producer[tensor]] == t.devices[op]:
            ready[op] = max(ready[op], t.end[graph.producer[tensor]])
    for tensor, target, at in zip(t.tensor, t.target, t.arrived, strict=True):
        readers = graph.edges[1][graph.edges[0] == tensor]
        here = readers[t.devices[readers] == target]
        ready[here] = np.maximum(ready[here], at)
    for op in np.flatnonzero(t.start > ready):
        ended = t.end[t.devices == t.devices[op]]
        if t.problem.machine.occupied:  # it may have paused after that
            assert (ended <= t.start[op]).any()
        else:
            assert t.start[op] in ended


@settings(max_examples=100)
@given(CASES)
def test_utilisation_adds_up_to_the_busy_time(case):
    t = timeline(*case)
    for bins in (1, 7, 200):
        shares = t.utilisation(bins)
        assert shares.shape == (t.problem.machine.n_devices, bins)
        assert shares.min() >= -1e-9
        assert shares.max() <= 1 + 1e-9
        busy = shares.sum(axis=1) * t.result.nanoseconds / bins
        np.testing.assert_allclose(busy, t.result.busy, rtol=1e-9, atol=1e-6)


@settings(max_examples=50)
@given(CASES)
def test_the_chrome_trace_shows_every_operation_and_copy(case):
    t = timeline(*case)
    trace, t = t.to_chrome(), t.copies()
    graph, names = t.problem.graph, [d.name for d in t.problem.machine.devices]
    events = json.loads(json.dumps(trace))["traceEvents"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    spans = [e for e in events if e["ph"] == "X"]
    ops = [e for e in spans if e["cat"] != "transfer"]
    assert {e["name"]: tracks[e["pid"], e["tid"]] for e in ops} == {
        op: names[d] for op, d in zip(graph.op_names, t.devices, strict=True)
    }
    assert [(e["ts"], e["dur"]) for e in ops] == [
        (s / 1e3, (e - s) / 1e3) for s, e in zip(t.start.tolist(), t.end.tolist(), strict=True)
    ]
    transfers = [e for e in spans if e["cat"] == "transfer"]
    assert [tracks[e["pid"], e["tid"]] for e in transfers] == [
        f"{names[s]} -> {names[d]}" for s, d in zip(t.source, t.target, strict=True)
    ]
    assert [e["args"]["bytes"] for e in transfers] == graph.tensor_bytes[t.tensor].tolist()


@settings(max_examples=100)
@given(CASES, st.sampled_from(list(KNOWN)))
def test_a_track_of_the_trace_shows_one_thing_at_a_time(case, name):
    """Viewers drop or misplace what overlaps: lanes, tensors sent before the last has arrived."""
    trace = timeline(*case, semantics=preset(name)).to_chrome()
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    tracks = {(e["pid"], e["tid"]) for e in spans}
    for track in tracks:
        here = sorted(
            (round(e["ts"] * 1e3), round((e["ts"] + e["dur"]) * 1e3))
            for e in spans
            if (e["pid"], e["tid"]) == track
        )
        assert all(end <= start for (_, end), (start, _) in pairwise(here))


def instead(graph, tensor):
    """What Placeto's simulator sends for a control edge: its producer's first output."""
    if graph.tensor_bytes[tensor]:
        return tensor
    return int(np.flatnonzero(graph.producer == graph.producer[tensor])[0])


@settings(max_examples=100)
@given(CASES)
def test_a_broadcast_is_copied_once_and_reaches_every_reader(case):
    t = timeline(*case, semantics=preset("placeto"))
    graph = t.problem.graph
    edges = list(zip(*(ends.tolist() for ends in graph.edges), strict=True))
    away = [(k, op) for k, op in edges if t.devices[graph.producer[k]] != t.devices[op]]
    there = ~t.copied
    rows = zip(t.tensor[there].tolist(), t.target[there].tolist(), strict=True)
    arrival = dict(zip(rows, t.arrived[there].tolist(), strict=True))
    assert set(arrival) == {(k, t.devices[op]) for k, op in away}
    assert len(arrival) == there.sum()
    for k, op in away:
        assert t.end[graph.producer[k]] < arrival[k, t.devices[op]] <= t.start[op]
    once = t.copies()
    assert (once.target == once.source).all()
    assert set(zip(once.tensor.tolist(), once.arrived.tolist(), strict=True)) == {
        (instead(graph, k), at) for (k, _), at in arrival.items()
    }
