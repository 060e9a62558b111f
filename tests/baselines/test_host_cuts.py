"""What the host takes over: against every division of small problems, and by hand."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hand_made import chains
from hypothesis import given, settings
from six_ops import device
from strategies import problems

from baselines.annealing import Annealing
from baselines.local_search import host_cuts
from baselines.local_search.host_cuts import HostCuts
from baselines.local_search.settling import Settling
from baselines.local_search.walks import Walks
from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator

HOST_PRICE, TRANSFER_PRICE = 1.5, 0.25


def cuts(problem: Problem) -> HostCuts:
    return HostCuts(problem, Settling(problem))


def cost(problem: Problem, sides: Ints) -> float:
    """Priced seconds of a division: 0 is the CPU, 1 the first GPU, int[n_classes]."""
    graph, link_of = problem.graph, problem.machine.link_of
    priced = problem.class_seconds[:, :2] * [HOST_PRICE, 1.0]
    total = float(priced[np.arange(len(sides)), sides].sum())
    tensors, consumers = graph.edges
    for tensor in range(len(graph.producer)):
        home = sides[graph.colocation[graph.producer[tensor]]]
        readers = sides[graph.colocation[consumers[tensors == tensor]]]
        if (readers != home).any():
            link = link_of[int(home), 1 - int(home)]
            nanoseconds = (link.latency + int(graph.tensor_bytes[tensor]) / link.bandwidth) * 1e9
            # A transfer takes whole nanoseconds, one at least, here as in the simulator.
            total += TRANSFER_PRICE * max(1, round(nanoseconds)) / 1e9
    return total


@settings(max_examples=80)
@given(problem=problems(max_ops=8, min_gpus=1, max_gpus=1))
def test_no_division_costs_less_at_these_prices(problem: Problem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_cuts, "OF_HOST", (HOST_PRICE,))
        patch.setattr(host_cuts, "OF_TRANSFERS", (TRANSFER_PRICE,))
        taken = cuts(problem).taken
    sides = [np.flatnonzero(allowed[:2]) for allowed in problem.allowed]
    divisions = [np.array(row, np.int64) for row in product(*sides)]
    costs = [cost(problem, row) for row in divisions]
    least = min(costs)
    # Costs are counted in whole numbers, which a nanosecond is split into finely enough.
    best = [row for row, each in zip(divisions, costs, strict=True) if each <= least * (1 + 1e-6)]
    if taken:
        (mine,) = taken
        assert cost(problem, np.where(mine, 0, 1)) <= least * (1 + 1e-6)
        assert problem.class_seconds[mine, 0].sum() <= problem.class_seconds[~mine, 1].sum()
    else:
        spent = problem.class_seconds
        assert any(
            (row == 1).all() or spent[row == 0, 0].sum() > spent[row == 1, 1].sum() for row in best
        )


def test_a_chain_is_taken_as_a_whole_though_no_link_of_it_alone_pays() -> None:
    problem = chains(gpus=2)
    small, lone = np.arange(1, 11), 12
    expected = np.zeros(13, np.bool_)
    expected[small] = True
    with_lone = expected.copy()
    with_lone[lone] = True
    # Alone, the lone operation saves 8 of 10 microseconds and costs a transfer: at a quarter of its
    # price (3.75) it moves while a second of the host costs up to 3 (6 + 3.75 < 10), and at a tenth
    # (1.5) at 4 also (8 + 1.5 < 10). The chain saves 80 for two transfers, whatever the prices.
    found = [taken.tolist() for taken in cuts(problem).taken]
    assert sorted(found) == sorted([expected.tolist(), with_lone.tolist()])
    row = np.full(13, 2)
    hosted = cuts(problem).hosted(row, found.index(expected.tolist()))
    assert hosted[small].tolist() == [0] * 10
    assert hosted[[0, 11]].tolist() == [2, 2]


@pytest.mark.parametrize("count", [0, 1, 2, 4, 9])
def test_all_cuts_are_tried_on_the_first_and_the_best_of_them_on_the_others(count: int) -> None:
    problem = chains(gpus=2)
    found = cuts(problem)
    ranked = [np.full(13, 1), np.full(13, 2), np.where(np.arange(13) < 6, 1, 2)]
    simulator = Simulator(problem)

    def seconds(rows: list[Ints]) -> list[float]:
        return [float(simulator.run(row[problem.graph.colocation]).step_time) for row in rows]

    versions = found.versions(ranked, count, seconds)
    on_first = [found.hosted(ranked[0], at) for at in range(2)]
    best = int(np.argmin(seconds(on_first)))
    rows = [*on_first, *(found.hosted(row, best) for row in ranked[1:])][:count]
    assert [row.tolist() for _, row in versions] == [row.tolist() for row in rows]
    assert [each for each, _ in versions] == seconds(rows)


def test_without_a_gpu_or_a_cpu_beside_it_nothing_is_taken() -> None:
    assert cuts(chains(gpus=0)).taken == []
    devices = [device(f"gpu:{i}", "1 GB") for i in range(2)]
    link = {"bandwidth": 1e9, "latency": 1e-6, "channel": "pair"}
    gpus = machine_from_table({"name": "gpus", "device": devices, "link": [link]})
    assert cuts(Problem.create(chains(gpus=1).graph, gpus)).taken == []


def test_each_gpu_s_operations_go_to_the_cpu_that_is_nearest_to_it() -> None:
    devices = [device(name, "1 GB") for name in ("cpu:0", "cpu:1", "gpu:0", "gpu:1")]
    link = {"bandwidth": 1e9, "channel": "pair"}
    links = [{**link, "latency": 1e-4}]
    for cpu, gpu in (("cpu:0", "gpu:1"), ("cpu:1", "gpu:0")):
        links += [
            {**link, "latency": 1.5e-5, "from": start, "to": end}
            for start, end in ((cpu, gpu), (gpu, cpu))
        ]
    two_hosts = machine_from_table({"name": "hosts", "device": devices, "link": links})
    problem = Problem.create(chains(gpus=1).graph, two_hosts)
    found = cuts(problem)
    for gpu, cpu in ((2, 1), (3, 0)):
        hosted = found.hosted(np.full(13, gpu), 0)
        assert hosted[1:11].tolist() == [cpu] * 10
        assert hosted[[0, 11]].tolist() == [gpu, gpu]


@pytest.mark.parametrize(
    ("large_on_gpu", "evaluations", "walks"), [(1e-4, 1000, 4), (9e-4, 1000, 1), (9e-4, 125, 1)]
)
def test_as_many_walks_start_where_the_host_takes_over_as_that_saves(
    large_on_gpu: float, evaluations: int, walks: int
) -> None:
    # Of 200 microseconds of a large operation and its chain the host saves 50, and of 1,000.
    problem = chains(gpus=2, times=12, large_on_gpu=large_on_gpu)

    def search() -> Walks:
        judge = Search(problem, Simulator(problem), 0, max_evaluations=evaluations)
        return Annealing(starts=("gpu_only",)).walks_of(problem, judge)

    plain, hosted = search()._judged()
    fastest, faster = (min(cost for cost, _ in kind) for kind in (plain, hosted))
    chosen = [row.tobytes() for _, row in search().starts()]
    there = {row.tobytes() for _, row in hosted}
    assert len(chosen) == evaluations // 125
    assert sum(row in there for row in chosen) == walks
    assert math.ceil(len(chosen) * min(0.5, 2 * (1 - faster / fastest))) == walks


def test_a_share_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"hosted is 1; give a share, 0 to below 1"):
        Annealing(hosted=1)
