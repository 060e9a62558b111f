"""Files that are whole or not there, with the mode that the user asks for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SMOKE_GRAPH

from suite.core.errors import InputError
from suite.core.processes import how_it_ended
from suite.formats.atomic import atomic, check_can_be_made, remove_parts


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_umask_decides_who_may_read(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        with atomic(tmp_path / "a.json") as temporary:
            temporary.write_text("{}")
    finally:
        os.umask(before)
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == mode


def test_what_a_link_names_is_replaced(tmp_path):
    (tmp_path / "link").symlink_to("folder/real")
    (tmp_path / "folder").mkdir()
    for text in ("made", "replaced"):
        with atomic(tmp_path / "link") as temporary:
            temporary.write_text(text)
        assert (tmp_path / "folder/real").read_text() == text
        assert (tmp_path / "link").is_symlink()


def test_what_is_no_file_stays_what_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path / "pipe", "a device or a pipe"), (tmp_path, "a folder")):
        with pytest.raises(InputError, match=f"{path} is {what}; give a file"), atomic(path):
            raise AssertionError
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_failure_leaves_the_old_file(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(ZeroDivisionError), atomic(tmp_path / "a") as temporary:  # noqa: PT012
        temporary.write_text("new")
        raise ZeroDivisionError
    assert (tmp_path / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_write_that_fails_names_its_file(tmp_path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    path = tmp_path / "graph.json"
    script = f"""
import signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
{limit}
from suite.cli import main
sys.exit(main(["graph", {str(SMOKE_GRAPH)!r}, "--output", {str(path)!r}]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    advice = "check the path, and the room there"
    assert done.stderr == f"placebench: error: cannot use {path}: File too large; {advice}\n"
    assert not path.exists()


def test_a_file_that_cannot_be_made_is_named_rather_than_its_part():
    with pytest.raises(OSError, match=r"No such file|denied") as caught, atomic(Path("/proc/a")):
        raise AssertionError
    assert caught.value.filename == "/proc/a"


def test_below_a_file_nothing_can_be_made(tmp_path):
    """Nor where the file is a program, which its mode says one may enter like a folder."""
    (tmp_path / "tool").touch(0o755)
    with pytest.raises(InputError, match=r"cannot make .*tool/deep/a in .*tool; name another"):
        check_can_be_made(tmp_path / "tool" / "deep" / "a")
    check_can_be_made(tmp_path / "new" / "deep" / "a")


def test_what_killed_processes_left_is_removed(tmp_path):
    killed = (
        "import os, pathlib, sys\n"
        "from suite.formats.atomic import atomic\n"
        "with atomic(pathlib.Path(sys.argv[1]) / 'deep/a') as temporary:\n"
        "    temporary.write_text('half')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", killed, str(tmp_path)], check=False)
    [left] = tmp_path.rglob(".part-*")
    theirs = tmp_path / ".part-of-something-else", tmp_path / "deep" / f"{left.name}folder"
    theirs[0].touch()
    theirs[1].mkdir()
    with atomic(tmp_path / "deep/b") as ours:
        remove_parts(tmp_path)
        assert left.exists()
        remove_parts(tmp_path, below=True)
        assert sorted(tmp_path.rglob(".part-*")) == sorted([ours, *theirs])
    assert (tmp_path / "deep/b").exists()


def test_every_end_has_a_name():
    assert how_it_ended(-9) == "died of SIGKILL"
    assert how_it_ended(-40) == "died of signal 40"
    assert how_it_ended(3) == "ended with exit code 3"
