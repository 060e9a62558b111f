"""Step statistics of a GPU, built by hand as TensorFlow's protocol buffers: times and memory."""

import numpy as np
import pytest
import tensorflow as tf

from suite.execution.measurement import Step, Timing, Trace
from suite.execution.memory import ALLOCATOR, STATISTICS, UNKNOWN, peaks, recorded_peak
from suite.execution.request import Request
from suite.execution.statistics import trace_of
from suite.fidelity.breakdown import measured_of

JOB = "/job:localhost/replica:0/task:0/device:"
CPU, GPU, SECOND = f"{JOB}CPU:0", f"{JOB}GPU:0", f"{JOB}GPU:1"
BEGIN = 1_700_000_000_000_000
"""Microseconds; step statistics count from the epoch."""


def node(device, name, start, end, in_use=0, records=()):
    """Add an operation that ran from ``start`` to ``end`` (microseconds) and its memory."""
    found = device.node_stats.add(node_name=name, timeline_label=f"{name} = Op()")
    found.all_start_micros = BEGIN + start
    found.all_start_nanos = 1000 * (BEGIN + start)
    found.op_end_rel_micros, found.op_end_rel_nanos = end - start, 1000 * (end - start)
    if in_use or records:
        memory = found.memory.add(allocator_name="GPU_0_bfc", allocator_bytes_in_use=in_use)
        for micros, size in records:
            memory.allocation_records.add(alloc_micros=BEGIN + micros, alloc_bytes=size)
    return found


@pytest.fixture
def statistics():
    """A copy to the GPU, and two operations there; the host launches them long before they run."""
    stats = tf.compat.v1.RunMetadata().step_stats
    cpu = stats.dev_stats.add(device=CPU)
    node(cpu, "input", 0, 10)
    gpu = stats.dev_stats.add(device=GPU)
    node(gpu, "matmul", 10, 14, in_use=5_000_000)
    node(gpu, "relu", 14, 15, in_use=9_000_000)
    node(gpu, "shape", 15, 16, in_use=9_000_000)
    every = stats.dev_stats.add(device=f"{GPU}/stream:all")
    node(every, "matmul:MatMul", 100, 160)
    node(every, "matmul:MatMul", 165, 170)
    node(every, "relu:Relu", 170, 180)
    one = stats.dev_stats.add(device=f"{GPU}/stream:16")
    node(one, "matmul:MatMul", 100, 160)
    copies = stats.dev_stats.add(device="/device:GPU:0/memcpy")
    for name, label, start, end in (
        ("relu/_4:_Send", "MemcpyD2H kind_src:device kind_dst:pinned size:4", 180, 185),
        ("matmul:MatMul", "MemcpyH2D kind_src:pageable kind_dst:device size:64", 98, 99),
    ):
        copied = node(copies, name, start, end)
        copied.timeline_label = label
        copied.all_start_nanos = copied.op_end_rel_nanos = 0  # transfers carry microseconds alone
    return stats


def test_an_operation_on_a_gpu_lasts_from_its_first_kernel_to_its_last(statistics):
    trace = trace_of(statistics, (CPU, GPU))
    seconds = trace.op_seconds(["input", "matmul", "relu", "shape", "gone"])
    # Without a kernel, the launch is all there is of an operation.
    assert seconds[:4] == pytest.approx([10e-6, 70e-6, 10e-6, 1e-6])
    assert np.isnan(seconds[4])


@pytest.mark.parametrize("finest", ["nanoseconds", "microseconds"])
def test_an_operation_lasts_from_when_it_began_itself(finest):
    """Its executor took it up 4 us before."""
    stats = tf.compat.v1.RunMetadata().step_stats
    found = node(stats.dev_stats.add(device=CPU), "a", 10, 20)
    found.op_start_rel_micros, found.op_start_rel_nanos = 4, 4_000
    if finest == "microseconds":
        found.all_start_nanos = found.op_start_rel_nanos = found.op_end_rel_nanos = 0
    assert trace_of(stats, (CPU,)).op_seconds(["a"]) == pytest.approx([6e-6])


