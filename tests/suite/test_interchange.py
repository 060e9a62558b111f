"""Graphs and placements as files: what is written is read back, what is broken is refused."""

import contextlib
import copy
import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs, placed

from suite.cli import main
from suite.core.arrays import digest
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.graph_json import graph_from_json, graph_to_json
from suite.formats.interchange import read_graph, read_placement, write_graph, write_placement
from suite.formats.json_file import json_lines, sayable
from suite.formats.machine_toml import load_machine
from suite.formats.policy_file import PolicyFile

TWO_OPS = {
    "format": "placebench-graph-1",
    "name": "two_ops",
    "ops": [
        {"name": "a", "type": "MatMul", "seconds": {"cpu": 0.5, "gpu": 0.1}},
        {"name": "b", "type": "Relu", "seconds": {"cpu": 0.5, "gpu": 0.1}},
    ],
    "tensors": [{"producer": "a", "bytes": 1000, "consumers": ["b"], "shape": [10, 25]}],
}
PLACED = {
    "format": "placebench-placement-1",
    "graph": "two_ops",
    "machine": "k40",
    "devices": {"a": "gpu:0", "b": "cpu:0"},
}


def changed(value, *path_and_new):
    """A deep copy with the value at ``path`` replaced (None as the new value: removed)."""
    *path, last, new = path_and_new
    copied = copy.deepcopy(value)
    inner = copied
    for key in path:
        inner = inner[key]
    if new is None:
        del inner[last]
    else:
        inner[last] = new
    return copied


def refusal(read, path, content, *more):
    """The one line with which a file is refused."""
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(InputError) as caught:
        read(path, *more)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


@settings(max_examples=50)
@given(graph=graphs())
def test_a_graph_survives_json(graph):
    again = graph_from_json(json.loads(json.dumps(graph_to_json(graph))))
    assert again.fingerprint == graph.fingerprint


@pytest.mark.parametrize("name", ["g.json", "g.npz"])
def test_a_graph_survives_the_disk(tmp_path, name):
    graph = graph_from_json(TWO_OPS)
    write_graph(graph, tmp_path / name)
    assert read_graph(tmp_path / name).fingerprint == graph.fingerprint


def test_an_npz_keeps_metadata_and_times_and_a_graph_without_operations(tmp_path):
    """The text of no names is that of one empty name, but for the count."""
    graph = replace(graph_from_json(TWO_OPS), metadata={"choices": ["one"]})
    for one in (graph, OpGraph.create("none", [], [], [], [])):
        write_graph(one, tmp_path / "g.npz")
        again = read_graph(tmp_path / "g.npz")
        assert (again.name, again.op_names) == (one.name, one.op_names)
        assert again.metadata == one.metadata
        assert again.seconds.keys() == one.seconds.keys()
        assert again.fingerprint == one.fingerprint


def test_an_npz_that_is_damaged_or_of_another_format_is_refused(tmp_path):
    path = tmp_path / "g.npz"
    write_graph(graph_from_json(TWO_OPS), path)
    whole = path.read_bytes()
    with np.load(path) as data:
        arrays = dict(data)
    header = json.loads(bytes(arrays["header"])) | {"format": "placebench-opgraph-2"}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, **arrays)
    words = r"g\.npz is damaged or not a placebench-opgraph-1 file: format placebench-opgraph-2"
    with pytest.raises(InputError, match=words):
        read_graph(path)
    path.write_bytes(whole[:-100])
    with pytest.raises(InputError, match=r"g\.npz is damaged or not a placebench-opgraph-1 file"):
        read_graph(path)


