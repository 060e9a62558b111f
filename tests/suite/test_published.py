"""The papers' numbers: complete, and consistent with the arithmetic the papers state."""

import re
from statistics import geometric_mean

import pandas as pd
import pytest

from suite.core.errors import InputError
from suite.report.load_records import PUBLISHED as PUBLISHED_COLUMNS
from suite.report.load_records import load_published, read_published

PUBLISHED = load_published()
HDP_PRIOR = ["cpu_only", "gpu_only", "human_expert", "scotch", "mincut"]


def rows(paper: str, table: str) -> pd.DataFrame:
    return PUBLISHED[(PUBLISHED["paper"] == paper) & (PUBLISHED["table"] == table)]


GDP = rows("GDP", "1")
METIS_FITS = {"gdp_rnnlm_2", "gdp_inception_v3", "amoebanet_d"}


def half_unit(digits: str) -> float:
    return 0.5 * 10.0 ** -len(digits.partition(".")[2])


def cell(frame: pd.DataFrame, column: str) -> tuple[float, float]:
    """(value, half a unit of its last printed digit)."""
    row = frame[frame["column"] == column].iloc[0]
    return float(row["value"]), half_unit(row["printed"])


def fastest(frame: pd.DataFrame, columns: list[str]) -> tuple[float, float]:
    known = frame[frame["column"].isin(columns) & (frame["status"] == "ok")]
    row = known.loc[known["value"].idxmin()]
    return float(row["value"]), half_unit(row["printed"])


def explained(
    base: tuple[float, float], new: tuple[float, float], over: str
) -> tuple[float, float]:
    """Smallest and largest percentage that rounding of the printed times allows."""
    gains = [
        100 * (b - n) / (b if over == "base" else n)
        for b in (base[0] - base[1], base[0] + base[1])
        for n in (new[0] - new[1], new[0] + new[1])
    ]
    return min(gains), max(gains)


def is_explained(claim: tuple[float, float], allowed: tuple[float, float]) -> bool:
    return allowed[0] - claim[1] <= claim[0] <= allowed[1] + claim[1]


@pytest.mark.parametrize(
    ("paper", "table", "count"),
    [
        ("HDP", "1", 42),
        ("HDP", "2", 24),
        ("HDP", "models", 12),
        ("ColocRL", "1", 6),
        ("ColocRL", "2", 36),
        ("HSDAG", "1", 9),
        ("Post", "claims", 3),
        ("GDP", "1", 87),
        ("GDP", "models", 2),
        ("GDP", "claims", 4),
        ("GDP", "2", 11),
        ("GDP", "3 batch 2", 6),
        ("GDP", "3 batch 3", 6),
        ("GDP", "3 batch 4", 1),
        ("GDP", "3 batch 5", 1),
        ("GDP", "Figure 2", 30),
        ("GDP", "ablation", 2),
        ("HSDAG", "2", 42),
        ("HSDAG", "3", 30),
        ("HSDAG", "4", 9),
        ("HSDAG", "5", 9),
        ("HSDAG", "6", 11),
        ("Placeto", "run times", 54),
        ("Placeto", "claims", 2),
    ],
)
def test_every_cell_is_there_once(paper, table, count):
    frame = rows(paper, table)
    assert len(frame) == count
    assert not frame.duplicated(["task", "gpus", "column"]).any()
    assert (frame["value"].notna() == (frame["status"] == "ok")).all()


PAPERS = ("HDP", "ColocRL", "GDP", "HSDAG", "Placeto", "Post")
"""Those that were read for these tests; another one's figures are its own file's matter."""


def test_only_words_the_papers_print():
    odd = PUBLISHED[(PUBLISHED["status"] != "ok") & PUBLISHED["paper"].isin(PAPERS)]
    cells = {(r.paper, r.task, r.column, r.status) for r in odd.itertuples()}
    assert cells == {
        ("HDP", "resnet_152", "cpu_only", "not_given"),
        ("HDP", "nmt_2", "gpu_only", "oom"),
        ("HDP", "nmt_4", "gpu_only", "oom"),
        ("HDP", "nmt_8", "gpu_only", "oom"),
        ("ColocRL", "colocrl_nmt", "gpu_only", "oom"),
        *(("GDP", task, "metis", "oom") for task in set(GDP["task"]) - METIS_FITS - {"all"}),
        ("HSDAG", "hsdag_bert", "rnn_based", "oom"),
        ("HSDAG", "hsdag_bert", "rnn_based_speedup", "oom"),
        *(("Placeto", "nmt", one, "oom") for one in ("gpu_only", "human_expert", "scotch")),
    }


