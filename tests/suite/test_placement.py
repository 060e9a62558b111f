"""A placement that exists is valid; one that is not is refused with the operation's name."""

import json

import numpy as np
import pytest
from six_ops import six_ops

from suite.core.errors import BudgetExhausted, InputError
from suite.core.graph import OpGraph
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.formats.machine_toml import load_machine, machine_from_table
from suite.formats.placement_npz import load_placement, save_placement
from suite.search.placer import Search
from suite.simulator.judges import make_simulator
from suite.simulator.semantics import preset
from suite.simulator.timeline import timeline


@pytest.fixture
def problem():
    graph = OpGraph.create(
        "g",
        ["a", "b", "c"],
        ["MatMul", "Relu", "Where"],
        [0, 1],
        [(0, 1), (1, 2)],
        gpu_kernel=[True, True, False],
        colocation=["v", "v", None],
    )
    return Problem.create(graph, load_machine("k40").with_gpus(2))


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        (np.ones((3, 2)), r"seconds are \[3, 2\]; give \[3, 3\]"),
        ([[1, 1, 1], [1, np.nan, 1], [1, np.inf, np.inf]], "'b' takes nan s on gpu:0; give 0 or"),
        ([[1, 1, 1], [1, 1, -1], [1, np.inf, np.inf]], "'b' takes -1 s on gpu:1; give 0 or more"),
    ],
)
def test_seconds_that_mean_nothing_are_refused(problem, seconds, message):
    with pytest.raises(InputError, match=message):
        Problem(problem.graph, problem.machine, np.array(seconds))


def test_an_operation_goes_nowhere_where_its_seconds_are_infinite(problem):
    """Else a step would be faster there than the proven bound."""
    seconds = np.array([[1, np.inf, 1], [1, 1, 1], [1, np.inf, np.inf]])
    made = Problem(problem.graph, problem.machine, seconds)
    assert Placement.of(made, np.array([2, 2, 0])).devices.tolist() == [2, 2, 0]
    with pytest.raises(InputError, match="'a' cannot run on gpu:0, where its seconds are inf"):
        Placement.of(made, np.array([1, 1, 0]))


@pytest.mark.parametrize("name", ["placebench", "hetero"])
def test_a_simulator_refuses_what_is_no_device(problem, name):
    """A kernel would write where a wrong number points."""
    judge = make_simulator(problem, preset(name))
    good = np.array([1, 1, 0])
    assert judge.run(good).step_time == judge(good[None]).step_time[0]
    for bad, message in {
        (-1, 1, 0): "an operation is on device -1; k40 has 0..2",
        (1, 3, 0): "an operation is on device 3; k40 has 0..2",
        (1, 1): "2 devices for 3 operations",
        (0.5, 1.0, 0.0): "devices are of type float64; give whole numbers",
    }.items():
        for call in (judge.run, lambda devices: judge(devices[None])):
            with pytest.raises(InputError, match=message):
                call(np.array(bad))


@pytest.mark.parametrize("name", ["placebench", "hetero"])
def test_a_simulator_takes_placements_as_they_are(problem, name):
    judge = make_simulator(problem, preset(name))
    one, other = (Placement.of(problem, np.array(row)) for row in ([1, 1, 0], [0, 0, 0]))
    assert judge.run(one).same_as(judge.run(one.devices))
    rows = np.array([one.devices, other.devices])
    assert (judge([one, other]).step_time == judge(rows).step_time).all()
    assert timeline(problem, one, semantics=preset(name)).result.same_as(judge.run(one))
    for call, message in (
        (lambda: judge(one), r"a batch is a sequence of placements; give \[placement\]"),
        (lambda: judge(one.devices), r"a batch has the shape \(3,\); give a row for each"),
        (lambda: judge.run(rows), r"devices have the shape \(2, 3\); give one for each operation"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_names_round_trip(problem):
    placement = Placement.of(problem, np.array([1, 1, 0]))
    names = placement.names(problem)
    assert names == {"a": "gpu:0", "b": "gpu:0", "c": "cpu:0"}
    assert Placement.of_names(problem, names).hash == placement.hash


def test_classes_move_as_one(problem):
    assert Placement.of_classes(problem, np.array([2, 0])).devices.tolist() == [2, 2, 0]


def test_a_class_may_go_where_all_its_operations_may(problem):
    assert problem.allowed.tolist() == [[True, True, True], [True, False, False]]


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ([1, 1], "needs 3 devices"),
        ([1, 1, 5], "'c' is on device 5"),
        ([1, 1, 1], r"'c' \(Where\) has no GPU kernel"),
        ([1, 2, 0], "'a' and 'b' must share"),
    ],
)
def test_an_invalid_placement_is_refused(problem, devices, message):
    with pytest.raises(InputError, match=message):
        Placement.of(problem, np.array(devices))


