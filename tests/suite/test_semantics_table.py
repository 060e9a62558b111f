"""Table ``semantics``: rankings of recorded placements under every semantics."""

import math

import pytest
from suite_records import over_capacity, record, write

from suite.core.statistics import order_agreement
from suite.report.load_records import load_published, load_records
from suite.report.tables.semantics import table


def scored(task, placer, *seconds, seed=0, **more):
    """A record with its step times under placebench, placeto, baechi and grappler."""
    names = ("placebench", "placeto", "baechi", "grappler")
    verdicts = {
        name: {"step_time": s, "oom": more.get("oom", []) if name == "placebench" else []}
        for name, s in zip(names, seconds, strict=True)
    }
    return record(task, placer, seconds[0], seed, under_semantics=verdicts, **more)


@pytest.fixture
def build(tmp_path):
    """The table of some records."""

    def built(*records):
        write(tmp_path, *records)
        return table(load_records(tmp_path), load_published())

    return built


def cells(built, section, task):
    """Column head -> cell, of a task's row."""
    part = built.sections[section]
    row = next(row for row in part.rows if row[0].startswith(task))
    return dict(zip(part.header, row, strict=True))


RECORDS = (
    scored("rnnlm", "scotch", 1.0, 1.0, 3.0, 1.0),
    scored("rnnlm", "metis", 2.0, 2.0, 2.0, 1.0),
    scored("rnnlm", "mincut", 3.0, 3.0, 1.0, 4.0),
)


def test_tau_counts_pairs_that_change_places(build):
    row = cells(build(*RECORDS), 0, "RNNLM")
    assert row["placers"] == "3"
    assert row["placeto"] == "1.00 (0 of 3)"
    assert row["baechi"] == "-1.00 (3 of 3)"
    # Scotch and METIS tie: 2 pairs agree, of 3 x 2 decided ones.
    assert row["grappler"] == f"{2 / math.sqrt(6):.2f} (0 of 2)"


def test_tasks_without_a_record_have_no_row(build):
    """A grid's own report, such as that of ``quick``, is not filled with rows that say nothing."""
    built = build(*RECORDS)
    assert [len(section.rows) for section in built.sections] == [1, 1, 1, 1]
    assert built.expected > built.found


def test_the_fastest_and_the_ratios_are_shown(build):
    built = build(*RECORDS)
    fastest = cells(built, 1, "RNNLM")
    assert fastest["placebench"] == "scotch"
    assert fastest["baechi"] == "mincut"
    assert fastest["grappler"] == "scotch = metis"
    assert cells(built, 2, "RNNLM")["baechi"] == "x1.00 (0.33-3.00)"
    ties = built.data[built.data["semantics"] == "grappler"].set_index("placer")["rank"]
    assert ties.to_dict() == {"scotch": 1, "metis": 1, "mincut": 3}


def test_placers_rank_by_the_median_over_the_seeds_that_fit(build):
    seeds = [scored("rnnlm", "random", t, t, t, t, seed=i) for i, t in enumerate((0.1, 5, 6))]
    over = over_capacity("rnnlm")
    late = scored("rnnlm", "random", 0.1, 0.1, 0.1, 0.1, seed=3, **over)
    data = build(*RECORDS, *seeds, late).data
    ours = data[(data["placer"] == "random") & (data["semantics"] == "placebench")]
    assert ours["step_time"].tolist() == [5]
    assert ours["rank"].tolist() == [4]


def test_placers_whose_placements_do_not_fit_are_named_not_ranked(build):
    over = over_capacity("rnnlm")
    built = build(*RECORDS, scored("rnnlm", "gpu_only", *[0.1] * 4, **over))
    assert cells(built, 0, "RNNLM")["placers"] == "3"
    assert cells(built, 3, "RNNLM") == {
        **{"Tasks": "RNNLM (k40)", "placements": "4", "placebench": "1", "grappler": "0"}
    }
    assert any("not ranked: gpu_only" in note for note in built.notes)


def test_records_that_do_not_say_are_missing(build):
    built = build(*RECORDS, record("rnnlm", "cpu_only", 9.0))
    assert built.found == 3
    assert cells(built, 0, "RNNLM")["placers"] == "3"
    assert built.notes[0].startswith("Table 1 of HDP, machine `k40`: **Incomplete**: 3 of ")
    assert any("placebench rescore" in note for note in built.notes)


def test_no_records_give_an_empty_page(build):
    built = build()
    assert [len(section.rows) for section in built.sections] == [0, 0, 0, 0]
    assert built.found == 0
    assert built.data.empty


@pytest.mark.parametrize(
    ("ours", "theirs", "tau", "pairs", "reversed_"),
    [
        ([1, 2, 3], [10, 20, 30], 1, 3, 0),
        ([1, 2, 3], [3, 2, 1], -1, 3, 3),
        ([1, 2, 3, 4], [1, 3, 2, 4], 4 / 6, 6, 1),
        ([1, 1, 2], [1, 2, 2], 0.5, 1, 0),
        ([1, 1], [1, 2], math.nan, 0, 0),
        ([], [], math.nan, 0, 0),
    ],
)
def test_kendalls_tau(ours, theirs, tau, pairs, reversed_):
    agreement = order_agreement(ours, theirs)
    assert agreement.tau == pytest.approx(tau, nan_ok=True)
    assert (agreement.pairs, agreement.reversed) == (pairs, reversed_)
