"""OpenVINO's profile: figures from hand-made times, and networks that take turns on two devices."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("openvino", reason="the extra openvino is not installed")

from small_steps import cpus

from suite.capture.openvino.read import read_file
from suite.capture.openvino.to_graph import to_graph
from suite.capture.options import Options
from suite.cli import main
from suite.core.errors import InputError
from suite.execution.measurement import Timing
from suite.execution.openvino.backend import OpenVINOBackend
from suite.execution.openvino.cuts import RUNS, Cut, fit_cuts, measure_cuts
from suite.execution.openvino.probes import CHAINS, ELEMENTS, HOPS, SIZE, chain
from suite.execution.openvino.profiler import SIZES, cut_fit, figures
from suite.execution.profiling.links import Fit
from suite.execution.profiling.op_times import measure_ops
from suite.execution.profiling.samples import Samples

LATENCY, BANDWIDTH = 5e-6, 8e9


def times(added):
    """What three rounds measured where a cut of each size adds some seconds."""
    samples = Samples()
    for noise in (1.3, 0.9, 1.0):  # in the median 1
        for device, alone in ((0, 1e-3), (1, 3e-3)):
            for size in SIZES:
                samples.add(("cut", size, device, device), noise * alone)
        for size in SIZES:
            samples.add(("cut", size, 0, 1), noise * (2e-3 + HOPS * added(size)))
    return samples


def test_a_cut_costs_what_it_adds():
    fit = cut_fit(0, 1, times(lambda size: LATENCY + size / BANDWIDTH))
    assert fit.latency == pytest.approx(LATENCY, rel=1e-3)
    assert fit.bandwidth == pytest.approx(BANDWIDTH)
    assert fit.error == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("added", [lambda size: -1e-6, lambda size: 1e-5])
def test_cuts_that_cannot_be_told_are_refused(added):
    with pytest.raises(InputError, match="profile a quieter host"):
        cut_fit(0, 1, times(added))


def test_a_devices_figures_by_hand():
    samples = Samples()
    for key, seconds in (("product", 0.5), ("total", 0.25), ("convolution", 1e9)):
        samples.add((key, 0), seconds)
    for length in CHAINS:
        samples.add(("chain", length, 0), 1e-3 + 2e-6 * length)
    found = figures(0, samples)
    assert found.peak_flops == 4.0 * SIZE**3
    assert found.memory_bandwidth == 48.0 * ELEMENTS
    assert found.launch_overhead == pytest.approx(2e-6)


def test_links_of_a_chain_take_turns_and_each_is_timed(tmp_path):
    """A fused operation would have no kernel, and a chain of those no cuts."""
    probe = chain(tmp_path, 5, 4096)
    timing = Timing(steps=2, discarded=1, traced=1, timeout=120)
    with OpenVINOBackend(cpus(2)) as backend:
        result = backend.measure(probe.step, probe.by_turns(0, 1), timing)
    assert result.parts == 5
    places = dict(zip(result.traces[0].names, result.traces[0].devices.tolist(), strict=True))
    assert {name: places[name] for name in places if name.startswith("link_")} == {
        f"link_{i}": i % 2 for i in range(5)
    }


def test_times_of_operations_add_up_to_the_step(tmp_path):
    probe = chain(tmp_path, 3, 1 << 18)
    graph = to_graph(read_file(probe.step.model, Options())[0], "chain")
    with OpenVINOBackend(cpus(1)) as backend:
        found = measure_ops(backend, graph, probe.step, 0, 0)
    assert found.seconds.sum() == pytest.approx(found.step_time)
    timed = np.array(graph.op_types)[found.seconds > 0]
    assert set(timed) == {"Softmax"}


def test_a_model_without_a_timed_kernel_is_refused(tmp_path):
    """As on a fast host, where each kernel of a small model ends within its microsecond."""
    probe = chain(tmp_path, 3, 64)
    graph = to_graph(read_file(probe.step.model, Options())[0], "chain")
    untold = replace(graph, op_names=tuple(f"other/{name}" for name in graph.op_names))
    with (
        OpenVINOBackend(cpus(1)) as backend,
        pytest.raises(InputError, match="profiling chain failed: no time of a microsecond or more"),
    ):
        measure_ops(backend, untold, probe.step, 0, 0)


PLAIN = Fit(latency=LATENCY, bandwidth=BANDWIDTH, error=0.0)


def pieces(latency, bandwidth):
    """Networks of a second that take so much longer for what is sent."""
    sent = [(2, 10**6), (5, 10**8), (30, 10**7)]
    return [Cut(1 + n * latency + size / bandwidth, 1.0, n, size) for n, size in sent]


def test_a_network_in_pieces_tells_what_its_borders_cost():
    fit = fit_cuts(PLAIN, pieces(2e-4, 1e9))
    assert fit.latency == pytest.approx(2e-4)
    assert fit.bandwidth == pytest.approx(1e9)
    assert fit.error == pytest.approx(0, abs=1e-9)


def test_a_border_never_costs_less_than_the_way_of_its_tensors():
    fit = fit_cuts(PLAIN, pieces(LATENCY / 2, 2 * BANDWIDTH))
    assert (fit.latency, fit.bandwidth) == (LATENCY, BANDWIDTH)


def test_a_network_is_run_in_pieces_that_take_turns(tmp_path):
    """A chain of 40 links is cut wherever a run ends, and one tensor crosses each border."""
    probe = chain(tmp_path, 40, 64)
    graph = to_graph(read_file(probe.step.model, Options())[0], "chain")
    times = {0: np.full(graph.n_ops, 1.0), 1: np.full(graph.n_ops, 10.0)}
    with OpenVINOBackend(cpus(2)) as backend:
        cuts = measure_cuts(backend, graph, probe.step, times)
    assert [one.transfers for one in cuts] == [runs - 1 for runs in RUNS for _ in range(2)]
    assert [one.size for one in cuts] == [256 * one.transfers for one in cuts]
    assert cuts[0].computing == graph.n_ops // 2 * 1.0 + graph.n_ops // 2 * 10.0


def test_an_unknown_task_is_refused_before_anything_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path))
    asked = ["profile", "mine", "--backend", "openvino", "--gpus", "1", "--task", "hsdag_lstm"]
    assert main(asked) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert "no task 'hsdag_lstm'; did you mean" in shown.err or "known:" in shown.err
