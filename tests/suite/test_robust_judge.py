"""Machines drawn from a machine's uncertainty, and the judge that asks several of them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from six_ops import every_placement, six_ops
from two_ops import GRAPH

from suite.cli import main
from suite.core.errors import InputError
from suite.core.scores import ImpatientJudge
from suite.core.uncertainty import Judging, LinkSpread, Spread
from suite.formats.machine_spread import load_spread
from suite.search.drawn_machines import drawn
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.search.robust_judge import RobustJudge
from suite.simulator.compiled.judge import Simulator

PROBLEM = six_ops()
WIDE = Spread.uniform(PROBLEM, 0.3)
MACHINES = 3


def alone(problem, spread, devices, seed=0):
    """float64[machines, batch], bool, int64: each machine's own simulation of each placement."""
    judges = [Simulator(drawn(problem, spread, number, seed)) for number in range(MACHINES)]
    scores = [judge(devices) for judge in judges]
    return (
        np.array([one.step_time for one in scores]),
        np.array([one.oom for one in scores]),
        np.array([one.peak_memory for one in scores]),
    )


def figures(problem):
    (link,) = problem.machine.links
    return link.latency, link.bandwidth, *problem.seconds.ravel()


def test_the_same_number_and_seed_draw_the_same_machine():
    first, again, other, elsewhere = (
        drawn(PROBLEM, WIDE, number, seed) for number, seed in ((2, 7), (2, 7), (1, 7), (2, 8))
    )
    assert figures(first) == figures(again)
    assert not set(figures(first)) & (set(figures(other)) | set(figures(elsewhere)))
    assert first.fingerprint == again.fingerprint != PROBLEM.fingerprint


def test_drawn_figures_are_positive_with_the_stated_median_and_spread():
    """Both of a link's latency; of an operation, its device's and its own factor together."""
    found = np.array([figures(drawn(PROBLEM, WIDE, n)) for n in range(2000)]) / figures(PROBLEM)
    assert (found > 0).all()
    np.testing.assert_allclose(np.median(found, axis=0), 1, atol=0.06)
    deviations = np.log(found).std(axis=0)
    np.testing.assert_allclose(deviations[:2], 0.3, rtol=0.06)
    np.testing.assert_allclose(deviations[2:], 0.3 * np.sqrt(2), rtol=0.06)


def test_every_spread_moves_its_own_figures_alone():
    """What is certain stays; operations that were not measured have their device's spread."""
    sure = LinkSpread(0, 0, 0, 0)
    ends = {(None, None): sure}
    none = dict.fromkeys(("cpu:0", "gpu:0", "gpu:1"), 0.0)
    assert figures(drawn(PROBLEM, Spread(none, ends), 0)) == figures(PROBLEM)
    own = np.array([0.2, np.nan, 0.2, 0.0, 0.0, 0.0])
    moved = drawn(PROBLEM, Spread(none | {"gpu:1": 0.1}, ends, {"gpu": own}), 0).seconds
    factors = moved / PROBLEM.seconds
    assert (factors[:, 0] == 1).all()
    assert (factors[:, 1] != 1).tolist() == [True, False, True, False, False, False]
    assert len(set(np.round(factors[3:, 2], 12))) == 1
    assert factors[3, 2] != 1
    # Its own factor is one for all devices of the kind.
    assert factors[0, 2] / factors[3, 2] == pytest.approx(factors[0, 1])


def test_all_that_delays_a_transfer_is_drawn_together():
    link = replace(PROBLEM.machine.links[0], gap=2e-5, scheduling_latency=3e-5)
    problem = replace(PROBLEM, machine=replace(PROBLEM.machine, links=(link,)))
    (found,) = drawn(problem, WIDE, 0).machine.links
    factor = found.latency / link.latency
    assert factor != 1
    assert found.gap == pytest.approx(2e-5 * factor)
    assert found.scheduling_latency == pytest.approx(3e-5 * factor)


