"""Compiled code: kept until any source it was made from changes, and no part of a search."""

import gc
import importlib
import os
import resource
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from threading import Barrier
from types import FunctionType
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from six_ops import six_ops

from suite.core.compilation import SELDOM, count, inline, kernel, lean_kernel
from suite.core.compile_time import CompileTime
from suite.core.compilers import FieldsOnceCompiler, with_room
from suite.core.paths import ROOT
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.search.clock import Clock
from suite.simulator.compiled.judge import Simulator
from suite.simulator.compiled.kernel import kernels
from suite.simulator.compiled.rules import Rules

TESTS = Path(__file__).parents[1]
CHANGED = "baselines/list_scheduling/memory_tracker.py"
ROOM = "needed <= tracker.memory[device]"
# ``fits`` lies in another file than ``has_room``, which it calls.
SCRIPT = """
from baselines.list_scheduling.list_scheduler import fits, prepare
from baselines.list_scheduling.units import units
from six_ops import six_ops
problem = six_ops()
work, plan, tracker = prepare(problem, units(problem, coplaced=False))
print(fits(work, plan, tracker, 0, 1), "loaded" if fits.stats.cache_hits else "compiled")
"""
DAY = 24 * 3600


@dataclass
class Copy:
    """A copy of the packages, with compiled code of its own."""

    root: Path

    @property
    def kept(self) -> Path:
        return self.root / "cache" / "numba"

    def run(self, cache: Path | None = None) -> str:
        environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
        environment["PYTHONPATH"] = f"{self.root}{os.pathsep}{TESTS}"
        environment["PLACEBENCH_CACHE"] = str(cache or self.root / "cache")
        command = [sys.executable, "-P", "-c", SCRIPT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def replace(self, old: str, new: str) -> None:
        path = self.root / CHANGED
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    root = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    for package in ("suite", "baselines"):
        shutil.copytree(ROOT / package, root / package, ignore=ignored)
    copy = Copy(root)
    for name, days in (("placebench-old", 40), ("placebench-recent", 10), ("someone-else", 40)):
        folder = copy.kept / name
        folder.mkdir(parents=True)
        os.utime(folder, (0, time.time() - days * DAY))
    assert copy.run() == "True compiled"
    return copy


def test_compiled_code_is_kept(copy):
    assert copy.run() == "True loaded"


def test_another_checkout_of_the_same_code_compiles_nothing(copy, tmp_path):
    """As the gate's of the base, whose cells would else compile within their time limits."""
    for package in ("suite", "baselines"):
        shutil.copytree(copy.root / package, tmp_path / package)
    assert Copy(tmp_path).run(copy.kept.parent) == "True loaded"


@pytest.mark.parametrize(("kind", "size"), [("nbi", 0), ("nbi", 50), ("nbc", 0), ("nbc", 500)])
def test_kept_code_that_is_not_whole_is_compiled_again(copy, kind, size):
    """A power cut leaves empty files, at which every later run would fail."""
    for path in copy.kept.rglob(f"*.{kind}"):
        os.truncate(path, size)
    assert copy.run() == "True compiled"
    assert copy.run() == "True loaded"


def test_a_disk_that_takes_no_compiled_code_is_named(tmp_path):
    function = "from suite.core.compilation import kernel\nf = kernel(lambda n: n + 1)\n"
    (tmp_path / "one.py").write_text(function)
    script = "import resource, one; resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99)); one.f(1)"
    places = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-P", "-c", script]
    environment = os.environ | places
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert f"InputError: compiled code cannot be kept in {tmp_path}" in done.stderr


def test_a_docstring_changes_nothing(copy):
    copy.replace('"""Memory as', '"""The memory as')
    assert copy.run() == "True loaded"


def test_a_line_of_another_file_makes_it_compile_anew(copy):
    copy.replace(ROOM, "needed < 0")
    try:
        assert copy.run() == "False compiled"
    finally:
        copy.replace("needed < 0", ROOM)


def test_code_that_was_long_unused_is_removed(copy):
    assert not (copy.kept / "placebench-old").exists()
    assert (copy.kept / "placebench-recent").exists()
    assert (copy.kept / "someone-else").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "file")}
    command = [sys.executable, "-P", "-c", "import suite.simulator.longest_path"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert f"InputError: compiled code cannot be kept in {tmp_path / 'file'}" in done.stderr


def test_compiling_is_no_part_of_a_search():
    @numba.njit
    def inner(x):
        return x + 1

    @inline
    def outer(x):
        return inner(x) * 2

    begun, begun_processor = time.monotonic(), time.process_time()
    clock = Clock()
    assert outer(3) == 8
    wall, processor, compiling = clock.wall, clock.processor, clock.compiling
    elapsed = time.monotonic() - begun
    # The inner function is compiled within the outer one: counted twice, it would be too much.
    assert 0 < compiling < elapsed
    assert 0 <= wall <= elapsed - compiling
    assert processor < time.process_time() - begun_processor
    assert outer(4) == 10
    assert clock.compiling == compiling
    time.sleep(0.05)
    assert clock.wall >= wall + 0.05


def test_what_was_compiled_before_is_not_left_out():
    @inline
    def twice(x):
        return 2 * x

    assert twice(2) == 4
    assert Clock().compiling == 0


def test_the_first_compilation_is_announced_once(capsys):
    watch = CompileTime()
    watch.announce("compiling (once)")
    assert not capsys.readouterr().err
    for _ in range(2):
        watch.announce("compiling (once)")
        watch.begin()
        watch.begin()
        watch.end()
        watch.end()
    assert capsys.readouterr().err == "compiling (once)\n"


def test_a_clock_does_not_load_numba():
    script = "import sys, suite.search.clock; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", script], check=False).returncode == 0


