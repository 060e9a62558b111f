"""Post: its two rules against slow references, and what a search with them does."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray
from six_ops import every_placement, six_ops

from planners.features.fast_devices import as_fast
from planners.policy_gradient.ppo import mean_gain
from planners.post import (
    MODES,
    Post,
    ascend,
    best_of,
    clipped_gradient,
    draw,
    elite_frequencies,
    entropy,
    mixed,
    normalised,
    softmax,
)
from planners.post_tuned import PostTuned
from suite.core.child_python import child_environment, python_command
from suite.core.errors import BudgetExhausted, InputError
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.checkpoint import Checkpoint
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

Array = NDArray[Any]


@dataclass
class Recorder:
    """The simulator, which keeps what it is asked, and may end the search."""

    problem: Problem
    calls: float = float("inf")
    devices: list[Array] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.simulator = Simulator(self.problem)

    def __call__(self, devices: NDArray[np.int32]) -> Scores:
        if self.calls <= 0:
            raise KeyboardInterrupt
        self.calls -= 1
        scores = self.simulator(devices)
        self.devices += list(devices)
        self.seconds += scores.step_time.tolist()
        return scores


def objective(
    logits: Array, old: Array, chosen: Array, advantages: Array, clip: float
) -> tuple[float, int]:
    """PPO's clipped objective, in loops, and how many of its terms are clipped."""
    total, clipped = 0.0, 0
    for devices, advantage in zip(chosen, advantages, strict=True):
        for group, device in enumerate(devices):
            new = np.exp(logits[group]) / np.exp(logits[group]).sum()
            ratio = new[device] / old[group, device]
            within = min(max(ratio, 1 - clip), 1 + clip)
            clipped += within * advantage < ratio * advantage
            total += min(ratio * advantage, within * advantage)
    return total / len(chosen), clipped


def test_the_gradient_of_ppo_equals_finite_differences() -> None:
    rng = np.random.default_rng(0)
    before = rng.normal(size=(4, 3))
    old, logits = softmax(before), before + 0.4 * rng.normal(size=(4, 3))
    chosen = draw(old, 6, rng)
    advantages = rng.normal(size=6)
    told = clipped_gradient(softmax(logits), old, chosen, advantages, 0.2)
    value, clipped = objective(logits, old, chosen, advantages, 0.2)
    assert 0 < clipped < chosen.size
    step = 1e-6
    for index in np.ndindex(logits.shape):
        moved = logits.copy()
        moved[index] += step
        slope = (objective(moved, old, chosen, advantages, 0.2)[0] - value) / step
        assert told[index] == pytest.approx(slope, abs=1e-5)


def by_tape(
    logits: Array, old: Array, chosen: Array, advantages: Array, clip: float
) -> tuple[Array, Array]:
    """What TensorFlow finds: the gradient of PPO's objective, and of GDP's of the same samples.

    The first is as Schulman et al. 2017 have it, summed over groups; GDP's is the mean over them,
    and its samples have weights, which are summed.
    """
    taken = np.take_along_axis(old[None], chosen[:, :, None], axis=2)[:, :, 0]
    table, weights = tf.constant(logits), tf.constant(advantages)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(table)
        picked = tf.one_hot(chosen, logits.shape[1], dtype=tf.float64)
        ratio = tf.reduce_sum(picked * tf.nn.softmax(table), axis=2) / taken
        bounded = tf.minimum(tf.maximum(ratio, 1 - clip), 1 + clip)
        gain = tf.minimum(ratio * weights[:, None], bounded * weights[:, None])
        whole = tf.reduce_sum(gain) / len(chosen)
        mean = mean_gain(tf.nn.log_softmax(table), chosen, taken, weights / len(chosen), clip)
    return tape.gradient(whole, table).numpy(), len(logits) * tape.gradient(mean, table).numpy()