@pytest.mark.parametrize("kind", [bool, float, object, str])
def test_devices_are_whole_numbers(problem, kind):
    given = np.zeros(3).astype(kind)
    with pytest.raises(InputError, match="give one whole number, the device, for each operation"):
        Placement.of(problem, given)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"a": "gpu:0", "z": "gpu:0"}, r"no device for 'b' \(2 operations missing, 1 unknown\)"),
        (
            {"z": "cpu:0", "a": "gpu:0", "b": "gpu:0", "c": "cpu:0", "y": "cpu:0"},
            r"'z' in addition \(0 operations missing, 2 unknown\); give --fetch, --batch and --inp",
        ),
        ({"a": "gpu:9", "b": "gpu:9", "c": "cpu:0"}, "no device 'gpu:9'; it has cpu:0, gpu:0"),
    ],
)
def test_invalid_names_are_refused(problem, names, message):
    with pytest.raises(InputError, match=message):
        Placement.of_names(problem, names)


def test_of_several_unknown_operations_the_first_of_the_file_is_named(problem):
    """Whatever the order in which this run of Python keeps a set."""
    names = {"a": "gpu:0", "b": "gpu:0", "c": "cpu:0"}
    others = dict.fromkeys(reversed("defghijklmnopqrstuvwxyz"), "cpu:0")
    with pytest.raises(InputError, match="it has 'z' in addition"):
        Placement.of_names(problem, names | others)


def judge(devices):
    """Step time = number of operations on gpu:1; too much for the memory when all three fit."""
    on = (devices == 2).sum(axis=1)
    return Scores(1.0 + on, on == 0, np.zeros((len(devices), 3), np.int64))


def test_search_counts_remembers_and_stops(problem):
    search = Search(problem, judge, max_evaluations=3)
    search.evaluate(np.array([[1, 1, 0], [2, 2, 0]]))
    assert search.best_time == 3
    assert search.best.devices.tolist() == [2, 2, 0]
    assert [entry[0] for entry in search.history] == [2]
    with pytest.raises(BudgetExhausted):
        search.evaluate(np.array([[2, 2, 0], [2, 2, 0]]))
    assert search.evaluations == 2


def test_search_refuses_to_score_an_invalid_placement(problem):
    with pytest.raises(InputError, match="must share"):
        Search(problem, judge).evaluate(np.array([[1, 2, 0]]))


def test_a_device_behind_the_last_name_of_a_file_is_refused(tmp_path):
    problem, path = six_ops(), tmp_path / "p.npz"
    save_placement(Placement.of(problem, np.zeros(6, np.int32)), problem, path)
    with np.load(path) as data:
        header = data["header"]
    np.savez(path, header=header, devices=np.array([0, 1, 2, 3, 0, 0], np.uint8))
    with pytest.raises(InputError, match="device 3 has no name among 3"):
        load_placement(path, problem)


@pytest.mark.parametrize(
    ("change", "devices", "words"),
    [
        ({"format": "placebench-placement-2"}, np.zeros(6, np.uint8), "format placebench-placemen"),
        # A device of -1 would be the last one.
        ({}, np.full(6, -1, np.int8), r"devices are int8\[6\]"),
        ({}, np.zeros((2, 3), np.uint8), r"devices are uint8\[2, 3\]"),
    ],
)
def test_arrays_that_are_no_placement_are_refused(tmp_path, change, devices, words):
    problem, path = six_ops(), tmp_path / "p.npz"
    save_placement(Placement.of(problem, np.zeros(6, np.int32)), problem, path)
    with np.load(path) as data:
        header = json.loads(bytes(data["header"])) | change
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, header=text, devices=devices)
    with pytest.raises(InputError, match=rf"p\.npz is damaged or not a .* file: {words}"):
        load_placement(path, problem)


def test_devices_behind_what_a_byte_can_number_are_kept(tmp_path):
    speeds = {"memory": 1, "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
    table = {
        "device": [{"name": name, "kind": "cpu", "count": 129, **speeds} for name in ("a", "b")],
        "link": [{"bandwidth": 1, "latency": 0}],
    }
    machine, path = machine_from_table(table), tmp_path / "p.npz"
    graph = OpGraph.create("g", ["a", "b"], ["A", "B"], [0], [(0, 1)])
    problem = Problem.create(graph, machine)
    save_placement(Placement.of(problem, np.array([255, 257])), problem, path)
    assert load_placement(path, problem).devices.tolist() == [255, 257]
