"""Search: what it spends, what it writes, and that stopping it changes nothing."""

import csv
import math
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from plugin.mutation import Mutation
from six_ops import every_placement, six_ops

from suite.core.errors import BudgetExhausted
from suite.search.checkpoint import Checkpoint
from suite.search.placer import Search
from suite.search.progress_log import Journal, Progress, most_steps
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

PROBLEM = six_ops()
SIMULATOR = Simulator(PROBLEM)
STEPS = 40


class Killed(Exception):
    """Stands for the end of the process."""


@dataclass
class Mortal:
    """A judge that ends the search at a given call."""

    calls: int
    pause: float = 0.0

    def __call__(self, devices):
        if self.calls == 0:
            raise Killed
        self.calls -= 1
        time.sleep(self.pause)
        return SIMULATOR(devices)


@dataclass
class Run:
    """A search in a folder, taken up again by every call."""

    folder: Path
    every: int = 1
    identity: str = "this"
    interval: float = 0.0
    told: list = field(default_factory=list)

    def __call__(self, steps=STEPS, judge=SIMULATOR, **budget):
        self.search = Search(
            PROBLEM,
            judge,
            seed=3,
            journal=Journal(self.folder / "seed0.csv", listener=self.told.append),
            saved=Checkpoint(self.folder / "seed0.checkpoint.npz", self.identity, self.interval),
            **budget,
        )
        self.placement = Mutation(steps, self.every).place(PROBLEM, self.search)
        return self

    def rows(self):
        with (self.folder / "seed0.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    def outcome(self):
        """All that must not depend on interruptions."""
        search = self.search
        return {
            "placement": self.placement.devices.tolist(),
            "best": search.best_time,
            "evaluations": search.evaluations,
            "history": [(n, best) for n, _, best in search.history],
            "notes": search.notes,
            "next": search.rng.random(),
            "csv": [{k: v for k, v in row.items() if k != "seconds"} for row in self.rows()],
        }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The outcome of a search that nobody stopped."""
    return Run(tmp_path_factory.mktemp("whole"))().outcome()


def test_the_search_that_the_others_repeat_is_worth_repeating(whole):
    assert len(whole["history"]) >= 4
    assert 4 <= whole["notes"]["kept"] < STEPS
    assert [row["step"] for row in whole["csv"]] == [str(i + 1) for i in range(STEPS)]


@pytest.mark.parametrize("first", [1, STEPS // 2, STEPS - 1, STEPS])
def test_two_parts_are_a_whole(tmp_path, whole, first):
    Run(tmp_path)(steps=first)
    assert Run(tmp_path)().outcome() == whole


def test_a_budget_may_be_raised(tmp_path, whole):
    for budget in (10, 10, 25, STEPS):
        run = Run(tmp_path)(max_evaluations=budget)
        assert run.search.evaluations == budget
    assert run.outcome() == whole


@pytest.mark.parametrize("every", [1, 7])
def test_a_search_killed_again_and_again_logs_no_step_twice(tmp_path, whole, every):
    for calls in (3, 9, 12, 0, 8):
        with pytest.raises(Killed):
            Run(tmp_path, every)(judge=Mortal(calls))
    assert Run(tmp_path, every)().outcome() == whole


def test_a_step_that_was_half_written_is_written_again(tmp_path, whole):
    with pytest.raises(Killed):
        Run(tmp_path, every=10)(judge=Mortal(25))
    path = tmp_path / "seed0.csv"
    path.write_text(path.read_text() + "1")
    assert Run(tmp_path, every=10)().outcome() == whole


def damage(path, how):
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(
        {
            "empty": b"",
            "cut": content[:middle],
            "text": b"not a checkpoint",
            "flipped": content.replace(b"e\0\0\0v\0\0\0a", b"e\0\0\0w\0\0\0a", 1),
        }[how]
    )


@pytest.mark.parametrize("how", ["empty", "cut", "text", "flipped"])
def test_a_damaged_checkpoint_is_ignored_aloud(tmp_path, whole, how):
    Run(tmp_path)(steps=10)
    damage(tmp_path / "seed0.checkpoint.npz", how)
    with pytest.warns(UserWarning, match=r"seed0.checkpoint.npz is damaged .*; starting afresh"):
        run = Run(tmp_path)()
    assert run.outcome() == whole


def test_a_checkpoint_that_cannot_be_read_is_not_written_over(tmp_path):
    """As where a network's disk is away for a moment: it may be whole."""
    (tmp_path / "seed0.checkpoint.npz").mkdir()
    checkpoint = Checkpoint(tmp_path / "seed0.checkpoint.npz", "identity")
    for reads in (checkpoint.load, checkpoint.spent, lambda: checkpoint.is_of_another):
        with pytest.raises(IsADirectoryError):
            reads()


def test_a_checkpoint_of_other_settings_is_ignored_aloud(tmp_path, whole):
    Run(tmp_path, identity="other")(steps=10)
    with pytest.warns(UserWarning, match="is of other settings or other code; starting afresh"):
        run = Run(tmp_path)()
    assert run.outcome() == whole


def test_without_a_checkpoint_the_old_log_is_dropped(tmp_path, whole):
    Run(tmp_path)(steps=10)
    (tmp_path / "seed0.checkpoint.npz").unlink()
    assert Run(tmp_path)().outcome() == whole


def test_seconds_are_counted_over_all_parts(tmp_path):
    first = Run(tmp_path)(judge=Mortal(1000, pause=0.02), max_seconds=0.2)
    spent = first.search.evaluations
    assert 1 <= spent < STEPS
    # What was kept last may be a step before the seconds ran out: how long, the machine decides.
    kept = float(first.rows()[-1]["seconds"])
    assert kept > 0.01
    second = Run(tmp_path)(max_seconds=kept / 2)
    assert second.search.evaluations == spent
    third = Run(tmp_path)()
    assert third.search.evaluations == STEPS
    seconds = [float(row["seconds"]) for row in third.rows()]
    assert seconds == sorted(seconds)
    assert seconds[spent] >= seconds[spent - 1] == kept
    assert third.search.clock.wall >= seconds[-1]


def test_a_spent_budget_says_which():
    devices = np.ones((2, 6), np.int32)
    few = Search(PROBLEM, SIMULATOR, max_evaluations=3)
    few.evaluate(devices)
    with pytest.raises(BudgetExhausted, match="3 placements evaluated"):
        few.evaluate(devices)
    short = Search(PROBLEM, SIMULATOR, max_seconds=0.001)
    time.sleep(0.002)
    with pytest.raises(BudgetExhausted, match=r"0\.001 seconds spent"):
        short.evaluate(devices)


def test_the_log_holds_what_was_said(tmp_path):
    search = Search(PROBLEM, SIMULATOR, journal=Journal(tmp_path / "sub" / "seed0.csv"))
    search.log(0, reward=-1.5, entropy=0.25)
    search.evaluate(np.ones((1, 6), np.int32))
    search.log(1, entropy=1 / 3, reward=-2.0, late=1.0)
    lines = (tmp_path / "sub" / "seed0.csv").read_text().splitlines()
    assert lines[0] == "step,evaluations,seconds,best,reward,entropy"
    assert lines[1].startswith("0,0,")
    assert lines[1].endswith(",inf,-1.5,0.25")
    assert lines[2].startswith("1,1,")
    assert lines[2].endswith(f",{search.best_time},-2.0,0.333333")


def test_a_checkpoint_is_made_when_it_is_time(tmp_path):
    Run(tmp_path, interval=3600)()
    assert not list(tmp_path.glob("*.npz"))


def test_a_search_without_a_folder_only_tells():
    told = []
    search = Search(PROBLEM, SIMULATOR, max_evaluations=10, journal=Journal(listener=told.append))
    Mutation(updates=4).place(PROBLEM, search)
    assert [p.step for p in told] == [1, 2, 3, 4]
    assert told[-1].scalars["reward"] < 0
    assert 0 < told[-1].left < 60


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (
            Progress(7, 2.0, 50, 0.25, 12.4, {"entropy": 1.5, "reward": -0.5, "loss": 3.0}),
            "update 7, best 0.2500 s, reward -0.500, entropy 1.500, 25 placements/s, 12 s left",
        ),
        (Progress(0, 0.0, 0, math.inf, None), "update 0, nothing fits yet, 0 placements/s"),
        # Ten updates take 4 s: the 15 that are left 6 s, whatever budget there is beside them.
        (
            Progress(10, 4.0, 80, 0.25, 50.0).within(25),
            "update 10 of 25, best 0.2500 s, 20 placements/s, 6 s left",
        ),
        (
            Progress(10, 4.0, 80, 0.25, 2.0).within(25),
            "update 10 of 25, best 0.2500 s, 20 placements/s, 2 s left",
        ),
        (
            Progress(0, 4.0, 1, 0.25, None).within(25),
            "update 0 of 25, best 0.2500 s, 0 placements/s",
        ),
    ],
)
def test_the_live_line(progress, line):
    assert progress.line() == line