def test_in_every_epoch_the_gradient_of_ppo_is_the_tapes() -> None:
    """Ratios are 1 in the first, and leave the clip in later ones, to either side."""
    rng = np.random.default_rng(4)
    logits = rng.normal(size=(5, 4))
    old = softmax(logits)
    chosen, advantages = draw(old, 8, rng), rng.normal(size=8)
    settings = Post(ascents=6, learning_rate=1.0)
    gone, left, stayed = logits, np.zeros(2, np.int64), 0
    for epoch in range(settings.ascents):
        new = softmax(gone)
        ratio = new[np.arange(5), chosen] / old[np.arange(5), chosen]
        assert (np.abs(ratio - 1) < 1e-12).all() == (epoch == 0)
        better = advantages[:, None] > 0
        clipped = np.where(better, ratio > 1.2, ratio < 0.8)
        left += [np.sum(clipped & better), np.sum(clipped & ~better)]
        stayed += np.sum(~clipped & (ratio != 1))
        told = clipped_gradient(new, old, chosen, advantages, settings.clip)
        for found in by_tape(gone, old, chosen, advantages, settings.clip):
            np.testing.assert_allclose(told, found, rtol=0, atol=1e-6)
        gone = gone + settings.learning_rate * found
    assert left.min() > 3
    assert stayed > 3
    ours = ascend(logits, chosen, advantages, settings)
    np.testing.assert_allclose(ours, gone, rtol=0, atol=1e-6)


def test_the_first_step_of_ppo_is_the_policy_gradient() -> None:
    """One group, two devices, both equally likely: 1/2 A for the device, -1/2 A for the other."""
    half = np.full((1, 2), 0.5)
    gradient = clipped_gradient(half, half, np.array([[0], [1]]), np.array([1.0, -1.0]), 0.2)
    np.testing.assert_allclose(gradient, [[0.5, -0.5]])


def test_a_group_whose_ratio_has_moved_far_enough_is_left_alone() -> None:
    old, new = np.full((2, 2), 0.5), np.array([[0.7, 0.3], [0.55, 0.45]])
    gradient = clipped_gradient(new, old, np.zeros((1, 2), np.int64), np.array([1.0]), 0.2)
    np.testing.assert_allclose(gradient, [[0, 0], [1.1 * 0.45, -1.1 * 0.45]])


CHOSEN = np.array([[0, 2], [0, 1], [1, 2], [0, 2]])
FREQUENCIES = [[3 / 4, 1 / 4, 0], [0, 1 / 4, 3 / 4]]


def test_the_elite_is_imitated_by_its_frequencies() -> None:
    frequencies = elite_frequencies(CHOSEN, 3)
    np.testing.assert_allclose(frequencies, FREQUENCIES)
    np.testing.assert_allclose(mixed(frequencies, 0.3)[0], [0.625, 0.275, 0.1])


def test_no_other_distribution_has_a_smaller_cross_entropy_to_the_elite() -> None:
    def cross_entropy(f: Array) -> float:
        return -float(np.log([[f[m, d] for m, d in enumerate(row)] for row in CHOSEN]).sum())

    rng = np.random.default_rng(0)
    least = cross_entropy(elite_frequencies(CHOSEN, 3))
    others = [cross_entropy(rng.dirichlet(np.ones(3), 2)) for _ in range(200)]
    assert least < min(others)


def test_the_elite_are_the_best_and_of_equals_the_first() -> None:
    rewards = np.array([-3.0, -1.0, -2.0, -1.0, -5.0, -4.0, -2.0, -9.0, -8.0, -7.0])
    assert best_of(rewards, 0.1).tolist() == [1]
    assert best_of(rewards, 0.4).tolist() == [1, 3, 2, 6]
    assert best_of(rewards[:3], 0.1).tolist() == [1]
    # As a float 0.29 x 100 is a little below 29.
    assert len(best_of(np.arange(100.0), 0.29)) == 29


def test_advantages_have_mean_zero_and_deviation_one() -> None:
    np.testing.assert_allclose(normalised(np.array([-1.0, -3.0])), [1, -1], rtol=1e-5)
    assert not normalised(np.full(4, -2.0)).any()


def test_placements_are_drawn_as_often_as_the_distribution_says() -> None:
    f = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0]])
    drawn = draw(f, 20_000, np.random.default_rng(0))
    frequencies = elite_frequencies(drawn, 3)
    np.testing.assert_allclose(frequencies, f, atol=0.015)
    assert (drawn[:, 1] == 1).all()


