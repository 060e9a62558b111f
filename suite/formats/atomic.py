"""Files that are whole or not there."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from suite.core.errors import InputError
from suite.core.processes import is_running

_PART = re.compile(r"\.part-(\d+)-[0-9a-f]{12}")


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path that takes the place of ``path`` when all went well.

    The content is on the disk before it gets its name, so that a power cut leaves the old file or
    the new one. What a killed process leaves behind is for :func:`remove_parts`. What a link names
    is replaced, not the link. Raises InputError as :func:`file_to_write` does.
    """
    path = file_to_write(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = new_part(path.parent)
    try:
        # Made by open(), so that the user's umask decides who may read it.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        error.filename = str(path)
        raise
    try:
        yield temporary
        _to_disk(temporary)
        temporary.replace(path)
        _to_disk(path.parent)
    except OSError as error:
        # A failed write names no file: a full disk, a file that is too large.
        error.filename = error.filename or str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def file_to_write(path: Path) -> Path:
    """The file that writing to ``path`` makes or replaces; InputError where it can be none.

    A device, or a pipe, would be replaced by a file for all who use it.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a file")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is a device or a pipe; give a file")
    return Path(os.path.realpath(path))


def check_can_be_made(path: Path) -> None:
    """Raise InputError where no file or folder of this name can be made, nor the folders above."""
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"cannot make {path} in {above}; name another")


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def new_part(folder: Path) -> Path:
    """A name in ``folder`` for what this process has not finished, be it a file or a folder."""
    return folder / f".part-{os.getpid()}-{secrets.token_hex(6)}"


def is_left_over(path: Path) -> bool:
    """Whether this was unfinished when its process ended: nobody will finish it."""
    owner = _PART.fullmatch(path.name)
    return owner is not None and not is_running(int(owner[1]))


def remove_parts(folder: Path, below: bool = False) -> None:
    """Delete the temporary files and folders in ``folder``, and ``below``, whose process is gone.

    What another user's process has left, and this one must not delete, stays.
    """
    for path in list(folder.rglob(".part-*") if below else folder.glob(".part-*")):
        if not is_left_over(path):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(FileNotFoundError, PermissionError):
                path.unlink()
