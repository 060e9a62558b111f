"""The picture of a placement: operations sorted by layer and step, cells split by compute time."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from suite_records import over_capacity, record

from suite.bench.cell import Cell
from suite.bench.load_problem import kept_graph
from suite.bench.record import write_record
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.graph_npz import save_graph
from suite.formats.machine_toml import load_machine
from suite.report.build import write_reports
from suite.report.load_records import load_published, load_records
from suite.report.outcome import middle
from suite.report.plot_style import style
from suite.report.plots import placement_map
from suite.report.unrolled import unroll

SECONDS = {
    "embedding/source/step_0/Gather": 1.0,
    "encoder/layer_0/step_0/MatMul": 3.0,
    "encoder/layer_0/step_0/Tanh": 1.0,
    "encoder/layer_1/step_0/MatMul": 2.0,
    "encoder/layer_1/step_1/MatMul": 2.0,
    "decoder/layer_0/step_1/MatMul": 2.0,
    "softmax/step_1/MatMul": 1.0,
    "gradients/encoder/layer_0/step_0/MatMul_grad/MatMul": 4.0,
    "ConstantFolding/gradients/encoder/layer_0/step_0/concat_grad/ConcatOffset": 1.0,
    "gradients/AddN_3": 2.0,
    "encoder/layer_0/kernel/adam/ResourceApplyAdam": 1.0,
}
DEVICES = np.array([0, 1, 2, 3, 4, 1, 1, 2, 1, 1, 1], np.int32)


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


@pytest.fixture
def graph():
    names = list(SECONDS)
    times = {kind: list(SECONDS.values()) for kind in ("cpu", "gpu")}
    return OpGraph.create("nmt_4", names, ["Op"] * len(names), [], [], n_tensors=0, seconds=times)


def save(results, graph, placer, seconds, seed=0, devices=DEVICES, **more):
    made = record("nmt_4", placer, seconds, seed, grid="reference", **more)
    made |= {"graph": made["graph"] | {"fingerprint": graph.fingerprint}}
    write_record(made, devices, Cell(**made["cell"]).path(results))


def keep(results, graph):
    save_graph(graph, kept_graph(results / "reference", "nmt_4", graph.fingerprint))


def texts(results):
    """Title, and every other line of text that a reader sees apart from ticks."""
    with style():
        figure = placement_map.plot(load_records(results), load_published())
    return figure, [figure.get_suptitle(), *(text.get_text() for text in figure.texts)]


@pytest.mark.parametrize(("times", "nearest"), [([5.0, 1.0, 2.0], 2), ([9.0, 4.0, 5.0, 1.0], 1)])
def test_the_record_in_the_middle_stands_for_all(times, nearest):
    """Nearest to the median, the first of several; whatever failed does not count."""
    rows = [{"status": "ok", "step_time": t, "seed": i} for i, t in enumerate(times)]
    rows.insert(0, {"status": "oom", "step_time": 1e9, "seed": 99})
    assert middle(pd.DataFrame(rows))["seed"] == nearest


def test_operations_are_sorted_by_layer_step_and_pass(graph):
    problem = Problem.create(graph, load_machine("k40").with_gpus(4))
    found = unroll(problem, DEVICES)
    assert found.layers == (
        *("embedding/source", "encoder/layer_0", "encoder/layer_1"),
        *("decoder/layer_0", "softmax"),
    )
    assert found.seconds.shape == (2, 5, 2, 5)
    assert found.seconds[0, 1, 0].tolist() == [0, 3, 1, 0, 0]
    assert found.shares[0, 1, 0].tolist() == [0, 0.75, 0.25, 0, 0]
    assert found.shares[1, 1, 0].tolist() == [0, 0.2, 0.8, 0, 0]
    assert found.shares[0, 2, 1].tolist() == [0, 0, 0, 0, 1]
    assert not found.shares[1, 2].any()
    assert found.elsewhere == pytest.approx(3 / 20)


def test_the_fastest_placement_of_hdp_is_drawn(results, graph):
    keep(results, graph)
    save(results, graph, "hdp", 2.0, 0, np.zeros_like(DEVICES))
    save(results, graph, "hdp", 1.5, 1)
    save(results, graph, "hdp", 1.0, 2, **over_capacity("nmt_4"))
    figure, (title, *_) = texts(results)
    whose = "HDP (grid reference, seed 1), 1.50 s a step, the fastest of 2 seeds"
    assert title == f"NMT (4-layer), 4 GPUs: {whose}"
    forward = figure.axes[0]
    assert [tick.get_text() for tick in forward.get_yticklabels()] == [
        *("source embedding", "encoder 1", "encoder 2", "decoder 1", "softmax")
    ]
    first = [bars[0].get_height() for bars in forward.containers[5:10]]
    assert first == pytest.approx([0, 0.75 * 0.86, 0.25 * 0.86, 0, 0])
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == ["cpu:0, 6%", "gpu:0, 41%", "gpu:1, 29%", "gpu:2, 12%", "gpu:3, 12%"]


def test_before_hdp_has_one_the_experts_is_drawn(results, graph):
    keep(results, graph)
    save(results, graph, "human_expert", 1.25)
    assert "Human Expert" in texts(results)[1][0]
    save(results, graph, "hdp", 1.5)
    assert "HDP" in texts(results)[1][0]


def refusal(results):
    """Why there is no figure."""
    with pytest.raises(InputError) as told:
        texts(results)
    return str(told.value)


def test_without_a_record_there_is_no_figure(results):
    assert refusal(results) == "no valid placement of hdp or human_expert is recorded"


def test_a_missing_graph_is_said_not_captured(results, graph, tmp_path):
    save(results, graph, "hdp", 1.5)
    assert "`placebench graph nmt_4` captures it" in refusal(results)
    assert not (tmp_path / "cache").exists()


def test_a_good_picture_stays_where_the_graph_is_missing(results, graph, tmp_path):
    save(results, graph, "hdp", 1.5)
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "placement_map.png").write_bytes(b"drawn elsewhere")
    report = write_reports(results, reports)
    assert (reports / "placement_map.png").read_bytes() == b"drawn elsewhere"
    assert "(placement_map.png)" in (reports / "README.md").read_text()
    [line] = [line for line in report.lines if line.startswith("placement_map is not drawn: ")]
    assert "`placebench graph nmt_4` captures it" in line
    [left] = [line for line in report.lines if "of an earlier report" in line]
    assert left.endswith("placement_map.png")


def test_another_graph_is_not_drawn_in_its_place(results, graph):
    save(results, graph, "hdp", 1.5)
    other = OpGraph.create("nmt_4", ["a"], ["Op"], [], [], n_tensors=0)
    save_graph(other, kept_graph(results / "reference", "nmt_4", graph.fingerprint))
    assert "is not the recorded one" in refusal(results)


def test_a_damaged_placement_is_named_without_its_path(results, graph):
    keep(results, graph)
    save(results, graph, "hdp", 1.5)
    next(Path(results).rglob("seed0.npz")).write_bytes(b"")
    line = refusal(results)
    assert line.startswith("the placement of reference/nmt_4/hdp/seed0 is missing or damaged")
    assert str(results) not in line
