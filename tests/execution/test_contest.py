"""Placements run for real beside each other: the really fastest is found, and ties are said."""

import json
from math import isnan
from statistics import median

import numpy as np
import pytest
from small_grid import prepare, run
from small_steps import chain

from suite.cli import main
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.execution.contest import contest
from suite.execution.measurement import Backend, Measurement, Step, Timing
from suite.formats.interchange import read_graph, read_placement
from suite.formats.machine_toml import load_machine
from suite.simulator.reference import simulate

QUICK = Timing(steps=4, discarded=1, traced=0, timeout=120)
STEP = Step("none.pb", ("a",))


class Host(Backend):
    """Runs the placement [i] in ``seconds[i]``, times what ``noise`` says of round and placement.

    None runs out of memory.
    """

    name = "session"
    device_names = tuple("abcd")

    def __init__(self, *seconds, noise=lambda number, i: 1.0):
        self.seconds, self.noise, self.calls = seconds, noise, []

    def measure(self, step, devices, timing):
        (i,) = devices
        slower = self.noise(self.calls.count(i), i)
        self.calls.append(i)
        if self.seconds[i] is None:
            return Measurement("oom", "too large")
        times = [self.seconds[i] * slower * more for more in (3, 1.01, 1, 0.99)]
        return Measurement("ok", step_times=tuple(times), discarded=timing.discarded)

    def close(self):
        pass


def run_on(host, rounds=3):
    placements = [np.array([i]) for i in range(len(host.seconds))]
    return contest(host, STEP, placements, rounds, QUICK)


def test_the_fastest_is_found_on_a_host_that_becomes_slower():
    """Each round takes half as long again as the one before; 5 % decide all the same."""
    host = Host(1.05, 1.0, 1.1, noise=lambda number, i: 1.5**number)
    found = run_on(host)
    assert (found.fastest, found.ties, found.runs) == (1, (), 9)
    assert found.entries[1].step_time == pytest.approx(1.5)
    assert found.entries[0].relative == pytest.approx((1.0,) * 3)
    assert found.entries[1].relative == pytest.approx((1 / 1.05,) * 3)


def test_all_run_once_a_round_in_changing_order():
    host = Host(1.0, 1.0, 1.0, 1.0)
    run_on(host)
    rounds = [host.calls[i : i + 4] for i in (0, 4, 8)]
    assert all(sorted(one) == [0, 1, 2, 3] for one in rounds)
    assert len(set(map(tuple, rounds))) > 1


def test_what_overlaps_the_fastest_is_a_tie():
    """The second is 2 % slower but for one round, in which the first is a twentieth slower."""
    late = {(1, 0): 1.05}
    noisy = run_on(Host(1.0, 1.02, 2.0, noise=lambda number, i: late.get((number, i), 1.0)))
    assert (noisy.fastest, noisy.ties) == (0, (1,))
    quiet = run_on(Host(1.0, 1.02, 2.0))
    assert (quiet.fastest, quiet.ties) == (0, ())


def test_one_round_tells_no_noise_so_that_all_are_ties():
    found = run_on(Host(1.0, 3.0, None), rounds=1)
    assert (found.fastest, found.ties) == (0, (1,))
    assert isnan(found.entries[1].interval.low)


def test_what_fails_is_out_and_is_not_run_again():
    found = run_on(Host(2.0, None, 1.0))
    assert (found.fastest, found.ties, found.runs) == (2, (), 7)
    assert (found.entries[1].status, found.entries[1].reason) == ("oom", "too large")
    assert found.entries[1].step_time is None
    nothing = run_on(Host(None, None))
    assert (nothing.fastest, nothing.ties, nothing.runs) == (None, (), 2)


class Failing(Host):
    """The second placement runs once, and not again."""

    def measure(self, step, devices, timing):
        if devices[0] == 1 and self.calls.count(1):
            return Measurement("timeout", "too long")
        return super().measure(step, devices, timing)


def test_what_fails_later_is_out_of_the_rounds_before_too():
    """The first round's median is that of 1.0 and 1.2 s, as of those after."""
    found = run_on(Failing(1.0, 0.1, 1.2))
    assert (found.fastest, found.entries[1].status) == (0, "timeout")
    assert (found.entries[1].step_time, found.entries[1].relative) == (pytest.approx(0.1), ())
    assert found.entries[0].relative == pytest.approx((1 / 1.1,) * 3)


