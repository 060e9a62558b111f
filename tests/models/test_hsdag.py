"""HSDAG's networks: as large as the paper's, with the work that is known of them."""

import numpy as np
import pytest

pytest.importorskip("openvino", reason="the extra openvino is not installed")

from suite.capture.openvino.read import as_stored
from suite.capture.openvino.to_graph import to_graph
from suite.report.load_records import load_published
from suite.report.tables.hsdag_table1 import AIMS
from suite.search.registry import task

WORDS, WIDTH, LAYERS = 8, 768, 12
DENSE = LAYERS * (4 * WIDTH**2 + 2 * 4 * WIDTH**2) * WORDS + WIDTH**2
ATTENTION = LAYERS * 2 * WORDS**2 * WIDTH
MULTIPLICATIONS = {
    "hsdag_resnet50": ("Convolution", 7.63e9),
    "hsdag_inception_v3": ("Convolution", 5.71e9),
    "hsdag_bert": ("MatMul", DENSE + ATTENTION),
}
"""Of 299 x 299 pixels: torchvision's count for 224 (4.09e9) by area; its own; by hand."""


@pytest.fixture(scope="module", params=AIMS)
def graph(request):
    """One of the three, built once."""
    return to_graph(as_stored(task(request.param).build()), request.param)


def published(name, column):
    rows = load_published()
    found = rows[(rows["paper"] == "HSDAG") & (rows["task"] == name) & (rows["column"] == column)]
    return float(found["value"].iloc[0])


def test_it_has_the_papers_operations_and_edges(graph):
    aim = AIMS[graph.name]
    assert abs(graph.n_ops / published(graph.name, "operations") - 1) <= aim
    assert abs(len(graph.consumers) / published(graph.name, "edges") - 1) <= aim


def test_it_has_the_work_that_is_known_of_it(graph):
    kind, multiplications = MULTIPLICATIONS[graph.name]
    work = graph.flops[np.array(graph.op_types) == kind].sum()
    assert work == pytest.approx(2 * multiplications, rel=0.02)
