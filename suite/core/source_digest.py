"""Digests of source code: what a result, a captured graph or a compiled kernel was made by.

A digest covers a module and every first-party module that it reaches by import, wherever the import
stands, also inside functions. Comments, docstrings, layout and what only type checkers read do not
count. What the code uses
beside them is told by :func:`libraries`, :func:`attributes` and :func:`arguments`.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from suite.core.library_versions import distributions, library_version
from suite.core.paths import ROOT

PACKAGES = ("suite", "baselines", "planners", "models")
"""The packages of placebench."""
_FOR_TYPES = ("__future__", "typing", "collections.abc")
_BLOCKS = ("body", "orelse", "finalbody")
_ANNOTATIONS = frozenset(
    [(ast.arg, "annotation"), (ast.FunctionDef, "returns"), (ast.AsyncFunctionDef, "returns")]
)
_NAMED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(:\w+)?")
"""A module, or a function of one, named in a string: what is called in a child process."""


def code_digest(*modules: str, without: tuple[str, ...] = ()) -> str:
    """16 hexadecimal digits of the code of modules and of all first-party ones that they reach.

    What lies below the packages ``without`` does not count, and is not followed. The digest is the
    same on every version of Python. Raises ModuleNotFoundError for a module that is not there.
    """
    parts = [f"{name} {_source(name).digest}" for name in reached(*modules, without=without)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@cache
def reached(*modules: str, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names of ``modules`` and of all first-party modules that they reach, sorted.

    First-party are the packages of placebench, those that come in one distribution with
    ``modules``, and those of no distribution: nothing but their sources tells when they change.
    """
    own = _siblings(*modules)
    for name in modules:
        if _path(name) is None:
            raise ModuleNotFoundError(f"no module named {name!r}", name=name)
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in found or any(f"{name}.".startswith(f"{package}.") for package in without):
            continue
        found.add(name)
        source = _source(name)
        known = [n for n in source.imported if _first_party(n, own)]
        known += [n for n in source.quoted if n.partition(".")[0] in own]
        waiting += [n for n in (*known, *_parents(name)) if _path(n) is not None]
    return tuple(sorted(found))


def has_source(module: str) -> bool:
    """Whether a module is there as Python, not compiled."""
    return _path(module) is not None


def libraries(*modules: str) -> tuple[str, ...]:
    """The top-level third-party modules that these modules import themselves, sorted."""
    own = _siblings(*modules)
    imported = {name.partition(".")[0] for module in modules for name in _source(module).imported}
    known = {"", "__future__", *sys.stdlib_module_names}
    return tuple(sorted(name for name in imported - known if not _first_party(name, own)))


def attributes(*modules: str) -> frozenset[str]:
    """The names of all attributes that these modules read of something other than ``self``."""
    return frozenset(name for module in modules for name in _source(module).attributes)


def arguments(*modules: str, function: str) -> tuple[str, ...]:
    """The literal strings that these modules give to a function as its first argument, sorted."""
    calls = (call for module in modules for call in _source(module).calls)
    return tuple(sorted({text for name, text in calls if name == function}))


@cache
def _siblings(*modules: str) -> frozenset[str]:
    """The top-level packages of ``modules``, of placebench and of the distributions of both."""
    tops = {name.partition(".")[0] for name in modules} - set(PACKAGES)
    homes = {home for top in tops for home in distributions().get(top, ())}
    beside = {top for top, of in distributions().items() if homes & set(of)} if homes else set()
    return frozenset({*PACKAGES, *tops, *beside})


@cache
def _first_party(module: str, own: frozenset[str]) -> bool:
    """Whether a module is to be followed: ours, a sibling, or somebody's without a version."""
    top = module.partition(".")[0]
    if top in own:
        return True
    if top in sys.stdlib_module_names or library_version(top) is not None:
        return False
    return _path(top) is not None or bool(_roots(top))


def _parents(module: str) -> Iterator[str]:
    """Packages of others whose ``__init__`` runs before a module; ours hold nothing but words."""
    while (module := module.rpartition(".")[0]) and module.partition(".")[0] not in PACKAGES:
        yield module