def test_what_an_npz_says_of_its_graph_can_be_printed_or_is_refused(tmp_path, capsys):
    path = tmp_path / "g.npz"
    write_graph(graph_from_json(TWO_OPS), path)
    with np.load(path) as data:
        arrays = dict(data)
    header = json.loads(bytes(arrays["header"]))
    for change, words in [
        ({"name": 5}, "the header: name is 5; give text"),
        ({"name": None}, "the header: name is None; give text"),
        ({"metadata": []}, "the header: metadata is []; give an object"),
        ({"metadata": {"parameters": "x"}}, "parameters is 'x'; give a whole number"),
        ({"metadata": {"ops_unpruned": "x"}}, "ops_unpruned is 'x'; give a whole number"),
        ({"metadata": {"paper_ops": 1.5}}, "paper_ops is 1.5; give a whole number"),
        ({"metadata": {"choices": 5}}, "choices is 5; give a list"),
        ({"metadata": {"choices": [5]}}, "choices must be a list of texts"),
    ]:
        text = np.frombuffer(json.dumps(header | change).encode(), np.uint8)
        np.savez(path, **arrays | {"header": text})
        for command in (["graph"], ["simulate", "--machine", "k40", "--placer", "cpu_only"]):
            assert main([*command, str(path)]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert str(path) in line
            assert words in line


@pytest.mark.parametrize(
    ("name", "dtype"), [("tensor_bytes", "float64"), ("producer", "int64"), ("seconds/cpu", "<U3")]
)
def test_an_npz_with_numbers_of_another_type_is_refused(tmp_path, name, dtype):
    """They would be cut to fit, and the graph be another one than was written."""
    path = tmp_path / "g.npz"
    write_graph(graph_from_json(TWO_OPS), path)
    with np.load(path) as data:
        arrays = dict(data)
    np.savez(path, **arrays | {name: arrays[name].astype(dtype)})
    with pytest.raises(InputError, match=rf"g\.npz .* {name} is {dtype}; give (float|int)\d+"):
        read_graph(path)


def test_only_names_types_producers_and_consumers_are_required():
    graph = graph_from_json(
        {
            "ops": [{"name": "a", "type": "X"}, {"name": "b", "type": "Y"}],
            "tensors": [{"producer": "a", "consumers": ["b"]}],
        }
    )
    assert graph.op_names == ("a", "b")
    assert graph.name == "graph"
    assert graph.gpu_kernel.all()
    assert not graph.host_memory.any()
    assert graph.tensor_bytes.tolist() == [0]
    assert graph.alias_of.tolist() == [-1]
    assert graph.n_classes == 2


def test_every_field_of_the_json_is_where_it_belongs():
    """Each has a value of its own, so that none can stand in for another."""
    ops = [
        {
            "name": "a",
            "type": "X",
            "flops": 3.0,
            "bytes_touched": 5.0,
            "persistent_bytes": 7,
            "gpu_kernel": False,
            "colocation": "0",
            "seconds": {"cpu": 0.0},
        },
        {
            "name": "b",
            "type": "Y",
            "flops": 11.0,
            "bytes_touched": 13.0,
            "persistent_bytes": 0,
            "gpu_kernel": True,
            "colocation": "0",
        },
    ]
    tensors = [
        {
            "producer": "a",
            "bytes": 17,
            "consumers": ["b"],
            "shape": [0, 19],
            "host_memory": True,
        },
        {
            "producer": "b",
            "bytes": 17,
            "consumers": [],
            "shape": [],
            "host_memory": False,
            "alias_of": 0,
        },
    ]
    written = {"format": "placebench-graph-1", "name": "all", "ops": ops, "tensors": tensors}
    graph = graph_from_json(written)
    assert (graph.name, graph.op_types) == ("all", ("X", "Y"))
    assert (graph.flops.tolist(), graph.bytes_touched.tolist()) == ([3, 11], [5, 13])
    assert graph.persistent_bytes.tolist() == [7, 0]
    assert graph.gpu_kernel.tolist() == [False, True]
    assert graph.n_classes == 1
    # No time is a time; where none is given the cost model decides.
    np.testing.assert_array_equal(graph.seconds["cpu"], [0.0, np.nan])
    assert graph.host_memory.tolist() == [True, False]
    assert graph.alias_of.tolist() == [-1, 0]
    assert graph_to_json(graph) == written


def test_operations_are_sorted_only_where_the_order_is_not_topological():
    backwards = changed(TWO_OPS, "tensors", 0, {"producer": "b", "consumers": ["a"]})
    assert graph_from_json(TWO_OPS).op_names == ("a", "b")
    assert graph_from_json(backwards).op_names == ("b", "a")


OP, TENSOR = ("ops", 0), ("tensors", 0)
BROKEN = [
    ((*OP, "name", 3), "op 0: name is 3; give text"),
    ((*OP, "name", None), "op 0 has no 'name'; add it"),
    ((*OP, "name", "a\nb"), "give one line of text"),
    ((*OP, "name", ""), "op 0: name is ''; give one line of text"),
    ((*OP, "flops", -1), "operation 'a' has flops -1.0; give >= 0"),
    ((*OP, "flops", float("nan")), "operation 'a' has flops nan"),
    (
        (*OP, "flops", 10**400),
        "000000..., which is too large; check units",
    ),
    ((*OP, "flop", 1), "op 0 has the unknown key 'flop'; known: name, type, flops"),
    ((*OP, "persistent_bytes", -4), "operation 'a' has persistent_bytes -4; give >= 0"),
    ((*OP, "persistent_bytes", 2**60), "which is too large; check units"),
    ((*OP, "persistent_bytes", True), "persistent_bytes is True; give a whole number"),
    ((*OP, "gpu_kernel", 1), "gpu_kernel is 1; give true or false"),
    ((*OP, "seconds", {"gpu": -1}), "operation 'a' takes -1 seconds on gpu"),
    ((*OP, "seconds", {"GPU": 1}), "operation 'a' has seconds on 'GPU'; write 'gpu'"),
    ((*OP, "seconds", {"gpu": "fast"}), "operation 'a' takes 'fast' seconds on gpu"),
    ((*OP, "seconds", {"gpu": True}), "operation 'a' takes True seconds on gpu"),
    ((*OP, "seconds", {"gpu": float("inf")}), "'a' takes inf seconds on gpu; give a finite time"),
    ((*OP, "seconds", {"gpu": float("nan")}), "'a' takes nan seconds on gpu; give a finite time"),
    ((*TENSOR, "producer", "z"), "tensor 0 names operation 'z', which is not in ops"),
    ((*TENSOR, "consumers", ["b", 7]), "tensor 0 names operation 7, which is not in ops"),
    ((*TENSOR, "consumers", ["a"]), "the graph has a cycle: a -> a; remove one of these edges"),
    ((*TENSOR, "bytes", -1), "a tensor of operation 'a' has -1 bytes; give >= 0"),
    ((*TENSOR, "bytes", 1.5), "bytes is 1.5; give a whole number"),
    ((*TENSOR, "shape", [2, -1]), "tensor 0: shape has -1; give whole numbers >= 0"),
    ((*TENSOR, "shape", [2, True]), "tensor 0: shape has True; give whole numbers >= 0"),
    ((*TENSOR, "shape", [2**31]), "tensor 0: shape has 2147483648; give whole numbers"),
    ((*TENSOR, "alias_of", 3), "tensor 0: alias_of is 3, but tensors are 0..0"),
    ((*TENSOR, "alias_of", 1), "tensor 0: alias_of is 1, but tensors are 0..0"),
    ((*TENSOR, "alias_of", -1), "tensor 0: alias_of is -1, but tensors are 0..0"),
    ((*TENSOR, "alias_of", 0), "shares the buffer of tensor 0, which that operation does not read"),
    (("ops", {}), "ops is {}; give a list"),
    (("ops", 0, "a"), "op 0 is 'a', not an object"),
    (("tensors", None), "the graph has no 'tensors'; add it"),
    (("opz", []), "the graph has the unknown key 'opz'"),
    (("format", "graph-2"), "format is 'graph-2', not 'placebench-graph-1'"),
]


@pytest.mark.parametrize(("change", "words"), BROKEN)
def test_a_broken_graph_is_refused_in_words(tmp_path, change, words):
    assert words in refusal(read_graph, tmp_path / "g.json", changed(TWO_OPS, *change))


def test_a_graph_of_petabytes_is_refused(tmp_path):
    heavy = changed(TWO_OPS, "tensors", 0, "bytes", 2**53)
    heavy = changed(heavy, "ops", 0, "persistent_bytes", 2**53)
    assert "bytes in all; check units" in refusal(read_graph, tmp_path / "g.json", heavy)


def test_two_operations_of_one_name_are_refused(tmp_path):
    twice = copy.deepcopy(TWO_OPS)
    twice["ops"].append({"name": "a", "type": "Relu"})
    words = refusal(read_graph, tmp_path / "g.json", twice)
    assert "two operations are named 'a'; names must be unique" in words


def test_a_cycle_is_named(tmp_path):
    cyclic = copy.deepcopy(TWO_OPS)
    cyclic["tensors"].append({"producer": "b", "consumers": ["a"]})
    message = refusal(read_graph, tmp_path / "g.json", cyclic)
    assert "cycle: a -> b -> a" in message or "cycle: b -> a -> b" in message


@pytest.mark.parametrize("length", range(0, len(json.dumps(TWO_OPS)), 7))
def test_a_truncated_graph_is_refused(tmp_path, length):
    assert "not whole JSON" in refusal(read_graph, tmp_path / "g", json.dumps(TWO_OPS)[:length])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "not usable JSON"),
        ('{"format": "placebench-graph-1", "ops": ' + "9" * 5000 + "}", "not usable JSON"),
        ("[1, 2]", "format is 'list'"),
        ("\x00", "not whole JSON"),
    ],
)
def test_odd_text_is_refused(tmp_path, text, words):
    assert words in refusal(read_graph, tmp_path / "g.json", text)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "g.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"g\.json is not a text file"):
        read_graph(tmp_path / "g.json")


