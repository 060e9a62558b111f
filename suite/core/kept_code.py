"""numba's cache on disk, whose files may be damaged and whose disk may be full."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator

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


class _AnyCheckout(UserProvidedCacheLocator):  # type: ignore[misc]
    """Where code is kept whichever checkout it is of: its folder's name has the sources' digest.

    numba goes by the path of the checkout, too. In every new one, such as the gate makes of the
    base, all would be compiled again, and within the cells' time limits: what is marked as compiled
    (suite.bench.first_use) goes by the sources alone.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The name of the package, without where it lies."""
        return Path(py_file).parent.name

    def get_source_stamp(self) -> str:
        """Nothing: other sources have another folder, and docstrings decide nothing."""
        return ""


class _Kept(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_AnyCheckout, *CompileResultCacheImpl._locator_classes)


class KeptCode(FunctionCache):  # type: ignore[misc]
    """Compiles again what is not whole: a power cut leaves empty files, which numba trips over."""

    _impl_class = _Kept

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