class Inner(NamedTuple):
    data: np.ndarray
    factor: int


class Outer(NamedTuple):
    inner: Inner
    size: np.ndarray


@inline
def scaled(outer, at):
    return outer.inner.data[at] * outer.inner.factor


@kernel
def summed(outer, other, swap):
    """Reads fields in a loop, through a helper, and of an argument that is given another value."""
    total = 0
    for at in range(outer.inner.data.shape[0]):
        total += scaled(outer, at) + other.size[0]
        if swap and at == 1:
            other = outer
    inner = outer.inner
    inner.data[0] = -1
    return total + 100 * outer.inner.data[0], len(other.size)


def test_fields_of_arguments_are_what_they_are_in_python():
    def pair():
        data = np.array([1, 2, 3, 4])
        return Outer(Inner(data, 10), np.array([7, 7])), Outer(Inner(data, 1), np.array([5]))

    for swap in (False, True):
        expected = 100 + 2 * 5 + (2 * 7 if swap else 2 * 5) - 100, 2 if swap else 1
        assert summed(*pair(), swap) == expected


@inline
def digits(number, base):
    total = 0
    while number > 0:
        total += number % base
        number //= base
    return total


@inline
def both(number, base):
    total = digits(number, base) if base < 9 else -1
    return total + 100 * digits(number + 1, base)


def often(numbers):
    total = number = 0
    for base in range(2, len(numbers)):
        number += both(numbers[base], base)
        total += number + digits(total, 3)
    return total, number


def test_helpers_that_are_inlined_in_several_places_keep_their_variables_apart():
    numbers = np.arange(11) ** 3
    expected = often(numbers)
    for _ in range(2):  # what was made of a helper for one kernel is not the next one's
        assert kernel(FunctionType(often.__code__, globals(), "often"))(numbers) == expected
    assert both(26, 3) == 6 + 100 * 1


def shuffled(table, row, order):
    count = 0
    for i in order:
        table[i, row[i]] += row[i]
        row[i] -= table[i, row[i]] - 1
        # Constants count from the end as ever.
        row[-1] += 1
        table[-1, 0] += row[order[-1]]
        count += len(row[:i])
    return count


def test_lean_kernels_read_and_write_where_python_does():
    def arguments():
        table = np.arange(12).reshape(4, 3) % 2
        return table, np.array([2, 0, 1, 0], np.int32), np.array([2, 0, 1], np.int32)

    expected, found = arguments(), arguments()
    assert lean_kernel(shuffled)(*found) == shuffled(*expected)
    assert all((a == b).all() for a, b in zip(expected, found, strict=True))


def test_the_simulator_is_compiled_once_for_all_machines():
    graph = six_ops().graph
    machines = (load_machine("k40").with_gpus(count) for count in range(3))
    problems = [Problem.create(graph, machine) for machine in machines]
    assert len({numba.typeof(Simulator(problem).layout) for problem in problems}) == 1


