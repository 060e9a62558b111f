"""Child processes: whose modules they find, and what they died of."""

import subprocess

import pytest

from suite.core.child_python import BLAS_THREADS, child_environment, python_command, signal_name


def test_a_child_finds_our_modules_wherever_it_is_started(tmp_path):
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "__init__.py").write_text("raise SystemExit('not ours')")
    done = subprocess.run(
        python_command("-c", "import os, suite.core.errors; print(os.environ['COLOUR'])"),
        cwd=tmp_path,
        env=child_environment(COLOUR="blue"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "blue\n"), done.stderr


@pytest.mark.parametrize(("users", "threads"), [(None, "1"), ("3", "3")])
def test_numpy_starts_no_threads_in_a_child_unless_the_user_wants_them(monkeypatch, users, threads):
    monkeypatch.delenv(BLAS_THREADS, raising=False)
    if users is not None:
        monkeypatch.setenv(BLAS_THREADS, users)
    assert child_environment()[BLAS_THREADS] == threads


@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (40, "signal 40")])
def test_signals_have_names_even_those_without(number, name):
    assert signal_name(number) == name