def test_entropy_is_a_share() -> None:
    assert entropy(np.full((5, 4), 0.25)) == pytest.approx(1)
    assert entropy(np.eye(3)) == 0
    assert entropy(np.ones((5, 1))) == entropy(np.ones((0, 3))) == 0


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_finds_the_optimum_from_five_seeds(mode: str) -> None:
    """A smaller rate than for hundreds of groups: of six, each decides more."""
    problem = six_ops(cpu=None)
    judge = Simulator(problem)
    optimum = judge(every_placement(problem)).step_time.min()
    for seed in range(5):
        search = Search(problem, judge, seed, max_evaluations=400)
        placement = Post(mode=mode, groups=6, learning_rate=0.03).place(problem, search)
        assert judge.run(placement.devices).step_time == optimum


def searched(folder: Path, settings: Post, calls: float = float("inf")) -> tuple[Search, Recorder]:
    """A search of six operations that saves a checkpoint after each update; it may be killed."""
    problem = six_ops()
    judge = Recorder(problem, calls)
    search = Search(problem, judge, 3, max_evaluations=200)
    search.saved = Checkpoint(folder / "checkpoint.npz", "six", interval=0)
    try:
        settings.place(problem, search)
    except KeyboardInterrupt:
        assert judge.calls == 0
    return search, judge


def logits(folder: Path) -> Array:
    with np.load(folder / "checkpoint.npz") as saved:
        return np.asarray(saved["logits"])


def test_every_n_placements_their_elite_decides(tmp_path: Path) -> None:
    """Six operations are six groups, so that what was judged tells what was chosen."""
    settings = Post(groups=6, samples=10, period=3, updates=6, epsilon=0.06)
    _, judge = searched(tmp_path, settings)
    window, seconds = np.array(judge.devices[30:]), np.array(judge.seconds[30:])
    best = window[np.argsort(seconds, kind="stable")[:3]]
    expected = [[np.mean(best[:, group] == device) for device in range(3)] for group in range(6)]
    np.testing.assert_allclose(np.exp(logits(tmp_path)), 0.94 * np.array(expected) + 0.02)


def test_alone_each_rule_keeps_to_itself(tmp_path: Path) -> None:
    """Before its first turn cross-entropy alone has not moved; PPO alone never takes the other."""
    searched(tmp_path, Post(groups=6, mode="ce", period=3, updates=2))
    assert not logits(tmp_path).any()
    (tmp_path / "ppo").mkdir()
    searched(tmp_path / "ppo", Post(groups=6, mode="ppo", period=1, updates=2))
    assert logits(tmp_path / "ppo").any()
    np.testing.assert_allclose(logits(tmp_path / "ppo").sum(axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("killed_at", [1, 4, 6])
def test_killed_anywhere_a_search_goes_on_bit_for_bit(
    tmp_path: Path, mode: str, killed_at: int
) -> None:
    settings = Post(mode=mode, period=3, updates=8)
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole, first = searched(tmp_path / "whole", settings)
    _, begun = searched(tmp_path / "parts", settings, killed_at)
    parts, ended = searched(tmp_path / "parts", settings)
    np.testing.assert_array_equal(first.devices, begun.devices + ended.devices)
    np.testing.assert_array_equal(logits(tmp_path / "whole"), logits(tmp_path / "parts"))
    assert whole.best is not None
    assert parts.best is not None
    assert whole.best.hash == parts.best.hash
    assert whole.notes == parts.notes


def test_the_last_update_takes_what_is_left_of_the_budget() -> None:
    problem = six_ops()
    search = Search(problem, Simulator(problem), max_evaluations=25)
    Post().place(problem, search)
    assert search.evaluations == 25
    assert search.notes == {"groups": 2, "updates": 3, "invalid": 0}
    with pytest.raises(BudgetExhausted, match="0 placements"):
        Post().place(problem, Search(problem, Simulator(problem), max_evaluations=0))


def test_it_leaves_placements_that_do_not_fit() -> None:
    """The GPUs hold two operations each, so that most placements at the start are out of memory."""
    problem = six_ops(gpu="2 kB", cpu="1 GB")
    search = Search(problem, Simulator(problem), 0)
    told: list[float] = []
    search.journal.listener = lambda progress: told.append(progress.scalars["reward"])
    Post(groups=6, updates=30).place(problem, search)
    assert search.best is not None
    assert search.notes["invalid"] > 10
    assert np.mean(told[-5:]) > np.mean(told[:5]) + 1


def test_memory_that_is_missing_costs_as_much_as_is_said() -> None:
    problem = six_ops()

    def too_full(devices: NDArray[np.int32]) -> Scores:
        count = len(devices)
        peaks = np.tile(2 * problem.machine.memory, (count, 1))
        return Scores(np.full(count, 4.0), np.ones(count, np.bool_), peaks)

    search, told = Search(problem, too_full, 0), list[float]()
    search.journal.listener = lambda progress: told.append(progress.scalars["reward"])
    Post(updates=1, overload_cost=3.0).place(problem, search)
    # Minus the root of 4 s, less 3 times the whole memory that is missing.
    assert told == [-2.0 - 3.0]


def test_a_search_that_meets_only_oom_says_so() -> None:
    problem = six_ops(gpu="2 kB", cpu="2 kB")
    judge = Recorder(problem)
    search = Search(problem, judge, 0)
    placement = Post(groups=6, updates=3).place(problem, search)
    assert search.best is None
    assert Simulator(problem).run(placement.devices).oom.any()
    # The last one drawn is none that was drawn before.
    assert [placement.devices.tolist() == one.tolist() for one in judge.devices].index(True) == 29
    assert search.notes["invalid"] == search.evaluations == 30


def test_what_is_printed() -> None:
    paper = Post()
    assert paper.samples * paper.updates == 2400
    assert (paper.mode, paper.elite, paper.ascents) == ("both", 0.1, 10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "all"}, "mode is 'all'; known: both, ce, ppo, pg"),
        ({"samples": 1}, "samples is 1; give >= 2, they are compared"),
        ({"period": 0}, "period is 0; give a number >= 1"),
        ({"elite": 1.5}, "elite is 1.5; give a share of at most 1"),
        ({"epsilon": 0.0}, "epsilon is 0.0; give a number > 0"),
        ({"groups": -1}, "groups is -1; give 0 .* or METIS parts"),
        ({"head_start": -1.0}, "head_start is -1.0; give >= 0"),
        (
            {"clips": 1},
            r"placer post_tuned has no parameter 'clips'; did you mean 'clip'\? it has mode, ",
        ),
    ],
)
def test_wrong_settings_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_placer("post_tuned", change)