def test_evidence_is_marked():
    assert set(PUBLISHED[PUBLISHED["paper"] == "Post"]["evidence"]) == {"ABSTRACT", "REVIEW"}
    read = PUBLISHED[PUBLISHED["paper"].isin(PAPERS) & (PUBLISHED["paper"] != "Post")]
    assert set(read["evidence"]) == {"VERIFIED-IMG", "TEXT", "UNMARKED", "READ-OFF"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("0.5,", '"1,500",'), "mine.csv, line 2: value is '1,500'; give a number or nothing"),
        ((",2,", ",2 GPUs,"), "mine.csv, line 2: gpus is '2 GPUs'; give a number or nothing"),
        (("gpus", "GPUs"), "mine.csv has no column 'gpus'; see the README.md beside it"),
    ],
)
def test_a_slip_in_a_papers_figures_is_named(tmp_path, change, message):
    row = dict.fromkeys(PUBLISHED_COLUMNS, "x") | {"gpus": "2", "value": "0.5", "status": "ok"}
    text = f"{','.join(row)}\n{','.join(row.values())}\n"
    path = tmp_path / "mine.csv"
    path.write_text(text)
    assert read_published(path)["value"].tolist() == [0.5]
    path.write_text(text.replace(*change))
    with pytest.raises(InputError, match=re.escape(message)):
        read_published(path)


def test_hdp_reductions_follow_from_the_printed_times():
    for task, frame in rows("HDP", "1").groupby("task"):
        allowed = explained(fastest(frame, HDP_PRIOR), cell(frame, "hdp"), "base")
        assert is_explained(cell(frame, "runtime_reduction"), allowed), task


def test_hdp_inception_reduction_needs_unrounded_times():
    frame = rows("HDP", "1")
    inception = frame[frame["task"] == "inception_v3"]
    (base, _), (new, _) = fastest(inception, HDP_PRIOR), cell(inception, "hdp")
    assert 100 * (base - new) / base == pytest.approx(13.3, abs=0.05)
    assert cell(inception, "runtime_reduction")[0] == 16.3


def test_hdp_ablation_improvements_follow_from_the_printed_times():
    table1 = rows("HDP", "1")
    for task, frame in rows("HDP", "2").groupby("task"):
        new = cell(table1[table1["task"] == task], "hdp")
        claim = cell(frame, "improvement")
        best = cell(frame, "best")
        assert 100 * (best[0] - new[0]) / best[0] == pytest.approx(claim[0], abs=0.051), task


def test_colocrl_speedups_follow_except_inception_on_four_gpus():
    table, unexplained = rows("ColocRL", "2"), []
    for (task, gpus), frame in table[table["gpus"] > 0].groupby(["task", "gpus"]):
        shared = table[(table["task"] == task) & (table["gpus"] == 0)]
        base = fastest(pd.concat([frame, shared]), [*HDP_PRIOR])
        allowed = explained(base, cell(frame, "colocrl"), "new")
        if not is_explained(cell(frame, "speedup"), allowed):
            unexplained.append((task, gpus))
    assert unexplained == [("colocrl_inception_v3", 4)]


def test_hsdag_degrees_are_edges_per_operation():
    for task, frame in rows("HSDAG", "1").groupby("task"):
        degree, half = cell(frame, "degree")
        exact = cell(frame, "edges")[0] / cell(frame, "operations")[0]
        assert exact == pytest.approx(degree, abs=half + 1e-9), task


def test_hdp_rnnlm_single_device_cells_are_colocrls():
    hdp, colocrl = rows("HDP", "1"), rows("ColocRL", "2")
    for column in ("cpu_only", "gpu_only"):
        ours = cell(hdp[hdp["task"] == "rnnlm"], column)
        assert ours == cell(colocrl[colocrl["task"] == "colocrl_rnnlm"], column)


def gdp_ratios(column: str, other: str) -> tuple[list[str], list[float], list[float]]:
    """(unexplained tasks, other / GDP from the printed seconds, and from the printed speed-ups)."""
    unexplained, seconds, percent = [], [], []
    for task, frame in GDP[GDP["gpus"] > 0].groupby("task", sort=False):
        base, new, claim = cell(frame, other), cell(frame, "gdp"), cell(frame, column)
        if not is_explained(claim, explained(base, new, "new")):
            unexplained.append(str(task))
        seconds.append(base[0] / new[0])
        percent.append(1 + claim[0] / 100)
    return unexplained, seconds, percent


def test_gdps_speedups_follow_but_for_three():
    unexplained, seconds, percent = gdp_ratios("speedup_over_human", "human_expert")
    assert unexplained == ["transformer_xl_4", "transformer_xl_8", "amoebanet_d"]
    assert 100 * (geometric_mean(seconds) - 1) == pytest.approx(15.0, abs=0.05)
    assert 100 * (geometric_mean(percent) - 1) == pytest.approx(16.3, abs=0.05)
    assert cell(GDP[GDP["task"] == "all"], "speedup_over_human")[0] == 16


def test_gdps_mean_over_hdp_is_one_of_percentages():
    unexplained, seconds, percent = gdp_ratios("speedup_over_hdp", "hdp")
    assert unexplained == []
    assert 100 * (geometric_mean(seconds) - 1) == pytest.approx(11.2, abs=0.05)
    printed = cell(GDP[GDP["task"] == "all"], "speedup_over_hdp")
    assert abs(geometric_mean([100 * (p - 1) for p in percent]) - printed[0]) < printed[1]


def test_gdps_mean_search_speedup_follows():
    times = [float(v) for v in GDP[GDP["column"] == "search_speedup"]["value"]]
    assert geometric_mean(times[:-1]) == pytest.approx(times[-1], abs=0.5)
