"""A search that is judged by running its placements: what counts, what fails, what is told."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hand_made import case
from small_grid import prepare, run

from suite.bench.gathering_search import GatheringSearch
from suite.core.errors import InputError
from suite.execution.measurement import Backend, Measurement, Step, Timing
from suite.execution.real_judge import FAILING, PATIENCE, RealJudge
from suite.search.best_answers import BestAnswers, Remembering
from suite.search.checkpoint import Checkpoint
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator

PROBLEM, _ = case([("a", 0, 5), ("b", 1, 7)], [("a", 20, "b")])
STEP = Step("none.pb", PROBLEM.graph.op_names)
PLACEMENTS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32)


class Host(Backend):
    """A host on which each placement takes what ``seconds`` says, or ends as it says."""

    name = "session"
    device_names = ("a", "b")

    def __init__(self, seconds):
        self.seconds, self.calls = seconds, []

    def measure(self, step, devices, timing):
        self.calls.append(tuple(devices.tolist()))
        taken = self.seconds[self.calls[-1]]
        if isinstance(taken, str):
            return Measurement(taken, f"it is {taken}")
        times = (9 * taken, taken / 2, taken, 2 * taken)
        return Measurement("ok", step_times=times, discarded=timing.discarded)

    def close(self):
        pass


def judge_on(*seconds):
    rows = map(tuple, PLACEMENTS.tolist())
    host = Host(dict(zip(rows, seconds, strict=True)))
    return RealJudge(Simulator(PROBLEM), host, STEP, Timing(steps=4, discarded=1, traced=0)), host


def test_each_placement_is_run_and_counts_the_median_of_its_steps():
    judge, host = judge_on(1.0, 2.0, 3.0, 4.0)
    scores = judge(PLACEMENTS)
    assert scores.step_time.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert not scores.oom.any()
    assert host.calls == list(map(tuple, PLACEMENTS.tolist()))
    assert (scores.peak_memory == Simulator(PROBLEM)(PLACEMENTS).peak_memory).all()
    host.seconds[1, 0] = 7.0
    judge(PLACEMENTS[2:3])
    assert judge.measured(PLACEMENTS[2]) == 5.0
    assert judge.as_record()["statuses"] == {"ok": 5}


def test_a_search_finds_what_is_fastest_for_real():
    """The simulator has the whole step fastest on one device, the host on two."""
    judge, _ = judge_on(4.0, 3.0, 2.0, 5.0)
    search = Search(PROBLEM, judge)
    search.evaluate(PLACEMENTS)
    assert search.best.devices.tolist() == [1, 0]
    assert Simulator(PROBLEM)(PLACEMENTS).step_time.argmin() == 0


def test_a_batch_that_is_not_judged_to_its_end_is_not_lost():
    """The host answers for three of four, and then no more."""
    judge, host = judge_on(4.0, 2.0, 3.0, None)
    plain = host.measure

    def measure(step, devices, timing):
        if len(host.calls) == 3:
            raise InputError("it does not start again")
        return plain(step, devices, timing)

    host.measure = measure
    search = GatheringSearch(PROBLEM, judge)
    search.one_by_one = True
    inner = search.inner(0, 10)
    with pytest.raises(InputError, match="it does not start again"):
        inner.evaluate(PLACEMENTS)
    search.gather()
    assert search.best.devices.tolist() == [0, 1]
    assert (search.best_time, search.evaluations) == (2.0, 3)


def test_a_batch_judged_one_by_one_has_the_scores_of_a_batch():
    judge, _ = judge_on(4.0, "oom", 3.0, 5.0)
    whole, single = Search(PROBLEM, judge), GatheringSearch(PROBLEM, judge)
    single.one_by_one = True
    ours, theirs = single.evaluate(PLACEMENTS), whole.evaluate(PLACEMENTS)
    for name in ("step_time", "oom", "peak_memory"):
        assert (getattr(ours, name) == getattr(theirs, name)).all()
    assert [(n, best) for n, _, best in single.history] == [(1, 4.0), (3, 3.0)]
    assert single.evaluations == whole.evaluations == 4


def test_what_does_not_run_is_no_answer_and_the_search_goes_on():
    judge, _ = judge_on("oom", "timeout", 3.0, "error")
    scores = judge(PLACEMENTS)
    assert scores.oom.tolist() == [True, True, False, True]
    simulated = Simulator(PROBLEM)(PLACEMENTS).step_time
    assert scores.step_time[[0, 1, 3]] == pytest.approx(FAILING * simulated[[0, 1, 3]])
    assert judge.measured(PLACEMENTS[0]) is None
    found = judge.as_record()
    assert found["statuses"] == {"error": 1, "ok": 1, "oom": 1, "timeout": 1}
    assert found["reasons"]["timeout"] == "it is timeout"


def test_one_runs_at_a_time_whoever_asks():
    judge, host = judge_on(1.0, 2.0, 3.0, 4.0)
    plain, under_way = host.measure, []

    def measure(*arguments):
        under_way.append(1)
        time.sleep(0.01)
        assert under_way == [1]
        under_way.clear()
        return plain(*arguments)

    host.measure = measure
    with ThreadPoolExecutor(2) as pool:
        for scores in pool.map(judge, [PLACEMENTS, PLACEMENTS]):
            assert scores.step_time.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert len(host.calls) == 8


def test_a_host_on_which_nothing_runs_ends_the_search():
    judge, host = judge_on("oom", "error", "error", "error")
    many = np.repeat(PLACEMENTS, PATIENCE, axis=0)
    with pytest.raises(InputError, match=r"none of the first 10 placements runs here: it is error"):
        judge(many)
    assert len(host.calls) == 2 * PATIENCE
    all_too_large, _ = judge_on(*["oom"] * 4)
    assert all_too_large(many).oom.all()


def test_what_has_run_before_a_search_was_stopped_is_known_when_it_goes_on(tmp_path):
    """Its best answers are kept in the same checkpoint."""

    def begun(judge):
        best = BestAnswers(PROBLEM.machine, 2)
        saved = Checkpoint(tmp_path / "c.npz", "this", 0.0, [judge, best])
        return Search(PROBLEM, Remembering(judge, best), saved=saved), best

    before, _ = judge_on(2.0, "oom", 3.0, "error")
    search, found = begun(before)
    search.evaluate(PLACEMENTS)
    search.checkpoint(dict)
    again, host = judge_on(*["timeout"] * 4)
    search, best = begun(again)
    search.restore()
    assert again.as_record() == before.as_record()
    assert again.as_record()["statuses"] == {"error": 1, "ok": 2, "oom": 1}
    assert again.measured(PLACEMENTS[2]) == 3.0
    assert best.times == found.times == [2.0, 3.0]
    # This host runs placements, as is known: that these do not is no fault of it.
    search.evaluate(np.repeat(PLACEMENTS, PATIENCE, axis=0))
    assert len(host.calls) == 4 * PATIENCE


def test_place_may_be_judged_by_real_runs(tmp_path):
    prepare(tmp_path, {})
    graph = ["--graph", str(tmp_path / "layers.npz")]
    machine = ["--machine", str(tmp_path / "cache/machines/pair.toml")]
    search = ["--placer", "best_of_random", "--set", "k=4", "--judge", "real"]
    endless = run(tmp_path, "place", *graph, *machine, *search)
    assert endless.returncode == 2
    assert "add --evaluations or --seconds" in endless.stderr
    search += ["--evaluations", "4", "--expose"]
    done = run(tmp_path, "place", *graph, *machine, *search, "--measure-top", "2", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    judge, answers = found["judge"], found["measured_top"]["answers"]
    assert (judge["score"], judge["runs"], judge["statuses"]) == ("real", 4, {"ok": 4})
    scores = [one["score"] for one in answers]
    assert scores == sorted(scores)
    assert judge["seconds"] == scores[found["measured_top"]["chosen"]]
    assert judge["seconds"] != found["step_time"]