class _Source:
    """One source file: what its code is, and which modules it may name."""

    def __init__(self, path: Path, package: str) -> None:
        parts: list[str] = []
        nodes: list[ast.AST] = []
        _read(ast.parse(path.read_bytes()), parts, nodes)
        self.digest = hashlib.sha256("".join(parts).encode()).hexdigest()
        self.imported = tuple(sorted({n for node in nodes for n in _imports(node, package)}))
        texts = {_text(node) for node in nodes if isinstance(node, ast.Constant)}
        self.quoted = tuple({t.partition(":")[0] for t in texts if _NAMED.fullmatch(t)})
        self.attributes = frozenset(
            node.attr
            for node in nodes
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") != "self"
        )
        self.calls = frozenset(
            (ast.unparse(node.func).rpartition(".")[2], _text(node.args[0]))
            for node in nodes
            if isinstance(node, ast.Call) and node.args and _text(node.args[0])
        )


@cache
def _source(module: str) -> _Source:
    path = _path(module)
    if path is None:
        raise ModuleNotFoundError(f"no module named {module!r}", name=module)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return _Source(path, package)


@cache
def _path(module: str) -> Path | None:
    """The source file of a module; None where there is none."""
    top, *rest = module.split(".")
    for root in _roots(top):
        path = root.joinpath(*rest)
        for candidate in (path.with_suffix(".py"), path / "__init__.py"):
            if candidate.is_file() and (rest or candidate.name == "__init__.py"):
                return candidate
    if not rest:
        spec = importlib.util.find_spec(top)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            return Path(spec.origin)
    return None


@cache
def _roots(top: str) -> tuple[Path, ...]:
    """The folders of a top-level package; ours are found without importing anything."""
    if top in PACKAGES:
        return (ROOT / top,)
    spec = importlib.util.find_spec(top)
    places = spec.submodule_search_locations if spec is not None else None
    return tuple(map(Path, places or ()))


def _is_for_types(node: ast.AST) -> bool:
    """Whether a statement imports from ``typing`` and the like, or for type checkers."""
    if isinstance(node, ast.If):
        return _asks_for_types(node) and not node.orelse
    return isinstance(node, ast.ImportFrom) and node.module in _FOR_TYPES


def _asks_for_types(node: ast.AST) -> bool:
    """Whether a node is ``if TYPE_CHECKING``."""
    test = getattr(node, "test", None) if isinstance(node, ast.If) else None
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _read(node: object, parts: list[str], nodes: list[ast.AST] | None) -> None:
    """Add a syntax tree to ``parts`` as text, and to ``nodes`` all but what type checkers read.

    Without docstrings, those of attributes too, and what is there for type checkers alone. In one
    pass, since every process begins with it; ``ast.dump`` writes the same tree differently from
    3.13 on.
    """
    if isinstance(node, ast.AST):
        parts.append(f"({type(node).__name__}")
        typed = _asks_for_types(node)
        if nodes is not None and not typed:
            nodes.append(node)
        for name in node._fields:
            value = getattr(node, name, None)
            if name in _BLOCKS and isinstance(value, list):
                value = [one for one in value if not _is_text(one) and not _is_for_types(one)]
            elif (type(node), name) in _ANNOTATIONS:
                continue
            if value is not None and value != []:
                parts.append(f" {name}=")
                _read(value, parts, None if typed and name != "orelse" else nodes)
        parts.append(")")
    elif isinstance(node, list):
        for item in node:
            _read(item, parts, nodes)
    else:
        parts.append(f"{node!r},")


def _imports(node: ast.AST, package: str) -> Iterator[str]:
    """Dotted names that an import statement may stand for."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = _absolute(node, package)
        homes = _homes(base) if base in PACKAGES else {}
        if all(alias.name in homes for alias in node.names):
            yield from (homes[alias.name] for alias in node.names)
            return
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)


@cache
def _homes(package: str) -> Mapping[str, str]:
    """Name -> module of the names that a package of ours imports when they are first used.

    They are those that it tells type checkers. Whoever imports one of them runs no other.
    """
    path = _path(package)
    body = [] if path is None else ast.parse(path.read_bytes()).body
    told = [node for block in body if _is_for_types(block) for node in ast.walk(block)]
    imports = [node for node in told if isinstance(node, ast.ImportFrom)]
    return {alias.name: _absolute(node, package) for node in imports for alias in node.names}


def _text(node: ast.AST) -> str:
    """A literal string; empty for whatever else a node is."""
    literal = node.value if isinstance(node, ast.Constant) else None
    return literal if isinstance(literal, str) else ""


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """The module of ``from ... import``, relative ones resolved."""
    if not node.level:
        return node.module or ""
    base = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])
