"""What made a record besides its settings: the placer's code and the libraries it uses.

A record whose code has changed since is run again, unless it is kept on purpose or shown to come
out the same (:mod:`suite.bench.replay`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass

from suite.bench.cell import SIMULATOR, Job, RealRuns
from suite.bench.load_problem import problem_of
from suite.bench.record import Record
from suite.core.arrays import digest
from suite.core.library_versions import library_version
from suite.core.source_digest import (
    PACKAGES,
    arguments,
    attributes,
    code_digest,
    has_source,
    libraries,
    reached,
)
from suite.core.uncertainty import Judging
from suite.search.placer import Placer
from suite.search.registry import make_placer, placers

UNCOUNTED = (
    # Graph and machine are in the fingerprint, and `placebench verify` finds where costs give other
    # times.
    "suite.core",
    "suite.simulator",  # what a simulation gives has a version, which is in the fingerprint too
    "suite.capture",  # captured graphs are in the fingerprint
    "suite.bench",  # grids, records and processes decide nothing about an answer
    "suite.formats",  # neither do files
    "suite.search.registry",  # finds placers by name; those it finds count themselves
    "suite.search.progress_log",  # shows how a search goes on
    "suite.search.tensorboard",  # likewise
    "suite.search.checkpoint",  # keeps a search; one that is resumed gives the same record
)
"""Modules whose changes leave a record as it is. Search itself, its rules and its clock, counts."""
PROTOCOL = ("suite.execution.backends", "suite.execution.measurement")
"""How placements are run for real."""
ROBUST = ("suite.search.robust_judge",)
"""What judges a search on several machines."""
REAL = ("suite.execution.real_judge",)
"""What judges a search by running its placements."""
CHOOSING = ("suite.search.best_answers", "suite.execution.contest")
"""What chooses among the best answers of a search by running them."""


def code_of(job: Job) -> Record:
    """The field ``code`` of a job's record: what its code is today, in parts, and their digest.

    The human expert's placement and ColocRL's groups, which models give beside their graphs, are
    among the parts where the code reads them.
    """
    roots = placer_modules(job.placer, make_placer(job.placer, job.parameters))
    if job.backend != SIMULATOR:
        roots += PROTOCOL
    roots += ROBUST if isinstance(job.judge, Judging) else ()
    roots += REAL if isinstance(job.judge, RealRuns) else ()
    roots += CHOOSING if job.measure_top is not None else ()
    told = _parts(*roots)
    read = attributes(*_sources(roots))
    if {"expert", "groups"} & read:
        problem = problem_of(job)
        if "expert" in read and problem.expert is not None:
            told["expert"] = digest([problem.expert])
        if "groups" in read and problem.rule is not None:
            told["groups"] = digest([problem.groups])
    return _with_digest(told)


def code_of_modules(*roots: str) -> Record:
    """The field ``code`` of a record that modules made without a placer."""
    return _with_digest(_parts(*roots))


def _with_digest(parts: Record) -> Record:
    return {"digest": digest([sorted(parts.items())]), **parts}


def _parts(*roots: str) -> Record:
    """What follows from modules alone.

    ``sources`` is a digest of all Python that they reach, ``libraries`` the versions of what that
    imports; None: not installed.
    """
    sources = _sources(roots)
    counted = code_digest(*sources, without=UNCOUNTED) if sources else ""
    tops = {root.partition(".")[0] for root in roots} - set(PACKAGES)
    versions = {name: library_version(name) for name in (*libraries(*sources), *sorted(tops))}
    return {
        "modules": list(roots),
        "files": len(sources),
        "sources": counted,
        "libraries": {name: versions[name] for name in sorted(versions)},
    }


def placer_modules(name: str, placer: Placer) -> tuple[str, ...]:
    """The modules of a placer and of the placers that it starts by name.

    Those are named in its parameters, or in its code where it makes them. Sorted but for the first.
    """
    found: dict[str, None] = {}
    waiting = [(name, placer)]
    while waiting:
        name, placer = waiting.pop()
        module = placers()[name].partition(":")[0]
        if module in found:
            continue
        found[module] = None
        for inner in _inner(module, placer):
            waiting.append((inner, make_placer(inner, {})))
    first, *others = found
    return first, *sorted(others)


def _inner(module: str, placer: Placer) -> Iterator[str]:
    """The names of other placers that a placer may start."""
    if not has_source(module) or "suite.search.registry" not in reached(module):
        return
    named = set(arguments(*_sources((module,)), function="make_placer"))
    if is_dataclass(placer) and not isinstance(placer, type):
        named |= set(_texts(asdict(placer)))
    yield from sorted(named & set(placers()))


def _texts(value: object) -> Iterator[str]:
    """All strings in the values of a parameter."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _sources(roots: tuple[str, ...]) -> tuple[str, ...]:
    """The modules that count; a placer that is compiled has none, its library's version counts."""
    return reached(*(root for root in roots if has_source(root)), without=UNCOUNTED)