@pytest.mark.parametrize("content", [b"\xff\xfe", b"step,best\n1,2\nx,3\n"])
def test_a_damaged_log_begins_anew(tmp_path, content):
    path = tmp_path / "seed0.csv"
    path.write_bytes(content)
    with pytest.warns(UserWarning, match=r"seed0\.csv is damaged .*; it begins anew"):
        Journal(path).resume(5)
    assert not path.exists()
    path.write_bytes(content)
    Journal(path).resume(None)
    assert not path.exists()


def test_what_an_inner_search_found_stands_where_it_was_found():
    outer = Search(PROBLEM, SIMULATOR)
    outer.evaluate(np.zeros((2, PROBLEM.graph.n_ops), np.int32))
    inner = outer.inner(0, 40)
    inner.evaluate(every_placement(PROBLEM)[-40:])
    outer.count(inner)
    numbers = [number for number, _, _ in outer.history]
    assert outer.evaluations == 2 + inner.evaluations
    assert numbers[0] == 1
    assert set(numbers[1:]) <= {2 + number for number, _, _ in inner.history}
    assert len(numbers) > 1


def test_steps_at_most_are_what_the_parameters_say():
    placers = {"hdp": {"updates": 3}, "placeto": {"episodes": 4}, "metis": {}}
    found = [most_steps(make_placer(name, given)) for name, given in placers.items()]
    assert found == [3, 4, None]


