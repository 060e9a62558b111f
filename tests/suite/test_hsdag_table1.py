"""HSDAG's Table 1: counts beside the paper's, and whether they are as near as they should be."""

import pytest
from suite_records import record, write

from suite.report.build import build_table

PAPER = {"hsdag_inception_v3": (728, 764), "hsdag_resnet50": (396, 411), "hsdag_bert": (1009, 1071)}


def counted(results, **other):
    """The table of records with the paper's counts but for the ``other`` ones."""
    for task, counts in (PAPER | other).items():
        graph = dict(zip(("ops", "edges"), counts, strict=True)) | {
            "name": task,
            "fingerprint": "f",
        }
        write(results, record(task, "gpu_only", 1.0, grid="hsdag_table1", graph=graph))
    return build_table("hsdag_table1", results)


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def test_the_papers_counts_are_exact(results):
    table = counted(results)
    inception, resnet, bert = table.sections[0].rows
    assert resnet == (
        "ResNet",
        "396 (396, exact)",
        "411 (411, exact)",
        "1.04 (1.04)",
        "exact",
        "yes",
    )
    assert inception[-1] == bert[-1] == "yes"
    assert (table.found, table.expected) == (3, 3)


@pytest.mark.parametrize(
    ("task", "row", "counts", "met"),
    [
        ("hsdag_resnet50", 1, (396, 412), "no"),
        ("hsdag_inception_v3", 0, (726, 762), "yes"),
        ("hsdag_inception_v3", 0, (724, 764), "no"),
        ("hsdag_bert", 2, (979, 1039), "yes"),
        ("hsdag_bert", 2, (979, 1038), "no"),
    ],
)
def test_each_graph_has_an_aim_of_its_own(results, task, row, counts, met):
    table = counted(results, **{task: counts})
    assert table.sections[0].rows[row][-1] == met


def test_what_is_not_counted_yet_is_missing(results):
    table = build_table("hsdag_table1", results)
    assert table.sections[0].rows[1][1:3] == ("missing (396)", "missing (411)")
    assert table.found == 0
