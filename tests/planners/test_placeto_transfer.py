"""Placeto: what was learned on some graphs helps on another."""

from __future__ import annotations

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
    rates = {"learning_rate": 0.02, "last_rate": 0.002}
    every = Simulator(unseen)(every_placement(unseen)).step_time

    def share_that_is_faster(episodes: int) -> float:
        """Than what the policy of so many episodes finds by itself, on average."""
        planner = Placeto(**rates, episodes=episodes, reward="terminal", rounds=1, width=8)
        path = tmp_path / "p.npz"
        policy_of(planner, "placeto", training([six_ops(), six_ops(gpu="1 MB")])).save(path)
        searches = [Search(unseen, Simulator(unseen), seed) for seed in range(4)]
        found = [from_file(planner, path, 0).place(unseen, search).devices for search in searches]
        times = Simulator(unseen)(np.array(found, np.int32)).step_time
        return float((every < times[:, None]).mean())

    assert share_that_is_faster(100) < 0.1 < 0.15 < share_that_is_faster(1)