def test_a_mark_of_the_byte_order_is_no_part_of_the_text(tmp_path):
    """As editors on Windows write it."""
    (tmp_path / "g.json").write_text("\ufeff" + json.dumps(TWO_OPS))
    assert read_graph(tmp_path / "g.json").n_ops == 2


def test_what_json_has_no_words_for_is_null():
    given = {"a": [float("inf"), -float("inf"), float("nan"), 1.5], "b": {"c": (2, "inf", None)}}
    assert sayable(given) == {"a": [None, None, None, 1.5], "b": {"c": [2, "inf", None]}}


def test_what_is_written_a_line_an_entry_is_json_also_where_it_is_empty():
    given = {"a": [], "b": {}, "c": [1, {"d": []}], "e": {"f": "g"}, "h": None}
    assert json.loads(json_lines(given)) == given


@pytest.mark.parametrize("name", ["none.json", "none.npz"])
def test_a_file_that_is_not_there_is_named(tmp_path, name):
    with pytest.raises(InputError, match=f"cannot read .*{name}"):
        read_graph(tmp_path / name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
SPOTS = [
    *(("ops", 0, key) for key in ("name", "flops", "persistent_bytes", "seconds", "colocation")),
    *(("tensors", 0, key) for key in ("producer", "consumers", "bytes", "shape", "alias_of")),
    *((key,) for key in ("name", "ops", "tensors", "format")),
    ("ops", 0),
    ("tensors", 0),
]


@settings(max_examples=300)
@given(spot=st.sampled_from(SPOTS), value=JSON)
def test_whatever_stands_anywhere_it_is_a_graph_or_refused(spot, value):
    spoilt = copy.deepcopy(TWO_OPS)
    inner = spoilt
    for key in spot[:-1]:
        inner = inner[key]
    inner[spot[-1]] = value
    with contextlib.suppress(InputError):
        assert graph_from_json(spoilt).n_ops <= 2


@pytest.fixture
def problem():
    return Problem.create(graph_from_json(TWO_OPS), load_machine("k40").with_gpus(1))


@settings(max_examples=25)
@given(case=placed())
def test_a_placement_survives_json(tmp_path_factory, case):
    problem, devices = case
    path = tmp_path_factory.mktemp("placement") / "p.json"
    write_placement(Placement.of(problem, devices), problem, path)
    assert np.array_equal(read_placement(path, problem).devices, devices)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("devices", "a", None), "no device for 'a' (1 operations missing, 0 unknown)"),
        (("devices", "z", "gpu:0"), "'z' in addition (0 operations missing, 1 unknown)"),
        (("devices", "a", "gpu:7"), "no device 'gpu:7'; it has cpu:0, gpu:0"),
        (("devices", "a", 1), "devices must map operation names to device names"),
        (("devices", ["gpu:0"]), "devices is ['gpu:0']; give an object"),
        (("devices", None), "the placement has no 'devices'; add it"),
        (("device", {}), "unknown key 'device'"),
        (("format", "p"), "format is 'p', not 'placebench-placement-1'"),
    ],
)
def test_a_broken_placement_is_refused_in_words(tmp_path, problem, change, words):
    broken = changed(PLACED, *change)
    assert words in refusal(read_placement, tmp_path / "p.json", broken, problem)


