"""numba's cache on disk, whose files may be damaged and whose disk may be full."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache

from suite.core.errors import InputError


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"compiled code cannot be kept in {folder}: {error.strerror};"
            " make room, or set PLACEBENCH_CACHE to a folder that can be written"
        ) from None


class KeptCode(FunctionCache):  # type: ignore[misc]
    """Compiles again what is not whole: a power cut leaves empty files, which numba trips over."""

    def load_overload(self, sig: object, target_context: object) -> Any:
        """What is kept for a signature; None where there is nothing, or nothing whole."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # whatever a damaged file makes of its readers
            folder = Path(self.cache_path)
            warnings.warn(f"code kept in {folder} is damaged ({error!r}); compiling", stacklevel=2)
            with _room(folder):
                self.flush()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Keep what was compiled; InputError where the disk does not take it."""
        with _room(Path(self.cache_path)):
            super().save_overload(sig, data)
