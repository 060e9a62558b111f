"""Profiles: figures of this host that a machine can be made from; fits worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from six_ops import six_ops
from small_steps import cpus, layers

from suite.cli import main
from suite.commands._profiled_models import (
    Model,
    forget_others,
    keep_times,
    run_models,
    time_models,
)
from suite.core.costs import HOST_TYPES
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.execution.measurement import Backend, Measurement, Trace
from suite.execution.profiling.devices import ELEMENTS, SIZE
from suite.execution.profiling.links import fit_link, fit_occupancy
from suite.execution.profiling.machine_file import machine_toml
from suite.execution.profiling.op_times import OpTimes, least_time, measure_ops, typical
from suite.execution.profiling.probes import CONVOLUTION_FLOPS
from suite.execution.profiling.profiler import HostProbes, Profiler, profile_host
from suite.execution.profiling.samples import Samples
from suite.execution.profiling.spreads import op_spread
from suite.execution.profiling.transfers import BESIDE, BURST, HOPS, occupancy_fit
from suite.formats.interchange import write_graph
from suite.formats.machine_spread import load_spread
from suite.formats.machine_toml import load_machine
from suite.formats.measured_costs import (
    as_measured,
    op_spreads,
    times_name,
    with_op_times,
    write_op_times,
)
from suite.simulator.reference import simulate


def test_a_link_is_found_exactly():
    sizes = np.array([4.0, 1e4, 1e6, 1e7])
    fit = fit_link(sizes, 1e-4 + sizes / 2e9)
    assert fit.latency == pytest.approx(1e-4)
    assert fit.bandwidth == pytest.approx(2e9)
    assert fit.error < 1e-9


def test_a_fit_says_how_far_off_it_is():
    """Alternating deviations of 10 % leave an error of 10 %."""
    sizes = np.array([0.0, 0.0, 1e7, 1e7])
    seconds = np.array([0.9e-4, 1.1e-4, 0.9e-2, 1.1e-2])
    assert fit_link(sizes, seconds).error == pytest.approx(0.1, abs=0.01)


def test_transfers_that_get_faster_with_size_are_refused():
    with pytest.raises(InputError, match="quieter host"):
        fit_link(np.array([1.0, 100.0]), np.array([1.0, 0.5]))


def test_such_transfers_make_a_link_where_that_is_forced():
    fit = fit_link(np.array([1.0, 100.0]), np.array([1.0, 0.5]), forced=True)
    assert (fit.latency, fit.bandwidth) == (0.5, 200.0)
    # What noise makes negative takes a nanosecond.
    fit = fit_link(np.array([1.0, 100.0]), np.array([1.0, -0.5]), forced=True)
    assert (fit.latency, fit.bandwidth) == (1e-9, pytest.approx(1e11))


def test_what_a_transfer_occupies_is_found_exactly():
    sizes = np.array([4.0, 1e4, 1e6, 1e7])
    found = fit_occupancy(sizes, 4e-5 + sizes / 3e9, 2e-5 + sizes / 3e9)
    assert found.send_overhead == pytest.approx(4e-5)
    assert found.receive_overhead == pytest.approx(2e-5)
    assert found.copy_bandwidth == pytest.approx(3e9)
    assert found.error < 1e-9


def test_transfers_that_occupy_nobody_are_free():
    """What noise makes negative is nothing."""
    free = fit_occupancy(np.array([4.0, 1e6]), np.array([-1e-6, 0.0]), np.array([0.0, -2e-6]))
    assert (free.send_overhead, free.receive_overhead, free.copy_bandwidth) == (0, 0, np.inf)


PRODUCT = 0.02
LATENCY, BANDWIDTH, GAP = 3e-5, 2e9, 4e-6
SEND, RECEIVE, COPY = 4e-5, 2e-5, 5e9
LAUNCH, HOST = 5e-6, 1e-6
ADDED = 0.016
SHARE = 0.4


class SyntheticHost(Backend):
    """Devices whose steps take what the constants say, or a multiple of it while disturbed."""

    name = "cluster"
    device_names = ("/device:CPU:0", "/device:CPU:1")

    def __init__(self, disturbed=lambda call: 1.0):
        self.calls, self.disturbed = 0, disturbed

    def measure(self, step, devices, timing):
        slower = self.disturbed(self.calls)
        self.calls += 1
        kind, *rest = step.graph_def.stem.split("_")
        apart = len(set(devices.tolist())) == 2
        seconds = slower * self.step_seconds(kind, rest, apart)
        length = slower * {"products": PRODUCT, "sums": ADDED}.get(kind, self.convolution())
        ends = np.full(len(step.op_names), length)
        trace = Trace(step.op_names, step.op_names, np.zeros(len(ends), int), 0 * ends, ends)
        return Measurement("ok", step_times=(seconds,) * timing.steps, traces=(trace,))

    @staticmethod
    def convolution():
        return CONVOLUTION_FLOPS / (SHARE * 2 * SIZE**3 / PRODUCT)

    @staticmethod
    def step_seconds(kind, rest, apart):
        if kind in ("launched", "host"):
            return 0.001 + int(rest[0]) * (LAUNCH if kind == "launched" else HOST)
        if kind == "hops":
            return 0.001 + apart * HOPS * (2 * LATENCY + int(rest[0]) / BANDWIDTH)
        if kind == "burst":
            return 0.001 + apart * (LATENCY + (BURST - 1) * GAP)
        if kind == "beside":
            size, end = int(rest[0]), RECEIVE if rest[1] == "True" else SEND
            return HOPS * PRODUCT + apart * HOPS * BESIDE[size] * (end + size / COPY)
        return 0.1

    def close(self):
        pass


@pytest.fixture(scope="module")
def probes(tmp_path_factory):
    return HostProbes(tmp_path_factory.mktemp("probes"))


@pytest.fixture(scope="module")
def calls_a_round(probes):
    host = SyntheticHost()
    Profiler(host, cpus(2), probes).measure_round()
    return host.calls


def assert_is_the_synthetic_host(profile):
    assert profile.disagreement == pytest.approx(0, abs=1e-9)
    for device in profile.devices:
        assert device.peak_flops == pytest.approx(2 * SIZE**3 / PRODUCT)
        assert device.memory_bandwidth == pytest.approx(12 * ELEMENTS / ADDED)
        assert device.convolution == pytest.approx(SHARE)
        assert device.launch_overhead == pytest.approx(LAUNCH)
        assert device.host_overhead == pytest.approx(HOST)
    assert sorted(profile.links) == [(0, 1), (1, 0)]
    for link, ends in profile.links.values():
        assert link.latency == pytest.approx(LATENCY, rel=1e-3)
        assert link.bandwidth == pytest.approx(BANDWIDTH, rel=1e-3)
        assert link.gap == pytest.approx(GAP, rel=1e-2)
        assert ends.send_overhead == pytest.approx(SEND)
        assert ends.receive_overhead == pytest.approx(RECEIVE)
        assert ends.copy_bandwidth == pytest.approx(COPY)
        assert max(link.error, ends.error) < 1e-3


def test_what_was_measured_once_says_so_and_has_no_spread(probes, tmp_path):
    said = []
    profiler = Profiler(SyntheticHost(), cpus(2), probes)
    profile = profile_host(profiler, 0, False, said.append, rounds=1)
    assert said[-1] == "measured once: nothing tells how far off the figures are"
    text = machine_toml("here", profile, "a test", {"dispatch": "stack"})
    assert text.startswith("# measured once: nothing tells how far off it is\n")
    assert "spread" not in text
    (tmp_path / "here.toml").write_text(text)
    with pytest.raises(InputError, match="records no spread; profile this host again"):
        load_spread(tmp_path / "here.toml", None)


def test_known_constants_are_recovered_and_survive_the_file(probes, tmp_path):
    said = []
    profiler = Profiler(SyntheticHost(), cpus(2), probes)
    profile = profile_host(profiler, 0, False, said.append)
    assert_is_the_synthetic_host(profile)
    assert said[-1] == "repeated measurements differ by 0.0% in the median"
    (tmp_path / "here.toml").write_text(
        machine_toml("here", profile, "a test", {"dispatch": "stack"})
    )
    machine = load_machine(tmp_path / "here.toml")
    assert machine.dispatch == "stack"
    assert machine.devices[1].peak_flops == pytest.approx(2 * SIZE**3 / PRODUCT, rel=1e-3)
    assert machine.transfer_seconds(0, 1, 1e9) == pytest.approx(LATENCY + 1e9 / BANDWIDTH, rel=1e-3)
    assert machine.link_of[0, 1].held == pytest.approx(GAP, rel=1e-2)
    assert machine.link_of[1, 0].occupancy == pytest.approx((SEND, RECEIVE, 1 / COPY), rel=1e-3)


def test_what_rounds_differ_by_is_recorded_as_the_uncertainty(probes, calls_a_round, tmp_path):
    """Rounds of 1, 1 and 1.5 times: the root mean square of 0 and 0.5; of a rate, of 0 and -1/3."""
    profiler = Profiler(busy_at_first(calls_a_round), cpus(2), probes)
    path = tmp_path / "here.toml"
    path.write_text(
        machine_toml("here", profile_host(profiler, 0, True, print), "", {"dispatch": "stack"})
    )
    spread, (seconds, rate) = load_spread(path, "no task"), (0.5 / 2**0.5, 2**-0.5 / 3)
    assert list(spread.devices) == ["cpu:0", "cpu:1"]
    assert list(spread.devices.values()) == pytest.approx([seconds] * 2, rel=1e-3)
    assert list(spread.links) == [("cpu:0", "cpu:1"), ("cpu:1", "cpu:0")]
    for link in spread.links.values():
        assert (link.latency, link.overhead) == pytest.approx((seconds, seconds), rel=1e-2)
        assert (link.bandwidth, link.copy_bandwidth) == pytest.approx((rate, rate), rel=1e-2)
    path.write_text(path.read_text().replace("spread = {", "# spread = {"))
    with pytest.raises(InputError, match=r"link cpu:0 -> cpu:1 records no spread; profile this"):
        load_spread(path, None)


def test_the_spread_of_operations_is_that_of_steps_and_rounds():
    """Of the median round: what it scatters; of the other: its share, 20 % more of the first."""
    fast = OpTimes(np.array([1.0, 3.0, np.nan]), 4.0, 1.0, 0.0, np.array([0.0, 0.3, np.nan]))
    slow = OpTimes(np.array([2.4, 5.6, np.nan]), 8.0, 1.0, 0.0, np.array([0.9, 0.9, np.nan]))
    expected = [0.2, np.hypot(0.3, 5.6 / 6 - 1), np.nan]
    np.testing.assert_allclose(op_spread([slow, fast]), expected)
    assert typical([slow, fast]) is fast
    slowest = replace(slow, step_time=9.0)
    assert typical([slowest, slow, fast]) is slow
    assert typical([slowest, replace(slow, step_time=10.0), slow, fast]) is slow
    wild = OpTimes(np.array([9.0]), 9.0, 1.0, 0.0, np.array([50.0]))
    assert op_spread([wild]).tolist() == [1.0]


def test_a_disturbance_of_some_measurements_changes_nothing(probes, calls_a_round):
    """A third of the second round takes three times as long."""
    start = calls_a_round
    spell = range(start, start + calls_a_round // 3)
    host = SyntheticHost(lambda call: 3.0 if call in spell else 1.0)
    assert_is_the_synthetic_host(profile_host(Profiler(host, cpus(2), probes), 0, False, print))


class Warming(SyntheticHost):
    """Steps that do not count take a ninth as long, those that do thrice, but for the last."""

    def measure(self, step, devices, timing):
        found = super().measure(step, devices, timing)
        seconds, kept = found.step_times[0], timing.steps - timing.discarded
        times = *(seconds / 9,) * timing.discarded, *(3 * seconds,) * (kept - 1), seconds
        return replace(found, step_times=times, discarded=timing.discarded)


def test_the_fastest_of_the_steps_that_count_is_taken(probes):
    profile = profile_host(Profiler(Warming(), cpus(2), probes), 0, False, print)
    assert_is_the_synthetic_host(profile)


def test_the_median_of_the_three_fastest_rounds_is_taken(probes, calls_a_round):
    """One round in five is faster than the host mostly is, two are far slower."""
    pace = (4.0, 0.92, 1.0, 1.0, 2.0)
    profiler = Profiler(SyntheticHost(lambda c: pace[c // calls_a_round]), cpus(2), probes)
    profile = profile_host(profiler, 0, False, print, rounds=5)
    assert profile.disagreement == pytest.approx(1 / 0.92 - 1)
    assert_is_the_synthetic_host(replace(profile, disagreement=0.0))


def test_what_a_transfer_adds_is_added_to_the_work_of_its_own_end():
    """The work that is done beside takes the receiver three times as long as the sender."""
    samples = Samples()
    for size, count in BESIDE.items():
        for word, at, alone, more in (
            ("sending", 0, 1.0, SEND),
            ("receiving", 1, 3.0, RECEIVE),
        ):
            samples.add((f"{word} {size}", at, at), alone)
            samples.add((f"{word} {size}", 0, 1), alone + HOPS * count * (more + size / COPY))
            samples.add((f"{word} {size}", 1 - at, 1 - at), 4.0 - alone)
    found = occupancy_fit(0, 1, samples)
    assert (found.send_overhead, found.receive_overhead) == pytest.approx((SEND, RECEIVE))
    assert found.copy_bandwidth == pytest.approx(COPY)


def busy_at_first(calls_a_round):
    """All of the second round takes half as long again."""
    return SyntheticHost(lambda call: 1.5 if call // calls_a_round == 1 else 1.0)


def test_a_busy_host_is_refused_with_the_figures_and_the_ways_out(probes, calls_a_round):
    profiler = Profiler(busy_at_first(calls_a_round), cpus(2), probes)
    words = r"too busy .* differ by 50% in the median, 10% are allowed; .*--wait .*--force"
    with pytest.raises(InputError, match=words):
        profile_host(profiler, 0, False, print)


def test_waiting_measures_on_until_rounds_agree(probes, calls_a_round):
    host = busy_at_first(calls_a_round)
    profile = profile_host(Profiler(host, cpus(2), probes), 3600, False, print)
    assert host.calls == 4 * calls_a_round
    assert_is_the_synthetic_host(profile)


def test_force_takes_the_figures_and_says_how_good_they_are(probes, calls_a_round):
    said = []
    profiler = Profiler(busy_at_first(calls_a_round), cpus(2), probes)
    profile = profile_host(profiler, 0, True, said.append)
    assert profile.disagreement == pytest.approx(0.5)
    assert "too busy" in said[-1]
    assert "differ by 50.0% (median)" in machine_toml(
        "here", profile, "a test", {"dispatch": "fifo"}
    )


def test_traced_operations_add_up_to_the_untraced_step(tmp_path, cluster):
    small = layers(tmp_path)
    times = measure_ops(cluster, small.graph, small.step, 0, 0)
    assert np.nansum(times.seconds) == pytest.approx(times.step_time)
    assert (times.seconds[np.isfinite(times.seconds)] > 0).all()
    folder, machine = tmp_path / "here-ops", replace(cpus(1), op_times=tmp_path / "here-ops")
    write_op_times(small.graph, {"cpu": times.seconds}, folder, "layers")
    with pytest.raises(InputError, match="records no spread; profile layers again"):
        op_spreads(machine, "layers")
    spread = op_spread([times, times])
    assert ((spread > 0) & (spread <= 1))[np.isfinite(times.seconds)].mean() > 0.9
    write_op_times(small.graph, {"cpu": times.seconds}, folder, "layers", {"cpu": spread})
    np.testing.assert_array_equal(op_spreads(machine, "layers")["cpu"], spread)
    timed = with_op_times(small.graph, machine, "layers")
    problem = Problem.create(timed, machine)
    assert problem.seconds[:, 0].sum() == pytest.approx(times.step_time)
    assert with_op_times(small.graph, machine, "another") is small.graph
    with pytest.raises(InputError, match="another capture of layers"):
        with_op_times(timed, machine, "layers")


def test_operations_of_several_threads_make_up_the_step(tmp_path):
    """Traced times overlap: run as many at a time as there are threads, they take the step."""
    small = layers(tmp_path)

    class ThreadedCpu(WaitingGpu):
        device_names = ("/device:CPU:0",)

    times = measure_ops(ThreadedCpu(0, 2e-3), small.graph, small.step, 0, 0, parallelism=4)
    device = replace(cpus(1).devices[0], parallelism=4)
    timed = replace(small.graph, seconds={"cpu": times.seconds})
    problem = Problem.create(timed, replace(cpus(1), devices=(device,)))
    assert simulate(problem, [0] * small.graph.n_ops).step_time == pytest.approx(2e-3, rel=1e-3)
    assert times.seconds.sum() > 2e-3
    assert times.factor == pytest.approx(times.seconds[0] / 500e-6)


def test_operations_run_beside_one_another_only_in_times_that_were_measured_so(tmp_path):
    """The cost model gives each operation the whole CPU, so that they take turns."""
    device = replace(cpus(1).devices[0], parallelism=4)
    by_hand = replace(cpus(1), devices=(device,))
    profile = replace(by_hand, op_times=tmp_path / "here-ops")
    untimed = replace(layers(tmp_path).graph, seconds={})
    timed = replace(untimed, seconds={"cpu": np.full(untimed.n_ops, 1e-3)})
    problem = Problem.create(untimed, as_measured(profile, untimed))
    alone = simulate(problem, [0] * untimed.n_ops)
    assert alone.step_time == pytest.approx(problem.seconds[:, 0].sum(), rel=1e-3)
    assert as_measured(profile, timed).parallelism.tolist() == [4]
    assert as_measured(by_hand, untimed).parallelism.tolist() == [4]


class WaitingGpu(Backend):
    """A GPU whose kernels take 1 us each, one of them 500 us, and whose host launches slowly."""

    name = "session"
    device_names = ("/device:CPU:0", "/device:GPU:0")

    def __init__(self, long, step_time):
        self.long, self.step_time = long, step_time

    def measure(self, step, devices, timing):
        start, end = np.zeros(len(devices)), np.full(len(devices), 1e-6)
        end[self.long] = 500e-6
        trace = Trace(step.op_names, step.op_names, devices, start, end)
        return Measurement("ok", step_times=(self.step_time,) * timing.steps, traces=(trace,) * 2)


def test_what_a_gpu_launches_takes_as_long_as_launching_it(tmp_path):
    """All add up to the step; the long kernel hides its launch, and what has none is let be."""
    small = layers(tmp_path)
    long = small.graph.op_types.index("MatMul")
    times = measure_ops(WaitingGpu(long, 2e-3), small.graph, small.step, 1, 0)
    launches = ~np.isin(small.graph.op_types, list(HOST_TYPES))
    assert times.seconds.sum() == pytest.approx(2e-3)
    assert times.factor == pytest.approx(1)
    others = 2e-3 - 500e-6 - 1e-6 * (~launches).sum()
    assert times.launch == pytest.approx(others / (launches.sum() - 1))
    expected = np.where(launches, times.launch, 1e-6)
    expected[long] = 500e-6
    np.testing.assert_allclose(times.seconds, expected)
    busy = measure_ops(WaitingGpu(long, 510e-6), small.graph, small.step, 1, 0)
    assert busy.seconds.sum() == pytest.approx(510e-6)


def test_what_a_gpu_leaves_to_the_cpu_has_no_time_there(tmp_path):
    small = layers(tmp_path)
    kernels = small.graph.colocation != small.graph.colocation[0]
    graph = replace(small.graph, gpu_kernel=kernels)
    times = measure_ops(WaitingGpu(0, 2e-3), graph, small.step, 1, 0)
    assert np.isnan(times.seconds).tolist() == (~kernels).tolist()


class Disturbed(WaitingGpu):
    """Of three traces the second was disturbed: all takes four times as long."""

    def measure(self, step, devices, timing):
        found = super().measure(step, devices, timing)
        once = found.traces[0]
        return replace(found, traces=(once, replace(once, end=4 * once.end), once))


def test_one_disturbed_trace_changes_no_time_and_counts_as_scatter(tmp_path):
    """The median of 1, 4 and 1 us; their standard deviation is the root of 3."""
    small = layers(tmp_path)
    alone, disturbed = (
        measure_ops(host(0, 2e-3), small.graph, small.step, 0, 0)
        for host in (WaitingGpu, Disturbed)
    )
    np.testing.assert_allclose(disturbed.seconds, alone.seconds)
    assert disturbed.factor == pytest.approx(alone.factor)
    np.testing.assert_allclose(disturbed.scatter, 3**0.5)


@given(
    arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 10, width=16)), st.floats(0.1, 5)
)
def test_the_least_time_makes_the_sum(seconds, factor):
    total = float(factor * seconds.sum() + 0.1)
    least = least_time(seconds, total)
    assert least >= 0
    assert np.maximum(seconds, least).sum() == pytest.approx(max(total, seconds.sum()))


def test_this_host_becomes_a_machine_that_is_found_by_name(tmp_path, monkeypatch, capfd):
    """One CPU alone; whether its rounds agree is for the host to say, so the word is forced."""
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path))
    words = ["profile", "mine", "--cpus", "1", "--expose", "--force", "--rounds", "2"]
    assert main(words) == 0
    shown = capfd.readouterr()
    assert f"wrote {tmp_path}/machines/mine.toml" in shown.out
    assert "TensorFlow" not in shown.err.replace("TensorFlow's servers are unauthenticated", "")
    machine = load_machine("mine")
    assert machine.backend == "cluster"
    assert machine.op_times.is_dir()  # though no model was timed: nothing was lost
    (device,) = machine.devices
    # An operation that launches nothing does less than one that does, within the noise of both,
    # which on a busy host is tenths of a microsecond.
    assert device.host_overhead < max(3 * device.launch_overhead, 1e-6)
    # A sum moves far fewer FLOP a byte than a product: no CPU is that badly balanced.
    assert device.peak_flops > device.memory_bandwidth / 12
    assert 0 < load_spread("mine", None).devices["cpu:0"] <= 1


def test_times_of_an_earlier_profile_of_this_name_are_removed(tmp_path, capsys):
    graph = six_ops().graph
    for name in ("now", "before"):
        write_op_times(graph, {"cpu": np.ones(6)}, tmp_path, name)
    forget_others(tmp_path, ["now"])
    assert [path.stem for path in tmp_path.iterdir()] == ["now"]
    assert capsys.readouterr().out.endswith("earlier profile of this name: before\n")
    forget_others(tmp_path / "none", [])


def test_a_profile_that_is_broken_off_leaves_the_one_before(probes, tmp_path, monkeypatch, capfd):
    """Its times are written with its figures, once all has been measured.

    The figures are the synthetic host's, since measuring them takes a minute.
    """
    graph = six_ops().graph
    monkeypatch.chdir(tmp_path)
    write_op_times(graph, {"cpu": np.ones(6)}, tmp_path / "mine-ops", "before")
    figures = profile_host(Profiler(SyntheticHost(), cpus(2), probes), 0.0, False, print)
    monkeypatch.setattr("suite.commands.profile._measure", lambda *_: figures)
    monkeypatch.setattr("suite.commands.profile.run_pieces", interrupted)
    step = (
        "import tensorflow as tf\n"
        "w = tf.Variable(tf.ones([8, 8]))\n"
        "@tf.function(input_signature=[tf.TensorSpec([4, 8])])\n"
        "def step(x): return tf.reduce_mean(tf.matmul(x, w))\n"
    )
    (tmp_path / "own_step.py").write_text(step)
    words = ["profile", "mine", "--cpus", "2", "--backend", "session", "--rounds", "1", "--force"]
    assert main([*words, "--task", "own_step:step", "--output", "."]) == 130
    assert "own_step:step on cpu:0" in capfd.readouterr().out
    assert [path.name for path in tmp_path.rglob("*.npz")] == ["before.npz"]
    assert not (tmp_path / "mine.toml").exists()


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_model_that_does_not_run_is_found_before_anything_is_measured(
    tmp_path, monkeypatch, capfd
):
    step = (
        "import tensorflow as tf\n"
        "@tf.function(input_signature=[tf.TensorSpec([4, 4])])\n"
        "def step(x): return tf.reduce_mean(tf.linalg.inv(0.0 * x))\n"
    )
    (tmp_path / "failing_step.py").write_text(step)
    words = ["profile", "mine", "--cpus", "1", "--backend", "session", "--rounds", "1", "--force"]
    monkeypatch.chdir(tmp_path)
    assert main([*words, "--task", "failing_step:step", "--output", "."]) == 2
    shown = capfd.readouterr()
    assert "failing_step:step failed (error)" in shown.err
    assert "GFLOP/s" not in shown.out
    assert not (tmp_path / "mine.toml").exists()


class SmallGpu(WaitingGpu):
    """One with too little memory for more than a share of the operations."""

    def __init__(self, most):
        super().__init__(0, 1e-3)
        self.most = most

    def measure(self, step, devices, timing):
        if np.mean(devices) > self.most:
            return Measurement("oom", "too large")
        return super().measure(step, devices, timing)


@pytest.mark.parametrize(("most", "fit"), [(0.0, [0]), (1.0, [0, 1])])
def test_a_model_too_large_for_a_device_is_timed_where_it_fits(tmp_path, capsys, most, fit):
    """Why one places it is often just that."""
    small = layers(tmp_path)
    machine = load_machine("k40").with_gpus(1)
    models = {"net": Model(small.graph, small.step, "net")}
    fitting = run_models(models, machine, SmallGpu(most))
    assert fitting == [("net", device) for device in fit]
    said = "net on gpu:0: profiling net failed (oom): too large; its operations get no times of"
    assert (said in capsys.readouterr().out) == (fit == [0])
    seconds, spreads = time_models(models, fitting, machine, SmallGpu(most), 1)
    assert [*seconds["net"]] == [*spreads["net"]] == fit
    keep_times(models, machine, seconds, spreads, tmp_path)
    timed = with_op_times(small.graph, replace(machine, op_times=tmp_path), "net")
    assert [*timed.seconds] == ["cpu", "gpu"][: len(fit)]
    assert Problem.create(timed, machine).seconds.shape[0] > 0


def test_logical_cpus_of_a_session_are_refused_before_anything_is_measured(capfd):
    assert main(["profile", "mine", "--cpus", "2", "--backend", "session"]) == 2
    assert "share their memory" in capfd.readouterr().err


def test_a_users_own_model_is_placed_by_the_times_that_were_measured(tmp_path, capsys):
    graph = replace(six_ops().graph, seconds={})
    write_graph(graph, tmp_path / "own.npz")
    (tmp_path / "here.toml").write_text(
        'name = "here"\nop_times = "here-ops"\n'
        '[[device]]\nname = "cpu:0"\nkind = "cpu"\nmemory = "1 GB"\n'
        "peak_flops = 1e12\nmemory_bandwidth = 1e11\nlaunch_overhead = 0\n"
    )
    place = ["place", str(tmp_path / "own.npz"), "--machine", str(tmp_path / "here.toml")]
    place += ["--placer", "cpu_only", "--output", str(tmp_path / "answer.json")]
    assert main(place) == 0
    assert "placebench profile --task MODEL measures them" in capsys.readouterr().out
    write_op_times(graph, {"cpu": np.full(6, 0.25)}, tmp_path / "here-ops", times_name(graph, None))
    assert main(place) == 0
    shown = capsys.readouterr().out
    assert "times      of its operations: measured there" in shown
    assert "step time  1.500000 s" in shown
    write_graph(six_ops().graph, tmp_path / "own.npz")  # has times of its own, of no machine
    assert main(place) == 0
    assert "measured there" not in capsys.readouterr().out
