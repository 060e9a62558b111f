"""Placeto: what was learned on some graphs helps on another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from fan import fan
from lessons import from_file, policy_of, training
from six_ops import every_placement, six_ops

from planners.placeto import Placeto
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator


def test_placeto_learns_on_two_graphs_what_helps_on_a_third(tmp_path: Path) -> None:
    unseen = fan()
    small = Placeto(reward="terminal", rounds=1, width=8, learning_rate=0.02, last_rate=0.002)
    every = Simulator(unseen)(every_placement(unseen)).step_time

    def share_that_is_faster(episodes: int) -> float:
        """Than what the policy of so many episodes finds by itself, on average."""
        planner = replace(small, episodes=episodes)
        path = tmp_path / "p.npz"
        policy_of(planner, "placeto", training([six_ops(), six_ops(gpu="1 MB")])).save(path)
        searches = [Search(unseen, Simulator(unseen), seed) for seed in range(4)]
        found = [from_file(planner, path, 0).place(unseen, search).devices for search in searches]
        times = Simulator(unseen)(np.array(found, np.int32)).step_time
        return float((every < times[:, None]).mean())

    assert share_that_is_faster(100) < 0.1 < 0.15 < share_that_is_faster(1)


def test_a_policy_that_has_collapsed_learns_again(tmp_path: Path) -> None:
    """Left as it is, it visits the same placement for ever."""
    problem, path = fan(), tmp_path / "p.npz"
    planner = Placeto(reward="terminal", rounds=1, width=8, learning_rate=0.02, episodes=2)
    made = policy_of(planner, "placeto", training([six_ops(), six_ops(gpu="1 MB")]))
    [last] = [name for name, array in made.weights.items() if array.shape == (3,)]
    certain = dict(made.weights) | {last: np.array([500, 0, 0], np.float32)}
    replace(made, weights=certain).save(path)

    def found(episodes: int, least_entropy: float = 0.75) -> tuple[list[int], Search]:
        learned = replace(planner, policy=str(path))
        placer = replace(learned, episodes=episodes, least_entropy=least_entropy)
        search = Search(problem, Simulator(problem), 0)
        return placer.place(problem, search).devices.tolist(), search

    assert found(0)[0] == [0] * 6
    assert found(30, least_entropy=0)[0] == [0] * 6
    devices, search = found(200)
    optimum = Simulator(problem)(every_placement(problem)).step_time.min()
    assert Simulator(problem).run(np.array(devices, np.int32)).step_time < 1.5 * optimum
    assert search.notes["logits_divided_by"] > 10
    cpu_alone = Simulator(problem).run(np.zeros(6, np.int32)).step_time
    first, _, judged = search.history[0]
    assert (first, judged) == (1, cpu_alone)  # the likeliest placement comes first
