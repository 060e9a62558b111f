"""Baechi's placers on cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from six_ops import six_ops

from baselines.m_etf import MEtf
from baselines.m_topo import MTopo
from suite.core.errors import Unsupported
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator


def devices(placer: MEtf | MTopo, problem: Problem) -> list[int]:
    search = Search(problem, Simulator(problem))
    return np.asarray(placer.place(problem, search).devices).tolist()


def test_topological_fill_stops_at_its_share_plus_the_largest() -> None:
    # Six variables of 1,000 bytes and four tensors of 1,000: a0 a1 b0 b1 need 2,000 bytes, a2 b2
    # 1,000, 10,000 in all. Two GPUs: cap 5,000 + 2,000, so a0 a1 a2 b0 (7,000) and b1 b2.
    assert devices(MTopo(), six_ops()) == [1, 1, 1, 1, 2, 2]


def test_earliest_task_first_gives_each_chain_its_gpu() -> None:
    # a0 and b0 start at 0 on the two GPUs; what follows starts first where its input is.
    assert devices(MEtf(), six_ops()) == [1, 1, 1, 2, 2, 2]


def test_earliest_task_first_respects_memory() -> None:
    # 3,500 bytes a GPU: a0 takes 2,000 of one and b0 of the other; a1 needs 2,000 beside a0.
    with pytest.raises(Unsupported, match="no GPU has room for 'a1' and what must be with it"):
        devices(MEtf(), six_ops(gpu="3.5 kB"))
    assert devices(MEtf(), six_ops(gpu="4 kB")) == [1, 1, 1, 2, 2, 2]
