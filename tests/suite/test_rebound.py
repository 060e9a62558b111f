"""Recorded bounds are brought up to date, and nothing else."""

import errno
import fcntl
import json
import shutil

import pytest
from command_line import write_grid

from suite.bench.lock import FILE, locked
from suite.cli import main


@pytest.fixture
def results(tmp_path):
    grid = write_grid(tmp_path / "g.toml", {"gpu_only": 1, "random": 2})
    assert main(["bench", str(grid), "--output", str(tmp_path / "r"), "--workers", "0"]) == 0
    return tmp_path / "r"


def edit(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_older_bounds_are_replaced_and_nothing_else(results, capsys):
    paths = sorted(results.rglob("seed*.json"))
    whole = [json.loads(path.read_text()) for path in paths]
    edit(paths[0], lower_bound=1e-9, bound_kind="load")
    edit(paths[1], bound_kind="load" if whole[1]["bound_kind"] != "load" else "window")
    untouched = paths[2].read_bytes()
    assert main(["rebound", str(results)]) == 0
    assert "2 records bounded anew, 1 had the same bound" in capsys.readouterr().out
    assert [json.loads(path.read_text()) for path in paths] == whole
    assert paths[2].read_bytes() == untouched
    assert main(["verify", str(results)]) == 0
    assert main(["rebound", str(paths[0])]) == 0
    assert "0 records bounded anew, 1 had" in capsys.readouterr().out


def test_what_another_run_writes_into_is_left_alone(results, capsys):
    first, *_ = sorted(results.rglob("seed*.json"))
    with locked(results):
        for command in (["rebound"], ["rescore"], ["verify", "--replay", "9"]):
            for path in (results, first):
                assert main([command[0], str(path), *command[1:]]) == 2
                assert f"is writing into {results}" in capsys.readouterr().err
    assert main(["rebound", str(results)]) == 0


def test_a_part_of_the_results_is_held_as_a_whole_though_it_was_rescored_alone(results, capsys):
    (results / FILE).unlink()  # as in a fresh clone
    grid = results / "g"
    assert main(["rescore", str(grid)]) == 0
    assert not (grid / FILE).exists()
    with locked(results):
        assert main(["rescore", str(grid)]) == 2
        assert f"is writing into {results}" in capsys.readouterr().err


def test_all_results_folders_below_a_folder_are_held(results, tmp_path, capsys):
    other = shutil.copytree(results, tmp_path / "other")
    for held in results, other:
        with locked(held):
            assert main(["rebound", str(tmp_path)]) == 2
            assert f"is writing into {held}" in capsys.readouterr().err
    assert main(["rebound", str(tmp_path)]) == 0


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_the_file_system_has_no_locks_one_is_warned(number, results, monkeypatch):
    def flock(*_):
        raise OSError(number, "no locks here")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.warns(UserWarning, match=r"r/.lock cannot be locked \(no locks here\); start no"):
        assert main(["rebound", str(results)]) == 0


def test_records_without_a_bound_stay_without(results, capsys):
    first, *_ = sorted(results.rglob("seed*.json"))
    edit(first, semantics="grappler", lower_bound=None, bound_kind="")
    before = first.read_bytes()
    assert main(["rebound", str(results)]) == 0
    assert "0 records bounded anew, 2 had" in capsys.readouterr().out
    assert first.read_bytes() == before


def test_a_changed_graph_and_a_damaged_record_are_left_and_told(results, capsys):
    first, second, _ = sorted(results.rglob("seed*.json"))
    graph = json.loads(first.read_text())["graph"]
    edit(first, graph=graph | {"fingerprint": "0" * 16}, lower_bound=1.0)
    second.write_text("{")
    assert main(["rebound", str(results)]) == 1
    printed = capsys.readouterr().out
    assert printed.count(f"{second} is not whole JSON") == printed.count(str(second)) == 1
    assert "1 had the same bound, 2 left as they are" in printed
    assert json.loads(first.read_text())["lower_bound"] == 1.0


@pytest.mark.parametrize("odd", [{"simulated": 5}, {"evaluations": None, "history": [5]}])
def test_an_odd_record_is_told_and_those_behind_it_are_looked_at(results, capsys, odd):
    first, *others = sorted(results.rglob("seed*.json"))
    for path in first, *others:
        edit(path, code=None)
    edit(first, **odd)
    for command in (["verify"], ["rescore"], ["rebound"], ["verify", "--replay", "9"]):
        code = main([command[0], str(results), *command[1:]])
        told = [line for line in capsys.readouterr().out.splitlines() if str(first) in line]
        assert code == len(told) <= 1
        assert all(line.endswith("; delete it and run again") for line in told)
    # The last of them looks at all of a record.
    assert len(told) == 1
    assert all(json.loads(path.read_text())["code"] for path in others)


def test_without_records_it_says_so(tmp_path, capsys):
    assert main(["rebound", str(tmp_path)]) == 2
    assert "run bench first" in capsys.readouterr().err
