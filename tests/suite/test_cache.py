"""Captured graphs survive the disk, and damage to them is noticed and mended."""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs

from suite.capture.cache import graph_def_path, graph_path, load_graph, missing
from suite.cli import main
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.graph_checks import ARRAYS
from suite.formats.graph_npz import load_graph_file, save_graph
from suite.search.registry import tasks

pytestmark = pytest.mark.xdist_group("cache")
"""What these tests share takes long to make: one process makes it."""

TASK = "rnnlm_small"


def assert_same(graph, other):
    assert graph.fingerprint == other.fingerprint
    assert graph.name == other.name
    assert graph.metadata == other.metadata
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(graph, name), getattr(other, name))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("graphs")


def example(**arguments):
    return OpGraph.create(
        "small", ["a", "b/c:d é"], ["A", "B"], [0], [(0, 1)], tensor_bytes=8, **arguments
    )


@settings(max_examples=50)
@given(graphs())
def test_a_saved_graph_comes_back(folder, graph):
    path = folder / "random.npz"
    save_graph(graph, path)
    assert_same(load_graph_file(path), graph)


def test_metadata_and_an_empty_graph_come_back(tmp_path):
    empty = OpGraph.create("empty", [], [], [], [])
    for graph in (empty, example(metadata={"choices": ["one"], "paper_ops": None})):
        save_graph(graph, tmp_path / "g.npz")
        assert_same(load_graph_file(tmp_path / "g.npz"), graph)


def test_saving_twice_gives_the_same_bytes_and_leaves_nothing_else(tmp_path):
    for name in ("one.npz", "two.npz"):
        save_graph(example(), tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.npz", "two.npz"]


@settings(max_examples=300)
@given(st.integers(0, 10**6), st.integers(1, 255), st.booleans())
def test_damage_is_an_input_error_or_harmless(folder, position, change, truncate):
    """One byte changed, or the end cut off: never another graph, never another exception."""
    path = folder / "damaged.npz"
    save_graph(example(), path)
    data = bytearray(path.read_bytes())
    position %= len(data)
    data[position] ^= change
    path.write_bytes(data[:position] if truncate else data)
    try:
        graph = load_graph_file(path)
    except InputError as error:
        message = str(error)
    else:
        message = str(path)
        assert_same(graph, example())
    assert str(path) in message


def rewrite(path, **changes):
    """Replace entries of a graph file; None drops one."""
    with np.load(path) as data:
        entries = dict(data) | changes
    np.savez(path, **{k: v for k, v in entries.items() if v is not None})


def text(value):
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


@pytest.mark.parametrize(
    "changes",
    [
        {"flops": None},
        {"flops": np.zeros(7)},
        {"flops": np.array(["x", "y"])},
        {"flops": np.zeros((2, 2))},
        {"seconds/gpu": np.zeros(3)},
        {"consumers": np.array([9])},
        {"consumer_offsets": np.array([0, 5])},
        {"consumer_offsets": np.array([1, 0])},
        {"alias_of": np.array([3])},
        {"header": text({"format": "placebench-opgraph-0"})},
        {"header": text({"format": "placebench-opgraph-1"})},
        {"header": text([])},
        {"header": np.array([255], np.uint8)},
        {"op_names": np.frombuffer(b"a", np.uint8)},
    ],
    ids=str,
)
def test_inconsistent_files_are_refused_by_name(tmp_path, changes):
    path = tmp_path / "g.npz"
    save_graph(example(), path)
    rewrite(path, **changes)
    with pytest.raises(InputError, match=r"g\.npz"):
        load_graph_file(path)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache folder that holds one captured task.

    It was captured from a working folder in which a user has a ``suite`` and ``models`` of theirs.
    """
    theirs = tmp_path_factory.mktemp("theirs")
    for package in ("suite", "models"):
        (theirs / package).mkdir()
        (theirs / package / "__init__.py").write_text("raise SystemExit('not ours')")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLACEBENCH_CACHE", str(tmp_path_factory.mktemp("cache") / "new"))
        patch.chdir(theirs)
        assert missing([TASK, TASK]) == [TASK]
        load_graph(TASK)
        yield


@pytest.mark.usefixtures("cache")
def test_a_captured_task_has_its_graph_and_its_graph_def():
    from tensorflow.core.framework.graph_pb2 import GraphDef

    graph = load_graph(TASK)
    assert missing([TASK]) == []
    names = {
        n.name for n in GraphDef.FromString(gzip.decompress(graph_def_path(TASK).read_bytes())).node
    }
    assert names == set(graph.op_names)


def test_a_captured_task_is_the_papers_model():
    """Two LSTM layers of 2048 units, embedding and softmax of 10,000 words; Adam's two slots."""
    graph, model = load_graph("rnnlm"), tasks()["rnnlm"]
    weights = 2 * (4096 * 8192 + 8192) + 10_000 * 2048 + 2048 * 10_000 + 10_000
    assert graph.metadata["parameters"] == weights
    assert graph.persistent_bytes.sum() == 4 * (3 * weights + 2)
    assert graph.metadata["task"] == "rnnlm"
    assert graph.metadata["paper_ops"] == model.paper_ops
    assert graph.metadata["choices"] == list(model.choices)
    assert graph.metadata["ops_unpruned"] > graph.n_ops


@pytest.mark.usefixtures("cache")
def test_a_hit_loads_no_tensorflow():
    code = (
        "import sys; from suite.capture.cache import load_graph;"
        f" graph = load_graph({TASK!r}); print(graph.fingerprint);"
        " sys.exit(any(m.partition('.')[0] in ('tensorflow', 'keras') for m in sys.modules))"
    )
    child = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout.strip() == load_graph(TASK).fingerprint


@pytest.mark.usefixtures("cache")
def test_a_graph_whose_graph_def_is_gone_is_captured_again():
    definition = graph_def_path(TASK).read_bytes()
    graph_def_path(TASK).unlink()
    assert missing([TASK]) == [TASK]
    load_graph(TASK)
    assert graph_def_path(TASK).read_bytes() == definition


@pytest.mark.usefixtures("cache")
def test_a_damaged_entry_is_captured_again_with_a_warning():
    """The new capture, made by another process, is the same to the byte."""
    path = graph_path(TASK)
    whole, before = path.read_bytes(), load_graph(TASK)
    definition = graph_def_path(TASK).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.warns(UserWarning, match=f"damaged.*; capturing {TASK} again"):
        assert_same(load_graph(TASK), before)
    assert path.read_bytes() == whole
    assert graph_def_path(TASK).read_bytes() == definition


def test_an_unknown_task_is_refused_with_a_suggestion():
    with pytest.raises(InputError, match=r"no task 'rnlm'; did you mean 'rnnlm'\?"):
        load_graph("rnlm")


@pytest.mark.parametrize("model", ["net.pb", "rnnlm_small"])
def test_where_captures_cannot_be_kept_one_line_says_what_to_do(
    model, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.pb").write_bytes(b"of no matter")
    (tmp_path / "file").touch()
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path / "file" / "cache"))
    assert main(["graph", model]) == 2
    told = capsys.readouterr().err
    assert "captures cannot be kept in" in told
    assert told.endswith("Not a directory; set PLACEBENCH_CACHE to a folder that can be written\n")
    assert told.count("\n") == 1
