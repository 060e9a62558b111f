"""The papers' tables with TensorFlow 1.3's graphs: which cells were fitted, and what else fits."""

import pytest
from suite_records import GPUS, record

from suite.bench.cell import Cell
from suite.bench.record import write_record
from suite.report import colocrl, hdp
from suite.report.comparison import Row
from suite.report.load_records import load_published, load_records
from suite.report.tables import colocrl_table2_tf13, hdp_table1, hdp_table1_tf13, hypotheses

PAPER = "The paper's table"
ENGINES, SHARED = "Placeto's", "both, one shared channel"


def built(module, folder, records):
    for one in records:
        write_record(one, None, Cell(**one["cell"]).path(folder))
    return module.table(load_records(folder), load_published())


def rows_of(page, title):
    section = next(s for s in page.sections if s.title == title)
    return [dict(zip(section.header, row, strict=True)) for row in section.rows]


def tf13_record(task, placer, seconds, **more):
    cell = {"grid": "hdp_tf13", "machine": "k40_tf13", "gpus": GPUS[task], "placer": placer}
    return record(task, placer, seconds, **{"cell": cell | {"task": f"{task}_tf13", "seed": 0}})


@pytest.mark.parametrize(
    ("world", "task", "placer", "basis"),
    [
        (hdp.TODAY, "nmt_2", "cpu_only", "fitted"),
        (hdp.TODAY, "nmt_2", "scotch", "predicted"),
        (hdp.TF13, "nmt_2_tf13", "scotch", "fitted"),
        (hdp.TF13, "nmt_2_tf13", "human_expert", "fitted"),
        (hdp.TF13, "rnnlm_tf13", "human_expert", "fitted"),
        (hdp.TODAY, "rnnlm", "human_expert", "fitted"),
        (hdp.TODAY, "nmt_2", "human_expert", "predicted"),
        (hdp.TF13, "nmt_2_tf13", "hdp", "predicted"),
        (colocrl.TF13, "colocrl_nmt_tf13", "gpu_only", "fitted"),
        (colocrl.TF13, "colocrl_nmt_tf13", "scotch", "held out"),
        (colocrl.TF13, "colocrl_nmt_tf13", "colocrl", "held out"),
    ],
)
def test_it_is_known_which_cells_were_fitted(world, task, placer, basis):
    assert world.of(Row(task, 2, "", ""), placer) == basis


def test_each_cell_says_whether_it_was_fitted(tmp_path):
    records = [tf13_record("nmt_2", placer, 2.0) for placer in ("cpu_only", "scotch", "hdp")]
    records += [tf13_record("rnnlm", "human_expert", 2.0)]
    rows = rows_of(built(hdp_table1_tf13, tmp_path, records), PAPER)
    nmt = next(row for row in rows if row["Tasks"] == "NMT (2-layer)")
    assert nmt["CPU Only [1]"] == "2.00 (6.46, x0.31) f"
    assert nmt["Scotch"] == "2.00 (3.21, x0.62) f"
    assert nmt["Hierarchical Planner [6]"] == "2.00 (0.84, x2.38) p"
    rnnlm = next(row for row in rows if row["Tasks"] == "RNNLM")
    assert rnnlm["Human Expert [4]"] == "2.00 (1.57, x1.27) f"


def test_the_worlds_do_not_mix(tmp_path):
    here = [tf13_record("nmt_2", "scotch", 2.0), record("nmt_2", "scotch", 1.0)]
    today = rows_of(built(hdp_table1, tmp_path, here), PAPER)
    then = rows_of(built(hdp_table1_tf13, tmp_path, here), PAPER)
    cells = [
        next(r["Scotch"] for r in rows if r["Tasks"] == "NMT (2-layer)") for rows in (today, then)
    ]
    assert [cell.split()[0] for cell in cells] == ["1.00", "2.00"]


def test_what_was_fitted_is_summed_up_apart(tmp_path):
    """Scotch and MinCut twice as slow as published, one up, one down: a mean error of 2."""
    times = {"scotch": 2 * 3.21, "mincut": 5.34 / 2, "hdp": 3 * 0.84}
    records = [tf13_record("nmt_2", placer, seconds) for placer, seconds in times.items()]
    page = built(hdp_table1_tf13, tmp_path, records)
    assert "mean error x2.00 (n=2)" in page.notes[0]
    assert "x3.00" in page.notes[1]