def test_what_copying_a_tensor_takes_is_drawn_by_its_own_spread():
    link = replace(PROBLEM.machine.links[0], copy_bandwidth=1e9)
    problem = replace(PROBLEM, machine=replace(PROBLEM.machine, links=(link,)))
    none = dict.fromkeys(("cpu:0", "gpu:0", "gpu:1"), 0.0)
    spread = Spread(none, {(None, None): LinkSpread(0, 0, 0, 0.5)})
    (found,) = drawn(problem, spread, 0).machine.links
    assert found.copy_bandwidth != 1e9
    assert replace(found, copy_bandwidth=1e9) == link


def test_a_spread_that_leaves_something_out_is_refused():
    with pytest.raises(InputError, match="no spread of cpu:0"):
        drawn(PROBLEM, replace(WIDE, devices={}), 0)
    with pytest.raises(InputError, match="no spread of the link any -> any"):
        drawn(PROBLEM, replace(WIDE, links={}), 0)
    with pytest.raises(InputError, match="7 operations for 6"):
        drawn(PROBLEM, replace(WIDE, operations={"gpu": np.ones(7)}), 0)


@pytest.mark.parametrize(("score", "over"), [("mean", np.mean), ("worst", np.max)])
def test_a_score_is_that_of_independent_simulations(score, over):
    devices = every_placement(PROBLEM)
    times, *_ = alone(PROBLEM, WIDE, devices, seed=5)
    judge = RobustJudge(PROBLEM, WIDE, Judging(score, MACHINES, seed=5))
    scores = judge(devices)
    np.testing.assert_allclose(scores.step_time, over(times, axis=0), rtol=1e-14)
    assert isinstance(judge, ImpatientJudge)
    limits = np.random.default_rng(0).permutation(scores.step_time)
    limits[:9] = scores.step_time[:9]  # as long as it may take is not too long
    within = judge.within(devices, limits)
    kept = scores.step_time <= limits
    assert kept[:9].all()
    assert 50 < kept.sum() < len(kept) - 50
    np.testing.assert_array_equal(within.step_time, np.where(kept, scores.step_time, np.inf))
    # All fits everywhere: nobody counted.
    assert (within.peak_memory == -1).all()


def test_memory_is_that_of_the_worst_machine():
    """GPUs that hold the variables of two operations and the tensors of one at a time."""
    problem = six_ops("3500 B")
    devices = every_placement(problem)
    spread = Spread.uniform(problem, 0.5)
    _, oom, peaks = alone(problem, spread, devices)
    assert (oom.any(axis=0) != oom.all(axis=0)).any(), "on some machines, not on others"
    judge = RobustJudge(problem, spread, Judging("mean", MACHINES))
    scores = judge(devices)
    np.testing.assert_array_equal(scores.oom, oom.any(axis=0))
    np.testing.assert_array_equal(scores.peak_memory, peaks.max(axis=0))
    # With a deadline, what is missing is the same, whoever is not counted because all fits there.
    within = judge.within(devices, np.full(len(devices), 1e3))
    np.testing.assert_array_equal(within.oom, scores.oom)
    missing = problem.machine.missing_memory
    np.testing.assert_array_equal(missing(within.peak_memory), missing(scores.peak_memory))