def test_an_operation_that_ran_twice_took_the_sum():
    """A second of the first event and three of the other."""
    times = np.array([0.0, 2.0]), np.array([1.0, 5.0])
    trace = Trace(("loop", "loop"), ("", ""), np.zeros(2, np.int32), *times)
    assert trace.op_seconds(["loop"]).tolist() == [4.0]


def test_events_are_on_the_devices_of_the_backend_and_streams_are_none_of_their_own(statistics):
    trace = trace_of(statistics, (CPU, GPU))
    found = dict(zip(trace.names, trace.devices.tolist(), strict=True))
    copied = {"relu/_4:_Send": -1, "matmul:MatMul": -1}
    assert found == {"input": 0, "matmul": 1, "relu": 1, "shape": 1} | copied
    assert len(trace.names) == 6
    assert trace.start.tolist() == sorted(trace.start.tolist())
    assert trace.start[0] == 0
    where = trace.names.index("relu/_4:_Send")
    assert trace.end[where] - trace.start[where] == pytest.approx(5e-6)


def test_a_breakdown_counts_what_a_gpu_copies_between_operations(statistics):
    """Not what an operation copies for itself."""
    trace = trace_of(statistics, (CPU, GPU))
    found = measured_of(trace, ["input", "matmul", "relu", "shape"], ["cpu:0", "gpu:0"])
    assert found["transfers"] == 1
    assert found["transfer_seconds"] == pytest.approx(5e-6)
    assert found["busy"] == pytest.approx({"cpu:0": 10e-6, "gpu:0": 80e-6 + 1e-6})


def test_without_stream_statistics_the_launch_stands_for_the_operation(statistics):
    kept = [d for d in statistics.dev_stats if "stream" not in d.device]
    bare = type(statistics)(dev_stats=kept)
    assert trace_of(bare, (CPU, GPU)).op_seconds(["matmul"]) == pytest.approx([4e-6])


@pytest.fixture
def graph():
    """A variable of 400 bytes on the CPU and one of 4,000 on the GPU."""
    with tf.Graph().as_default() as graph:
        for device, size in ((CPU, 100), (GPU, 1000)):
            with tf.device(device):
                tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[size])
    return graph


def request(*names):
    step = Step(None, ("a", "b"))
    own = tuple(name != CPU for name in names)
    return Request(step, names, np.array([0, 1]), own, Timing())


def test_a_gpus_allocator_is_believed_and_the_worst_step_counts(statistics, graph):
    worse = type(statistics)()
    worse.CopyFrom(statistics)
    worse.dev_stats[1].node_stats[0].memory[0].allocator_bytes_in_use = 12_000_000
    found, source = peaks(request(GPU), graph, [statistics, worse, statistics])
    assert (found, source) == ((12_000_000,), ALLOCATOR)


def test_a_shared_allocator_counts_what_operations_record(statistics, graph):
    """300 bytes on top of the variable's 400; the first is given back before the third is taken."""
    node(statistics.dev_stats[0], "a", 20, 30, records=[(20, 100), (25, -100)])
    node(statistics.dev_stats[0], "b", 21, 31, records=[(21, 200), (25, 100)])
    assert recorded_peak(statistics, CPU) == 300
    found, source = peaks(request(CPU, GPU), graph, [statistics])
    assert (found, source) == ((700, 9_000_000), STATISTICS)


def test_a_gpu_that_told_nothing_falls_back_to_what_is_known(statistics, graph):
    found, source = peaks(request(GPU, SECOND), graph, [statistics])
    assert found == (9_000_000, 0)
    assert source == ALLOCATOR
    assert peaks(request(GPU, SECOND), graph, []) == ((None, None), UNKNOWN)
