"""Policies of several graphs: trained, killed, saved, loaded, placed, fine-tuned, refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fan import fan
from lessons import Planner, from_file, policy_of, training
from six_ops import every_placement, six_ops

from planners.features.class_graph import ClassGraph
from planners.gdp import GDP, Networks, Policy
from planners.gdp_tuned import GDPTuned
from planners.placeto import Placeto
from planners.policy_gradient.ppo import softening
from planners.policy_gradient.trained import Trained
from suite.core.errors import BudgetExhausted, InputError, Unsupported
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.policy_file import PolicyFile
from suite.search.checkpoint import Checkpoint
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

pytestmark = pytest.mark.usefixtures("uncompiled")
SMALL = {"width": 6, "heads": 2, "hops": 1, "layers": 0, "segment": 4}
SMALL |= {"samples": 4, "updates": 2, "epochs": 1}
VISITS = Placeto(width=6, rounds=1, episodes=3, reward="terminal")
PLANNERS = [(GDP(**SMALL), "gdp"), (GDPTuned(**SMALL), "gdp_tuned"), (VISITS, "placeto")]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy trained on two graphs of three devices."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    path = tmp_path_factory.mktemp("policies") / "two.npz"
    policy_of(GDP(**SMALL | {"layers": 1}), "gdp", training([six_ops(), fan()])).save(path)
    return path


def place(
    planner: Planner, problem: Problem, budget: int | None = None
) -> tuple[list[int], Search]:
    search = Search(problem, Simulator(problem), 3, budget)
    return planner.place(problem, search).devices.tolist(), search


@pytest.mark.parametrize(("planner", "name"), PLANNERS)
def test_a_policy_is_the_same_bit_for_bit_when_trained_again_and_when_read(
    planner: Planner, name: str, tmp_path: Path
) -> None:
    problems, path = [six_ops(), six_ops(cpu=None)], tmp_path / "p.npz"
    made = [policy_of(planner, name, training(problems)) for _ in range(2)]
    assert made[0].digest == made[1].digest
    made[0].save(path)
    read = PolicyFile.load(path)
    assert (read.digest, read.devices) == (made[0].digest, ((0, 2), (1, 2)))
    for key, array in made[0].weights.items():
        np.testing.assert_array_equal(read.weights[key], array)
    for problem in problems:
        first, search = place(from_file(planner, path, 0), problem)
        assert first == place(from_file(planner, path, 0), problem)[0]
        assert search.evaluations == 0
        assert place(from_file(planner, path, 1), problem)[1].evaluations > 0


def test_training_moves_the_weights_and_finds_something_of_each_graph(file: Path) -> None:
    made, graphs = PolicyFile.load(file), [ClassGraph(six_ops()), ClassGraph(fan())]
    fresh = Networks.of(graphs, GDP(**SMALL | {"layers": 1}), np.random.default_rng(7)).variables
    moved = [np.abs(made.weights[str(i)] - np.asarray(v)).max() for i, v in enumerate(fresh)]
    assert min(moved) > 0
    assert [lesson.evaluations for lesson in made.lessons] == [8, 8]
    for problem, lesson, answer in zip([six_ops(), fan()], made.lessons, made.answers, strict=True):
        assert answer is not None
        assert Simulator(problem).run(answer.astype(np.int32)).step_time == lesson.best_time


@pytest.mark.parametrize(("planner", "name"), PLANNERS[1:])
def test_a_killed_training_goes_on_to_the_same_policy(
    planner: Planner, name: str, tmp_path: Path
) -> None:
    problems = [six_ops(), fan()]
    whole = policy_of(planner, name, training(problems))
    path = tmp_path / "c.npz"
    with pytest.raises(KeyboardInterrupt):
        planner.train(training(problems, Checkpoint(path, "mine", 0), calls=1))
    again = training(problems, Checkpoint(path, "mine", 0))
    assert again.taken_up
    assert policy_of(planner, name, again).digest == whole.digest
    evaluations = [lesson.evaluations for lesson in whole.lessons]
    assert [search.evaluations for search in again.searches] == evaluations


def test_a_budget_below_one_update_is_refused() -> None:
    lessons = training([six_ops()])
    lessons.searches[0].max_evaluations = 3
    with pytest.raises(BudgetExhausted, match="no graph's budget"):
        GDP(**SMALL).train(lessons)


def test_a_gradient_that_overflows_ends_a_training() -> None:
    with pytest.raises(InputError, match="overflowed on six; lower the learning_rate"):
        GDPTuned(**SMALL, imitation=1e39).train(training([six_ops()]))


def test_a_type_that_was_not_in_training_has_an_embedding_of_zeros(file: Path) -> None:
    problem = six_ops()
    graph = problem.graph
    types = ["Conv2D", *graph.op_types[1:]]
    names, seconds = graph.op_names, {"cpu": np.full(6, 0.5), "gpu": np.full(6, 0.1)}
    other = OpGraph.create("other", names, types, [0], [(0, 1)], tensor_bytes=8, seconds=seconds)
    unseen = Problem.create(other, problem.machine)
    planner = GDP(policy=str(file), updates=0)
    devices, search = place(planner, unseen)
    assert search.notes["unknown_types"] == 1
    assert len(devices) == 6
    learned = Trained.load(planner, GDP.NETWORK, unseen)
    networks = Networks(learned.settings, learned.vocabulary, 3, np.random.default_rng(0))
    told = Policy(ClassGraph(unseen), np.arange(6), networks).told
    assert told.types.sum(axis=1).tolist() == [0, 1, 1, 1, 1, 1]


def collapsed(file: Path, path: Path, device: int) -> Path:
    """The same policy, but certain that everything belongs on one device."""
    made = PolicyFile.load(file)
    weights = dict(made.weights)
    at = next(k for k, v in weights.items() if v.shape == (3,))
    weights[at] = np.where(np.arange(3) == device, 500, 0).astype(np.float32)
    replace(made, weights=weights).save(path)
    return path


def test_a_policy_that_has_collapsed_is_fine_tuned_to_the_optimum(
    file: Path, tmp_path: Path
) -> None:
    """Left as it is, it draws the same placement for ever."""
    problem = fan()
    path = collapsed(file, tmp_path / "c.npz", 0)
    certain, _ = place(GDP(policy=str(path), updates=0), problem)
    assert certain == [0] * 6
    settings = {"policy": str(path), "learning_rate": 0.01, "samples": 20, "epochs": 1}
    stuck, _ = place(GDP(**settings, least_entropy=0), problem, 60)
    assert stuck == certain
    found, search = place(GDP(**settings), problem, 300)
    optimum = Simulator(problem)(every_placement(problem)).step_time.min()
    assert Simulator(problem).run(np.array(found, np.int32)).step_time == optimum
    assert search.notes["logits_divided_by"] > 10
    assert search.history[0][0] == 1  # the likeliest placement comes first


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_logits_are_divided_until_the_entropy_is_what_is_asked(share: float) -> None:
    logits = np.random.default_rng(0).normal(0, 300, (20, 4))
    divided = logits / softening(logits, share)
    chances = np.exp(divided - divided.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    entropy = -(chances * np.log(np.maximum(chances, 1e-300))).sum(axis=1).mean()
    assert entropy == pytest.approx(share * np.log(4), rel=1e-6)


def test_a_policy_that_is_uncertain_enough_stays_as_it_is() -> None:
    assert softening(np.array([[0.0, 0.1], [0.3, 0.0]]), 0.5) == 1.0


def test_fewer_devices_have_the_first_columns_of_more() -> None:
    problems = [six_ops(), six_ops(cpu=None)]
    graphs = [ClassGraph(problem) for problem in problems]
    networks = Networks.of(graphs, GDP(**SMALL), np.random.default_rng(0))
    for variable in networks.head.variables:
        variable.assign(np.random.default_rng(1).normal(size=variable.shape))
    three, two = (Policy(graph, np.arange(6), networks).logits().numpy() for graph in graphs)
    assert three.shape == (6, 3)
    np.testing.assert_array_equal(two, three[:, :2])


def test_what_does_not_fit_is_refused_in_one_line(file: Path, tmp_path: Path) -> None:
    def refusal(planner: str, path: Path, problem: Problem, **more: object) -> str:
        with pytest.raises(InputError) as refused:
            make_placer(planner, {"policy": str(path), **more}).place(
                problem, Search(problem, Simulator(problem))
            )
        assert "\n" not in str(refused.value)
        return str(refused.value)

    refused = refusal("gdp", file, six_ops(cpu=None))
    assert "trained with 1 CPU and 2 GPU, here are 0 CPU and 2 GPU" in refused
    assert "is one of gdp, not of gdp_tuned" in refusal("gdp_tuned", file, six_ops())
    assert "has width 6, not 8; leave width out" in refusal("gdp", file, six_ops(), width=8)
    assert "there is no policy" in refusal("gdp", tmp_path / "none.npz", six_ops())
    text = tmp_path / "text.npz"
    text.write_text("no policy")
    assert "is no policy of `placebench train`" in refusal("gdp", text, six_ops())
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, head=np.array([{"format": "x"}], object))
    assert "is no policy of `placebench train`" in refusal("gdp", pickled, six_ops())
    np.savez(pickled, head=np.array("[]"))
    assert "is no policy of `placebench train`" in refusal("gdp", pickled, six_ops())
    whole = file.read_bytes()
    text.write_bytes(whole[: len(whole) // 2])
    assert "is no policy of `placebench train`" in refusal("gdp", text, six_ops())


def test_as_many_devices_of_other_kinds_are_others(file: Path) -> None:
    """Trained with a CPU and two GPUs, whose columns three GPUs would take."""
    problem = six_ops()
    gpus = tuple(replace(problem.machine.devices[1], name=f"gpu:{i}") for i in range(3))
    three = Problem.create(problem.graph, replace(problem.machine, devices=gpus))
    with pytest.raises(InputError, match="with 1 CPU and 2 GPU, here are 0 CPU and 3 GPU"):
        place(GDP(policy=str(file), updates=0), three)


def test_weights_of_other_shapes_are_refused(file: Path, tmp_path: Path) -> None:
    made, path = PolicyFile.load(file), tmp_path / "w.npz"
    for weights in ({**made.weights, "0": made.weights["0"][:, :-1]}, {"0": made.weights["0"]}):
        replace(made, weights=weights).save(path)
        with pytest.raises(InputError, match="has other weights; train it again"):
            place(GDP(policy=str(path), updates=0), six_ops())


def test_the_best_met_in_training_is_that_of_the_graph_on_the_machine(
    file: Path, tmp_path: Path
) -> None:
    made, path = PolicyFile.load(file), tmp_path / "m.npz"
    lessons = tuple(replace(one, evaluations=8 + i) for i, one in enumerate(made.lessons))
    replace(made, lessons=lessons).save(path)
    remembered = GDP(policy=str(path), updates=0, remembered=True)
    for at, problem in enumerate((six_ops(), fan())):
        devices, search = place(remembered, problem)
        answer = made.answers[at]
        assert answer is not None
        assert devices == answer.tolist()
        assert search.notes["evaluations_in_training"] == 8 + at
    with pytest.raises(Unsupported, match="was not trained on this graph and machine"):
        place(remembered, six_ops(gpu="2 GB"))
    replace(made, answers=(None, made.answers[1])).save(path)
    with pytest.raises(Unsupported, match="met no placement of this graph that fits"):
        place(remembered, six_ops())


def test_a_file_whose_weights_were_changed_is_damaged(file: Path, tmp_path: Path) -> None:
    with np.load(file) as data:
        arrays = dict(data)
    arrays["weights/0"] = arrays["weights/0"] + 1
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(InputError, match="damaged: its digest is another one"):
        PolicyFile.load(tmp_path / "other.npz")


def test_no_updates_without_a_policy_is_refused() -> None:
    with pytest.raises(InputError, match="updates is 0; give >= 1, or a policy"):
        GDP(updates=0)
    with pytest.raises(InputError, match="remembered goes with a policy and 0 updates"):
        GDP(remembered=True)