def test_all_of_the_placements_may_be_the_elite_and_all_of_the_chances_uniform() -> None:
    settings = Post(elite=1.0, epsilon=1.0)
    assert best_of(np.array([-2.0, -1.0]), settings.elite).tolist() == [1, 0]
    assert mixed(np.array([[1.0, 0.0]]), settings.epsilon).tolist() == [[0.5, 0.5]]


def test_groups_begin_where_they_are_fast() -> None:
    # 0.5 s an operation on the CPU, 0.1 s on a GPU: logits -log(0.5), -log(0.1), less their mean.
    problem, pairs = six_ops(), np.array([0, 0, 1, 1, 2, 2])
    fast = 2 * np.log(5) / 3
    assert as_fast(problem, pairs, 2.0) == pytest.approx(
        np.array([[fast / 2 - 3 * fast / 2, fast / 2, fast / 2]] * 3)
    )
    assert np.abs(as_fast(problem, pairs, 0.3)).max() == pytest.approx(0.3)


def test_a_group_on_a_device_that_cannot_run_it_counts_as_elsewhere() -> None:
    graph = OpGraph.create("one", ["a"], ["Op"], [], [], gpu_kernel=[False], seconds={"cpu": 0.1})
    problem = Problem.create(graph, six_ops().machine)
    assert as_fast(problem, np.array([0]), 2.0).tolist() == [[0.0, 0.0, 0.0]]


def test_the_first_draws_follow_the_head_start() -> None:
    problem = six_ops()

    def on_the_cpu(**settings: float) -> float:
        recorder = Recorder(problem)
        search = Search(problem, recorder, 0)
        PostTuned(groups=6, samples=300, updates=1, **settings).place(problem, search)
        return float((np.stack(recorder.devices) == 0).mean())

    # A fifth as fast as either of two GPUs: 1 of 11.
    assert on_the_cpu() == pytest.approx(1 / 11, abs=0.03)
    assert on_the_cpu(head_start=0.0) == pytest.approx(1 / 3, abs=0.05)


def test_it_needs_no_tensorflow() -> None:
    code = "import planners.post_tuned, sys; sys.exit('tensorflow' in sys.modules)"
    command = python_command("-c", code)
    assert subprocess.run(command, env=child_environment(), check=False).returncode == 0
