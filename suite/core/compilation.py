"""How functions are compiled: every numba function of placebench is made by one of these.

Compiled code is kept on disk. numba looks at the file of a function only, and would go on using
code into which another file's functions and constants were compiled before they changed. So each
module's compiled code lies in a folder named by the digest of all sources that the module reaches.
"""

from __future__ import annotations

import gc
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core import event, types
from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import intrinsic

from suite.core.compile_time import COMPILE_TIME
from suite.core.compilers import FieldsOnceCompiler, LeanCompiler
from suite.core.errors import InputError
from suite.core.kept_code import KeptCode
from suite.core.paths import cache_folder
from suite.core.source_digest import code_digest

__all__ = ["count", "inline", "kernel", "lean_kernel", "trailing_zeros", "with_globals"]

Compiled = TypeVar("Compiled", bound=Callable[..., object])
UNUSED = 30 * 24 * 3600
"""Seconds after which compiled code that nobody loaded is removed."""
SELDOM = 100_000
"""Objects that a compilation makes before Python looks for what could be freed; usually 700."""
_PREFIX = "placebench-"
_NOT_COMPILED = (
    *("suite.core.compile_time", "suite.core.kept_code"),
    *("suite.core.paths", "suite.core.source_digest"),
)
"""What this module needs for itself; no kernel calls it."""


def compiled_folder() -> Path:
    """Where compiled code is kept: ``$NUMBA_CACHE_DIR``, else in the cache of placebench."""
    named = numba.config.CACHE_DIR
    return Path(named) if named else cache_folder() / "numba"


def kernel(function: Compiled) -> Compiled:
    """Compile a function and keep it on disk; other threads run while it does."""
    return _kept(function, {"nogil": True, "pipeline_class": FieldsOnceCompiler})


def lean_kernel(function: Compiled, variant: str = "") -> Compiled:
    """As :func:`kernel`, for what allocates nothing.

    Without allocations, numba's reference counting can go: with it, every access to an array of a
    named tuple counts, and a simulated step takes 30 times as long. Nor may an index in a variable
    be negative: ``array[-1]`` is the last element, ``array[i]`` with i = -1 lies outside.
    ``variant`` tells functions apart that were made of one by :func:`with_globals`, also to the
    linker: numba calls both by the same name where each is the first that its process compiles, and
    of two by one name in a process, the kernels that call them would all be given the same.
    """
    if variant:
        function.__qualname__ = f"{function.__qualname__}_{variant.replace('-', '_')}"
    options = {"nogil": True, "_nrt": False, "pipeline_class": LeanCompiler}
    return _kept(function, options, variant)


@intrinsic  # type: ignore[untyped-decorator]
def count(typing: Any, counter: Any) -> Any:
    """Add one to int64[1] and return what was there, as no other thread is returned it."""

    def atomic(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        one = context.get_constant(signature.return_type, 1)
        return builder.atomic_rmw("add", array.data, one, "monotonic")

    return types.int64(counter), atomic


def inline(function: Compiled) -> Compiled:
    """Make a helper part of every kernel that calls it, before types are known: it costs nothing.

    The kernel that it becomes a part of decides about allocations and threads.
    """
    return cast(Compiled, numba.njit(inline="always")(function))


def with_globals(function: Compiled, constants: Mapping[str, object]) -> Compiled:
    """Copy a function for which, and for all that it inlines, global names mean something else.

    A condition on a global is settled before anything is compiled, so that what a constant rules
    out costs neither time at run time nor time to compile.
    """
    copies: dict[object, object] = {}

    def copied(original: FunctionType) -> FunctionType:
        names = original.__globals__
        changed = {name: constants[name] for name in names.keys() & constants.keys()}
        for name in original.__code__.co_names:
            helper: Any = names.get(name)
            if getattr(helper, "targetoptions", {}).get("inline") == "always":
                if helper not in copies:
                    copies[helper] = inline(copied(helper.py_func))
                changed[name] = copies[helper]
        rest = original.__name__, original.__defaults__, original.__closure__
        return FunctionType(original.__code__, names | changed, *rest)

    return cast(Compiled, copied(cast(FunctionType, function)))


def _kept(function: Compiled, options: dict[str, Any], variant: str = "") -> Compiled:
    """Compile with a cache in the folder of the function's sources."""
    before = numba.config.CACHE_DIR
    # numba decides where a function is kept when it is decorated.
    digest = code_digest(function.__module__, without=_NOT_COMPILED)
    name = f"{digest}-{variant}" if variant else digest
    numba.config.CACHE_DIR = str(_folder(compiled_folder(), name))
    try:
        compiled: Any = numba.njit(**options)(function)
        compiled._cache = KeptCode(function)
        return cast(Compiled, compiled)
    finally:
        numba.config.CACHE_DIR = before


@cache
def _folder(base: Path, name: str) -> Path:
    """The folder of this name, marked as used now; a new one drives out those long unused."""
    folder = base / f"{_PREFIX}{name}"
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _tidy(base)
        os.utime(folder)
    except OSError as error:
        raise InputError(
            f"compiled code cannot be kept in {base}: {error.strerror};"
            " set PLACEBENCH_CACHE to a folder that can be written"
        ) from None
    return folder


def _tidy(base: Path) -> None:
    for folder in base.glob(f"{_PREFIX}*"):
        # Another process may be removing it too.
        with suppress(FileNotFoundError):
            if time.time() - folder.stat().st_mtime > UNUSED:
                shutil.rmtree(folder, ignore_errors=True)


class _Watch(event.Listener):  # type: ignore[misc]
    """Tells how long numba compiles; what is loaded from disk is no event of this kind.

    A compilation makes millions of objects that stay until it ends, and Python looks through all of
    them again and again for what could be freed, beside all that other libraries hold: a quarter of
    the time, and more where TensorFlow is loaded. So Python looks seldom while it goes on.
    """

    def __init__(self) -> None:
        # numba compiles under one lock for all threads, so that what begins and ends is nested.
        self._before: list[tuple[int, int, int]] = []

    def on_start(self, event: object) -> None:
        COMPILE_TIME.begin()
        first, *others = before = gc.get_threshold()
        self._before.append(before)
        gc.set_threshold(first and max(first, SELDOM), *others)

    def on_end(self, event: object) -> None:
        gc.set_threshold(*self._before.pop())
        COMPILE_TIME.end()


event.register("numba:compile", _Watch())
