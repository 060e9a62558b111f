"""How records compare with a reference, in one line."""

import pytest

from suite.bench.record import FORMAT, write_record
from suite.bench.reference import compare_with_reference
from suite.core.errors import InputError

CELLS = [f"quick/k40/2gpu/nmt_2/{placer}/seed0" for placer in ("scotch", "metis", "hdp", "m_etf")]


def record(step_time=2.0, status="ok", seconds=None, **more):
    placed = {"step_time": step_time, "placement_hash": "abc", "evaluations": 3}
    return {
        "format": FORMAT,
        "status": status,
        "budget": {"evaluations": None, "seconds": seconds},
        "graph": {"fingerprint": "g"},
        "wall_seconds": 4.0,
        **placed,
        **more,
    }


@pytest.fixture
def folders(tmp_path):
    return tmp_path / "runs", tmp_path / "results"


def write(folder, **by_placer):
    for placer, content in by_placer.items():
        write_record(content, None, folder / f"quick/k40/2gpu/nmt_2/{placer}/seed0.json")


def test_equal_records(folders):
    for folder in folders:
        write(folder, scotch=record(), metis=record(status="skipped", step_time=None))
    assert compare_with_reference(*folders).line() == (
        "2 of 2 cells equal to the bit; 0 differ; 0 missing;"
        " by the clock: 2 planning times, median x1.00"
    )


def test_differences_are_named_the_farthest_first(folders):
    mine, reference = folders
    write(reference, scotch=record(), metis=record(), hdp=record(), m_etf=record())
    write(mine, scotch=record(2.0000001), metis=record(2.1), hdp=record(placement_hash="xyz"))
    write(mine, m_etf=record(None, "error", wall_seconds=None))
    compared = compare_with_reference(*folders)
    assert compared.equal == ()
    assert list(compared.differ.items()) == [
        (CELLS[3], "error instead of ok"),
        (CELLS[1], "+5 %"),
        (CELLS[0], "+5e-06 %"),
        (CELLS[2], "same step time, other placement_hash"),
    ]
    assert compared.line().startswith("0 of 4 cells equal to the bit; 4 differ (")


def test_many_differences_stay_on_one_line(folders):
    mine, reference = folders
    write(reference, **{f"p{i}": record() for i in range(40)})
    write(mine, **{f"p{i}": record(3.0) for i in range(40)})
    line = compare_with_reference(*folders).line()
    assert "40 differ" in line
    assert "34 more" in line
    assert "\n" not in line


def test_another_graph_explains_a_difference(folders):
    mine, reference = folders
    write(reference, scotch=record())
    write(mine, scotch=record(1.0, graph={"fingerprint": "newer"}))
    assert compare_with_reference(*folders).differ == {CELLS[0]: "-50 %, of another graph"}


def test_of_what_tensorflow_learned_the_processor_may_be_the_reason(folders):
    mine, reference = folders
    learned = {"planner": {"nodes": 32, "threads": {"intra_op": 1, "inter_op": 1}}}
    write(reference, hdp=record(**learned), m_etf=record(planner={}))
    write(mine, hdp=record(2.1, **learned), m_etf=record(2.1, planner={}))
    assert compare_with_reference(*folders).differ == {
        CELLS[2]: "+5 %, maybe by another processor's rounding",
        CELLS[3]: "+5 %",
    }


def test_missing_are_cells_of_the_same_grid(folders):
    mine, reference = folders
    write(reference, scotch=record(), metis=record())
    write_record(record(), None, reference / "paper/k40/2gpu/nmt_2/hdp/seed0.json")
    write(mine, scotch=record(), m_etf=record())
    compared = compare_with_reference(*folders)
    assert compared.missing == (CELLS[1],)
    assert compared.new == (CELLS[3],)
    assert f"1 missing ({CELLS[1]}); 1 that it does not have" in compared.line()


def test_what_the_clock_decides_is_compared_as_such(folders):
    mine, reference = folders
    write(reference, scotch=record(), metis=record(seconds=60), hdp=record(seconds=60))
    write(mine, scotch=record(wall_seconds=12.0), metis=record(2.2, seconds=60))
    write(mine, hdp=record(2.6, seconds=60, placement_hash="xyz"))
    compared = compare_with_reference(*folders)
    assert compared.line() == (
        "1 of 3 cells equal to the bit; 0 differ; 0 missing; by the clock:"
        " 2 searches bound by seconds, median step x1.200, 1 planning times, median x3.00"
    )


def test_a_search_by_the_clock_that_fails_differs(folders):
    mine, reference = folders
    write(reference, hdp=record(seconds=60))
    write(mine, hdp=record(None, "timeout", 60))
    assert compare_with_reference(*folders).differ == {CELLS[2]: "timeout instead of ok"}


def test_a_folder_without_records_is_refused(folders):
    write(folders[0], scotch=record())
    with pytest.raises(InputError, match="results holds no records"):
        compare_with_reference(*folders)