def test_time_left_is_that_of_the_tighter_budget():
    told = []
    for budget in (
        {"max_seconds": 9.0},
        {"max_seconds": 9.0, "max_evaluations": 2},
        {"max_seconds": 9.0, "max_evaluations": 10**12},
        {},
    ):
        search = Search(PROBLEM, SIMULATOR, **budget, journal=Journal(listener=told.append))
        search.evaluate(np.ones((1, 6), np.int32))
        search.log(1)
    assert 8 < told[0].left <= 9
    assert told[1].left < 1
    assert 8 < told[2].left <= 9
    assert told[3].left is None


def test_notes_are_fit_for_a_record():
    search = Search(PROBLEM, SIMULATOR)
    curve = [(0, 1)]
    search.note(groups=4, curve=curve)
    curve.append((1, 2))
    search.note(groups=5)
    assert search.notes == {"groups": 5, "curve": [[0, 1]]}
    with pytest.raises(TypeError):
        search.note(groups=np.int64(3))


def test_event_files_hold_the_scalars(tmp_path):
    tf = pytest.importorskip("tensorflow")
    for last in (3, 4):
        journal = Journal(board=tmp_path)
        for step in range(2 if last == 4 else 1, last + 1):
            journal.add(Progress(step, 1.0, step, 0.5, None, {"reward": -step}))
        journal.close()
    events = [
        event
        for path in sorted(tmp_path.iterdir())
        for event in tf.compat.v1.train.summary_iterator(str(path))
    ]
    values = [
        (e.step, {v.tag: v.simple_value for v in e.summary.value})
        for e in events
        if e.summary.value
    ]
    assert [step for step, _ in values] == [1, 2, 3, 2, 3, 4]
    assert values[-1] == (4, {"best": 0.5, "reward": -4.0})
    assert [e.step for e in events if e.session_log.status] == [1, 2]
