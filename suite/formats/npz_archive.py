"""What is an npz archive, and what only has its name."""

from __future__ import annotations

from pathlib import Path


def check_npz(path: Path) -> None:
    """Raise ValueError where the file is none; OSError where it cannot be read.

    NumPy takes anything else for a pickle, and says how to load that unsafely.
    """
    with path.open("rb") as file:
        if file.read(2) != b"PK":
            raise ValueError("it is no npz archive")