def test_a_search_by_it_finds_what_is_best_on_all_machines():
    judge = RobustJudge(PROBLEM, WIDE, Judging("worst", MACHINES))
    search = Search(PROBLEM, judge, max_evaluations=2000)
    found = make_placer("annealing", {"evaluations": 2000}).place(PROBLEM, search)
    every = judge(every_placement(PROBLEM)).step_time
    assert judge(found.devices[None]).step_time[0] == every.min() == search.best_time


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"score": "best"}, "score is 'best'; one of mean, worst"),
        ({"machines": 0}, "machines is 0"),
        ({"spread": 0.0}, "spread is 0.0; give more than 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        Judging(**wrong)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["--judge", "worst"], "k40.toml: device cpu:0 records no spread; profile this host again"),
        (["--machines", "3"], "--machines goes with --judge mean or --judge worst; add it"),
        (["--machines", "3", "--judge", "real"], "--machines goes with --judge mean or"),
        (["--backend", "session"], "--backend goes with --measure-top K or --judge real; add it"),
        (["--rounds", "3"], "--rounds goes with --measure-top K; add it"),
        (["--expose"], "--expose goes with --measure-top K or --judge real; add it"),
        (["--measure-top", "3"], "placebench graph MODEL --output FILE writes both"),
    ],
)
def test_what_cannot_be_done_is_told_on_one_line(asked, words, tmp_path, capsys):
    graph = tmp_path / "two.json"
    graph.write_text(json.dumps(GRAPH))
    given = ["--graph", str(graph), "--machine", "k40", "--gpus", "1", *asked]
    given += ["--placer", "best_of_random"]
    assert main(["place", *given]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1


def test_place_tells_what_the_answer_scores_on_every_machine(tmp_path, capsys):
    graph = tmp_path / "two.json"
    graph.write_text(json.dumps(GRAPH))
    given = ["--graph", str(graph), "--machine", "k40", "--gpus", "1"]
    given += ["--placer", "best_of_random", "--set", "k=4"]
    asked = ["--judge", "worst", "--spread", "0.2", "--machines", "3", "--json"]
    assert main(["place", *given, *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(set(found["judge"]["step_times"])) == 3
    assert found["judge"]["seconds"] == max(found["judge"]["step_times"]) != found["step_time"]


def test_a_spread_is_a_share_up_to_the_whole(tmp_path):
    device = 'name = "cpu:0"\nkind = "cpu"\nmemory = "1 GB"\npeak_flops = 1e9\n'
    device += "memory_bandwidth = 1e9\nlaunch_overhead = 0\n"
    for spread in (0, 1):
        (tmp_path / "m.toml").write_text(f'name = "m"\n[[device]]\n{device}spread = {spread}\n')
        assert load_spread(tmp_path / "m.toml", None).devices == {"cpu:0": spread}
    (tmp_path / "m.toml").write_text(f'name = "m"\n[[device]]\n{device}spread = 1.01\n')
    with pytest.raises(InputError, match=r"spread is 1.01; give a share from 0 to 1"):
        load_spread(tmp_path / "m.toml", None)


LINKED = """
name = "linked"
[[device]]
name = "gpu"
count = 2
kind = "gpu"
memory = "1 GB"
peak_flops = 1e9
memory_bandwidth = 1e9
launch_overhead = 0
spread = 0.25
[[link]]
bandwidth = 1e9
latency = 0
spread = { latency = 0.1, bandwidth = 0.2, overhead = 0.3, copy_bandwidth = 0.4 }
"""


def test_every_spread_of_a_file_is_that_of_its_own_figure(tmp_path):
    one_way = LINKED[LINKED.index("[[link]]") :].replace("0.4", "0.5")
    ends = 'from = "gpu:0"\nto = "gpu:1"\n'
    # As editors on Windows write it.
    (tmp_path / "m.toml").write_text("\ufeff" + LINKED + one_way + ends)
    found = load_spread(tmp_path / "m.toml", None)
    assert found.devices == {"gpu:0": 0.25, "gpu:1": 0.25}
    link = LinkSpread(latency=0.1, bandwidth=0.2, overhead=0.3, copy_bandwidth=0.4)
    other = replace(link, copy_bandwidth=0.5)
    assert found.links == {(None, None): link, ("gpu:0", "gpu:1"): other}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("spread = { latency", "# { latency", "link any -> any records no spread; profile this"),
        (", overhead = 0.3", "", "spread must give latency, bandwidth, overhead, copy_bandwidth"),
        ("overhead = 0.3", "overhead = 0.3, gap = 0.1", "spread must give latency, bandwidth, ove"),
        ("overhead = 0.3", "overhead = 30", "overhead: spread is 30; give a share from 0 to 1"),
        ("overhead = 0.3", "overhead = nan", "overhead: spread is nan; give a share from 0 to 1"),
        ("spread = 0.25\n", "", "device gpu:0 records no spread; profile this host again"),
    ],
)
def test_a_spread_that_is_not_whole_is_refused(tmp_path, old, new, words):
    assert old in LINKED
    (tmp_path / "m.toml").write_text(LINKED.replace(old, new))
    with pytest.raises(InputError, match=words):
        load_spread(tmp_path / "m.toml", None)
