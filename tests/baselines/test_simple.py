"""The baselines that need no partitioner, on cases small enough to work out by hand."""

import numpy as np
import pytest

from suite.core.errors import BudgetExhausted, InputError
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.formats.machine_toml import load_machine
from suite.search.placer import Search
from suite.search.registry import make_placer


def problem_of(ops=4, gpus=2, **graph):
    built = OpGraph.create("g", [f"op{i}" for i in range(ops)], ["Op"] * ops, [], [], **graph)
    return Problem.create(built, load_machine("k40").with_gpus(gpus))


def judge_by(seconds, peak, capacity):
    """A judge for placements of one operation: step time and peak bytes by device."""

    def judge(devices):
        on = devices[:, 0]
        memory = np.zeros((len(on), len(capacity)), np.int64)
        memory[np.arange(len(on)), on] = np.array(peak)[on]
        return Scores(np.array(seconds)[on], (memory > capacity).any(axis=1), memory)

    return judge


def place(name, problem, judge=None, seed=0, budget=None, **parameters):
    search = Search(problem, judge, seed=seed, max_evaluations=budget)
    return make_placer(name, parameters).place(problem, search).devices.tolist(), search


def test_cpu_only_uses_the_cpu():
    assert place("cpu_only", problem_of())[0] == [0, 0, 0, 0]


def test_gpu_only_sends_a_class_without_a_kernel_to_the_cpu():
    problem = problem_of(gpu_kernel=[1, 0, 1, 1], colocation=["v", "v", None, None])
    assert place("gpu_only", problem)[0] == [0, 0, 1, 1]


def test_openvino_takes_the_first_device_of_its_list_that_can():
    problem = problem_of(gpu_kernel=[1, 0, 1, 1], colocation=["v", "v", None, None])
    assert place("openvino_cpu", problem)[0] == [0, 0, 0, 0]
    assert place("openvino_gpu", problem)[0] == [0, 0, 1, 1]


def test_the_expert_is_taken_at_his_word():
    problem = problem_of()
    problem = Problem.create(problem.graph, problem.machine, np.array([2, 1, 0, 2], np.int32))
    assert place("human_expert", problem)[0] == [2, 1, 0, 2]


def test_random_is_uniform_over_the_allowed_devices():
    problem = problem_of(6000, gpus=3, gpu_kernel=[True] * 4000 + [False] * 2000)
    devices = np.array(place("random", problem)[0])
    assert np.bincount(devices[:4000]) == pytest.approx(np.full(4, 1000), rel=0.15)
    assert (devices[4000:] == 0).all()
    assert place("random", problem, seed=1)[0] != devices.tolist()


@pytest.mark.parametrize("batch", [1, 7, 40])
def test_best_of_random_finds_the_best_whatever_the_batch(batch):
    problem = problem_of(1)
    judge = judge_by([3.0, 2.0, 1.0], [1, 1, 9], [5, 5, 5])
    devices, search = place("best_of_random", problem, judge, k=40, batch=batch)
    assert devices == [1]
    assert search.evaluations == 40


def test_best_of_random_without_a_fit_comes_nearest_to_one():
    problem = problem_of(1)
    memory = problem.machine.memory
    judge = judge_by([1.0, 2.0, 3.0], memory * np.array([30, 20, 10]), memory)
    devices, search = place("best_of_random", problem, judge, k=40)
    assert devices == [2]
    assert search.best is None


def test_best_of_random_goes_by_the_fullest_device():
    """One device that is half too full, or three that are by a fifth each."""
    problem = problem_of(1)

    def judge(devices):
        shares = np.where(devices == 0, [1.5, 0, 0], [1.2, 1.2, 1.2])
        peaks = np.int64(shares * problem.machine.memory)
        return Scores(np.ones(len(devices)), np.ones(len(devices), np.bool_), peaks)

    assert place("best_of_random", problem, judge, k=40)[0] != [0]


def test_best_of_random_stops_with_its_budget():
    problem = problem_of(1)
    judge = judge_by([1.0, 2.0, 3.0], [0, 0, 0], [5, 5, 5])
    assert place("best_of_random", problem, judge, budget=7)[1].evaluations == 7
    with pytest.raises(BudgetExhausted, match="at least one"):
        place("best_of_random", problem, judge, budget=0)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("best_of_random", {"k": 0}, "k is 0; give >= 1"),
        ("scotch", {"strategy": "fast"}, "one of default, quality, recursive"),
        ("mincut", {"imbalance": 0.0}, "imbalance is 0.0; give a share"),
        ("metis", {"imbalance": 2.0}, "imbalance is 2.0; give a share"),
    ],
)
def test_bad_parameters_are_refused(name, parameters, message):
    with pytest.raises(InputError, match=message):
        make_placer(name, parameters)