def test_nothing_to_run_is_refused():
    with pytest.raises(InputError, match="0 placements, 3 rounds"):
        contest(Host(), STEP, [], 3)


def test_the_really_fastest_is_found(tmp_path, cluster):
    """A chain on one server, and one that goes to and fro between two after every product."""
    small = chain(tmp_path, 128, 40)
    one = np.zeros(small.graph.n_ops, int)
    to_and_fro = np.arange(small.graph.n_ops) % 2
    found = contest(cluster, small.step, [to_and_fro, one], 2, QUICK)
    assert [entry.status for entry in found.entries] == ["ok", "ok"]
    assert found.fastest == 1
    assert found.runs == 4
    assert 0 < found.entries[1].step_time < found.entries[0].step_time < found.seconds


def test_answers_of_a_function_run_for_real(tmp_path):
    """A capture that is not cached keeps its GraphDef as long as it is to run."""
    prepare(tmp_path, {})
    (tmp_path / "own.py").write_text(
        "import tensorflow as tf\n"
        "w = tf.Variable(tf.ones([64, 64]))\n"
        "@tf.function(input_signature=[tf.TensorSpec([16, 64])])\n"
        "def step(x):\n"
        "    return tf.reduce_mean(tf.nn.relu(tf.matmul(x, w)) ** 2)\n"
    )
    arguments = ["--machine", str(tmp_path / "cache/machines/pair.toml"), "--placer", "restarts"]
    more = ["--set", "runs=4", "--measure-top", "1", "--rounds", "1", "--backend", "session"]
    done = run(tmp_path, "place", "own:step", *arguments, *more, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["measured_top"]["runs"] == 1


def test_a_search_returns_what_is_fastest_for_real(tmp_path):
    """On devices as slow as these figures have it, sending would pay; on this host it does not."""
    prepare(tmp_path, {})
    arguments = ["--machine", str(tmp_path / "cache/machines/pair.toml"), "--placer"]
    arguments += ["best_of_random", "--set", "k=30", "--measure-top", "2", "--apart", "0.1"]
    arguments += ["--rounds", "2", "--judge", "worst", "--spread", "0.1", "--machines", "2"]
    graph = ["--graph", str(tmp_path / "layers.npz")]
    out = ["--output", str(tmp_path / "p.json"), "--expose", "--json"]
    done = run(tmp_path, "place", *graph, *arguments, *out)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    top = found["measured_top"]
    assert (top["runs"], len(top["answers"]), found["evaluations"]) == (4, 2, 30)
    times = [median(median(r) for r in one["step_times"]) for one in top["answers"]]
    relative = [median(one["relative"]) for one in top["answers"]]
    assert relative[top["chosen"]] == min(relative)
    assert top["answers"][0]["score"] < top["answers"][1]["score"]
    assert max(found["judge"]["step_times"]) == found["judge"]["seconds"]
    assert min(times) > 0
    # What is told and kept is the answer that was fastest for real.
    machine = load_machine(str(tmp_path / "cache/machines/pair.toml"))
    problem = Problem.create(read_graph(tmp_path / "layers.npz"), machine)
    kept = read_placement(tmp_path / "p.json", problem)
    assert found["step_time"] == simulate(problem, kept.devices).step_time


def test_a_search_is_kept_whatever_happens_to_the_runs_of_its_answers(tmp_path, monkeypatch):
    prepare(tmp_path, {})
    monkeypatch.setattr("suite.bench.measure_top.measure", interrupted)
    arguments = ["--graph", str(tmp_path / "layers.npz"), "--backend", "session"]
    arguments += ["--machine", str(tmp_path / "cache/machines/pair.toml")]
    search = ["--placer", "best_of_random", "--set", "k=30", "--measure-top", "2"]
    assert main(["place", *arguments, *search, "--output", str(tmp_path / "p.json")]) == 130
    assert json.loads((tmp_path / "p.json").read_text())["devices"]


def interrupted(*_, **__):
    raise KeyboardInterrupt