def test_the_simulator_is_compiled_once_for_all_arrays():
    simulator = Simulator(six_ops())
    compiled = kernels(simulator.rules)
    one, two = np.zeros(6, np.int32), np.zeros((2, 6), np.int32)
    fixed = one.copy()
    fixed.flags.writeable = False
    for devices in (one, fixed, np.zeros(12, np.int64)[::2], one[::-1]):
        simulator.run(devices)
    for batch in (two, np.asfortranarray(two), np.broadcast_to(one, (2, 6)), two[:, ::-1]):
        simulator.batch(batch)
    assert len(compiled.simulate.signatures) == len(compiled.simulate_many.signatures) == 1


def test_variants_of_a_function_are_kept_apart():
    off = Rules(*[False] * len(Rules._fields))
    rules = off, off._replace(timed=True), off._replace(blocks=True)
    assert len({kernels(each).simulate.stats.cache_path for each in rules}) == len(rules)


PRIVATE = (
    "numba.cpython.unsafe.numbers:trailing_zeros",
    "numba.core.event:Listener",
    "numba.core.inline_closurecall:copy",
    "numba.core.compiler:CompilerBase",
    "numba.core.compiler:DefaultPassBuilder",
    "numba.core.compiler_machinery:register_pass",
    "numba.core.ir_utils:build_definitions",
    "numba.core.ir_utils:replace_vars",
    "numba.core.postproc:PostProcessor",
    "numba.core.typed_passes:NopythonTypeInference",
    "numba.core.types.containers:BaseNamedTuple",
    "numba.core.types.containers:BaseTuple",
    "numba.core.untyped_passes:InlineInlinables",
    "numba.core.caching:FunctionCache.cache_path",
    "numba.core.caching:FunctionCache.flush",
    "numba.core.caching:FunctionCache.load_overload",
    "numba.core.caching:FunctionCache.save_overload",
)


def test_numba_still_has_the_private_parts_that_are_used():
    gone = []
    for place in PRIVATE:
        module, _, name = place.partition(":")
        try:
            attrgetter(name)(importlib.import_module(module))
        except (ImportError, AttributeError):
            gone.append(place)
    try:
        numba.njit(_nrt=False)(lambda number: number)(1)
    except KeyError:
        gone.append("numba.njit(_nrt=False)")
    where = "see suite/core/compilation.py and what it imports"
    assert not gone, f"numba {numba.__version__} has no {', '.join(gone)} any more: {where}"


def test_python_frees_as_before_once_something_was_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    before, seen = gc.get_threshold(), []
    monkeypatch.setattr("suite.core.compilers.FieldsOnceCompiler.define_pipelines", _told(seen))
    assert kernel(lambda x: x + 1)(2) == 3
    with pytest.raises(numba.TypingError):
        kernel(lambda x: x.nothing)(2)
    assert gc.get_threshold() == before
    assert seen == [(SELDOM, *before[1:])] * 2


def _told(seen):
    plain = FieldsOnceCompiler.define_pipelines

    def define_pipelines(self):
        seen.append(gc.get_threshold())
        return plain(self)

    return define_pipelines


def _leaf():
    return 0


# Larger than a step of the recursion, so that at some depth it lies across a border.
_leaf.__code__ = _leaf.__code__.replace(co_stacksize=64)


def _faults(depth):
    """Pages that the system gives to 300 calls at a depth of the stack."""
    if depth:
        return _faults(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(300):
        _leaf()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_calls_of_a_compilation_need_no_new_pages_at_any_depth():
    assert max(with_room(partial(_faults, depth)) for depth in range(400)) < 300


@lean_kernel
def claimed(counter: NDArray[np.int64], mine: NDArray[np.bool_]) -> None:
    """Mark what this thread is given until all are."""
    i = count(counter)
    while i < len(mine):
        mine[i] = True
        i = count(counter)


def test_threads_that_count_are_given_every_number_once() -> None:
    together = Barrier(2)

    def run(counter: NDArray[np.int64], mine: NDArray[np.bool_]) -> None:
        together.wait()
        claimed(counter, mine)

    claimed(np.zeros(1, np.int64), np.zeros(1, np.bool_))
    with ThreadPoolExecutor(2) as threads:
        # Threads that do not get into each other's way at once would prove nothing.
        for _ in range(20):
            marks, counter = np.zeros((2, 2_000_000), np.bool_), np.zeros(1, np.int64)
            list(threads.map(run, [counter] * 2, marks))
            assert (marks[0] != marks[1]).all()
            # Each thread found out once that nothing is left.
            assert counter[0] == marks.shape[1] + 2