def test_a_placement_must_fit_the_problem(tmp_path):
    machine = load_machine("k40").with_gpus(1)
    no_kernel = Problem.create(
        graph_from_json(changed(TWO_OPS, "ops", 0, "gpu_kernel", False)), machine
    )
    words = refusal(read_placement, tmp_path / "p.json", PLACED, no_kernel)
    assert "operation 'a' (MatMul) has no GPU kernel but is on gpu:0; put it on a CPU" in words
    together = TWO_OPS
    for i in range(2):
        together = changed(together, "ops", i, "colocation", "x")
    joined = Problem.create(graph_from_json(together), machine)
    words = refusal(read_placement, tmp_path / "p.json", PLACED, joined)
    assert "'a' and 'b' must share a device but are on gpu:0 and cpu:0" in words


def without_sizes(path):
    """Write a placement's file again as it was before it said what its tensors have."""
    if path.suffix == ".json":
        path.write_text(json.dumps(changed(json.loads(path.read_text()), "tensor_bytes", None)))
        return
    with np.load(path) as data:
        arrays = dict(data)
    header = changed(json.loads(bytes(arrays["header"])), "tensor_bytes", None)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, **arrays)


@pytest.mark.parametrize("name", ["p.json", "p.npz"])
def test_a_placement_for_tensors_of_other_sizes_is_told(tmp_path, name):
    """As of another batch: its operations have the same names."""
    k40 = load_machine("k40").with_gpus(1)
    larger = copy.deepcopy(TWO_OPS)
    larger["tensors"][0]["bytes"] = 4000
    small, large = (Problem.create(graph_from_json(one), k40) for one in (TWO_OPS, larger))
    path = tmp_path / name
    write_placement(Placement.of(small, np.array([1, 1])), small, path)
    read_placement(path, small)
    with pytest.warns(UserWarning, match=r"tensors have 1,000 bytes in all; here they have 4,000"):
        read_placement(path, large)
    write_placement(Placement.of(large, np.array([1, 1])), large, path)
    with pytest.warns(UserWarning, match=r"tensors have 4,000 bytes in all; here they have 1,000"):
        read_placement(path, small)
    without_sizes(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_placement(path, small).devices.tolist() == [1, 1]


def test_a_placement_of_another_graph_is_not_taken_for_one_of_another_batch(tmp_path, problem):
    other = changed(PLACED, "devices", {"a": "gpu:0", "z": "cpu:0"}) | {"tensor_bytes": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        words = refusal(read_placement, tmp_path / "p.json", other, problem)
    assert "of another graph: it has no device for 'b' (1 operations missing, 1 unknown)" in words
    assert "give --fetch, --batch and --input as when it was made" in words


def test_a_placement_survives_an_npz_and_its_devices_go_by_name(tmp_path):
    graph = graph_from_json(TWO_OPS)
    two, four = (load_machine("k40").with_gpus(gpus) for gpus in (2, 4))
    problem = Problem.create(graph, two)
    placement = Placement.of(problem, np.array([2, 0]))
    write_placement(placement, problem, tmp_path / "p.npz")
    write_placement(placement, problem, tmp_path / "p.json")
    turned = replace(four, devices=four.devices[::-1])
    for machine, devices in ((two, [2, 0]), (four, [2, 0]), (turned, [2, 4])):
        other = Problem.create(graph, machine)
        for name in ("p.npz", "p.json"):
            assert read_placement(tmp_path / name, other).devices.tolist() == devices


def test_an_npz_of_other_operations_devices_or_bytes_is_refused(tmp_path):
    problem = Problem.create(graph_from_json(TWO_OPS), load_machine("k40").with_gpus(2))
    path = tmp_path / "p.npz"
    write_placement(Placement.of(problem, np.array([2, 0])), problem, path)
    other = Problem.create(
        graph_from_json(changed(TWO_OPS, "ops", 1, "type", "Tanh")), problem.machine
    )
    assert read_placement(path, other).devices.tolist() == [2, 0]
    renamed = changed(changed(TWO_OPS, "ops", 1, "name", "z"), "tensors", 0, "consumers", ["z"])
    for graph, machine, words in (
        (renamed, problem.machine, "places other operations than those of two_ops"),
        (TWO_OPS, load_machine("k40").with_gpus(1), "has no device 'gpu:1'"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            read_placement(path, Problem.create(graph_from_json(graph), machine))
        assert str(path) in str(caught.value)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"p\.npz is damaged or not a placebench-placement-1 file"):
        read_placement(path, problem)
    with pytest.raises(InputError, match="no such file"):
        read_placement(tmp_path / "none.npz", problem)


def test_what_only_has_the_name_of_an_archive_is_told_without_advice_to_unpickle_it(tmp_path):
    path = tmp_path / "p.npz"
    path.write_text(json.dumps(TWO_OPS))
    problem = Problem.create(graph_from_json(TWO_OPS), load_machine("k40").with_gpus(1))
    for read in (read_graph, PolicyFile.load, lambda file: read_placement(file, problem)):
        with pytest.raises(InputError, match=r"p\.npz is .*it is no npz archive") as caught:
            read(path)
        assert "pickle" not in str(caught.value)


def test_a_dimension_of_zero_is_read_back(tmp_path):
    graph = OpGraph.create("g", ["a", "b"], ["A", "B"], [0], [(0, 1)], shapes=[(0, 3)])
    write_graph(graph, tmp_path / "g.json")
    assert read_graph(tmp_path / "g.json").fingerprint == graph.fingerprint


@pytest.fixture
def recorded(tmp_path):
    """A grid of one task, run; its record, and the graph's file."""
    write_graph(graph_from_json(TWO_OPS), tmp_path / "g.json")
    text = 'machine = "k40"\n[[task]]\nname = "two"\ngraph = "g.json"\ngpus = 1\n'
    (tmp_path / "mine.toml").write_text(text + '[[placer]]\nname = "gpu_only"\n')
    grid = ["bench", str(tmp_path / "mine.toml"), "--output", str(tmp_path / "out")]
    assert main([*grid, "--workers", "0"]) == 0
    return tmp_path / "out/mine/k40/1gpu/two/gpu_only/seed0.json"


def test_a_record_is_the_placement_of_its_cell(tmp_path, recorded, capsys):
    two = Problem.create(graph_from_json(TWO_OPS), load_machine("k40").with_gpus(2))
    assert read_placement(recorded, two).names(two) == {"a": "gpu:0", "b": "gpu:0"}
    capsys.readouterr()
    asked = ["simulate", str(tmp_path / "g.json"), "--machine", "k40", "--gpus", "1", "--json"]
    assert main([*asked, "--placement", str(recorded)]) == 0
    said = json.loads(capsys.readouterr().out)["step_time"]
    assert said == json.loads(recorded.read_text())["step_time"]


def test_a_record_that_is_not_of_this_graph_or_has_no_placement_is_refused(tmp_path, recorded):
    k40 = load_machine("k40").with_gpus(1)
    problem, path = Problem.create(graph_from_json(TWO_OPS), k40), recorded
    record = json.loads(path.read_text())
    more = copy.deepcopy(TWO_OPS)
    more["ops"].append({**more["ops"][1], "name": "c"})
    other = Problem.create(graph_from_json(more), k40)
    words = refusal(read_placement, path, record, other)
    assert "another graph than 'two_ops' (2 ops for 3" in words
    without = {name: value for name, value in record.items() if name != "placement_hash"}
    words = refusal(read_placement, path, without | {"status": "error"}, problem)
    assert "a cell without a placement ('error')" in words
    words = refusal(read_placement, path, record | {"placement_hash": "0"}, problem)
    assert "is not the one it was made of" in words
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"beside a record; give that, seed0\.json"):
        read_placement(path.with_suffix(".npz"), problem)
    path.with_suffix(".npz").unlink()
    with pytest.raises(InputError, match=r"seed0\.npz is missing or damaged"):
        read_placement(path, problem)


def test_a_record_of_another_batch_is_told(recorded):
    larger = copy.deepcopy(TWO_OPS)
    larger["ops"][0]["flops"] = 1e12
    problem = Problem.create(graph_from_json(larger), load_machine("k40").with_gpus(1))
    with pytest.warns(UserWarning, match="was the batch, an input, a measured time"):
        read_placement(recorded, problem)


def test_a_record_of_as_many_other_operations_is_told(recorded, recwarn):
    machine = load_machine("k40").with_gpus(1)
    problem = Problem.create(graph_from_json(TWO_OPS), machine)
    read_placement(recorded, problem)
    record = json.loads(recorded.read_text())
    untimed = replace(problem.graph, seconds={}).fingerprint
    as_untimed = changed(record, "graph", "fingerprint", untimed)  # the same, where none is timed
    recorded.write_text(json.dumps(as_untimed))
    read_placement(recorded, problem)
    assert not recwarn.list
    recorded.write_text(json.dumps(record))
    renamed = json.loads(json.dumps(TWO_OPS).replace('"a"', '"c"'))
    with pytest.warns(UserWarning, match="the order of operations another"):
        read_placement(recorded, Problem.create(graph_from_json(renamed), machine))


@pytest.mark.parametrize("devices", [[0], [0, 1, 1], [[0, 1]], [-1, 0]])
def test_a_record_beside_devices_of_other_operations_is_refused(recorded, devices):
    array = np.array(devices, np.int32)
    np.savez(recorded.with_suffix(".npz"), devices=array)
    record = json.loads(recorded.read_text())
    recorded.write_text(json.dumps(record | {"placement_hash": digest([array])}))
    problem = Problem.create(graph_from_json(TWO_OPS), load_machine("k40").with_gpus(1))
    with pytest.raises(InputError, match="is not the one it was made of"):
        read_placement(recorded, problem)