def test_a_search_that_ends_on_one_device_has_a_fitted_time(tmp_path):
    """It agrees with the paper as well as the fit does; what is left is a prediction."""
    there = [("rnnlm", "gpu_only", 1.5), ("rnnlm", "hdp", 1.501), ("nmt_2", "hdp", 2 * 0.84)]
    page = built(hdp_table1_tf13, tmp_path, [tf13_record(*one) for one in there])
    assert "1 of 2 medians are within 1% of what one device alone takes" in page.notes[1]
    assert "(RNNLM)" in page.notes[1]
    assert page.notes[1].endswith("The others: mean error x2.00 (n=1).")
    page = built(hdp_table1_tf13, tmp_path / "none", [tf13_record(*there[2])])
    assert "one device alone" not in page.notes[1]


def hypothesis_records(factors):
    """All cells of both papers at the published seconds times a factor of each hypothesis."""
    published = load_published()
    for paper, (number, where) in hypotheses.PAPERS.items():
        printed = published[(published["paper"] == paper) & (published["table"] == number)]
        for task, gpus in printed[printed["gpus"] > 0][["task", "gpus"]].drop_duplicates().values:
            for placer in hypotheses.PLACERS:
                mine = printed[(printed["task"] == task) & (printed["column"] == placer)]
                seconds = mine[mine["gpus"].isin([0, gpus])]["value"].iloc[0]
                facts = {
                    name: {
                        **{"latency": 1e-3, "latency_interval": [5e-4, 2e-3]},
                        **{"bandwidth": 5e8, "bandwidth_interval": [5e8, 1e9]},
                        "step_time": seconds * factor if seconds == seconds else 1.0,
                        "fits": True,
                        "several": placer in ("scotch", "mincut"),
                    }
                    for name, factor in factors.items()
                }
                cell = Cell("hypotheses", where.machine, int(gpus), f"{task}_tf13", placer, 0)
                yield {
                    "format": "placebench-record-1",
                    "cell": cell.as_dict(),
                    "status": "ok",
                    "step_time": 1.0,
                    "planner": facts,
                    "code": {"digest": "c"},
                    "provenance": {},
                    "backend": "simulator",
                }


def test_hypotheses_have_their_error_where_fitted_and_where_held_out(tmp_path):
    page = built(hypotheses, tmp_path, hypothesis_records({ENGINES: 1 / 4, SHARED: 2.0}))
    rows = rows_of(page, "Hypotheses")
    assert [row["Hypothesis"] for row in rows] == [ENGINES, SHARED]
    assert rows[0]["HDP, fitted: error"] == "x4.00 (bias x0.25, n=12)"
    assert rows[1]["ColocRL, held out: error"] == "x2.00 (bias x2.00, n=12)"
    assert rows[0]["latency, ms"] == "1 [0.5-2]"
    assert rows[0]["bandwidth, GB/s"] == "0.5 [0.5-1]"
    same, _, pairs = rows[0]["pairs as published"].split()
    assert same == pairs
    assert page.found == page.expected == 60


@pytest.mark.parametrize(
    ("factors", "unexplained"), [((1 / 4, 3.0), 24), ((1 / 4, 1.5), 0), ((1 / 4, 1 / 3), 24)]
)
def test_what_no_hypothesis_explains_is_listed(tmp_path, factors, unexplained):
    names = dict(zip((ENGINES, SHARED), factors, strict=True))
    page = built(hypotheses, tmp_path, hypothesis_records(names))
    rows = rows_of(page, "What none explains")
    assert len(rows) == unexplained
    assert {(row["nearest"], row["under"]) for row in rows} <= {(f"x{factors[1]:.2f}", SHARED)}


def test_colocrls_links_are_held_out(tmp_path):
    cell = {"grid": "colocrl_tf13", "machine": "k80_tf13", "gpus": 2, "placer": "scotch"}
    mine = record("nmt_2", "scotch", 7.0, cell=cell | {"task": "colocrl_nmt_tf13", "seed": 0})
    rows = rows_of(built(colocrl_table2_tf13, tmp_path, [mine]), PAPER)
    assert "7.00 (14.19, x0.49) h" in [row["Scotch"] for row in rows]
