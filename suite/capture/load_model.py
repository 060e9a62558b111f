"""What a user may call MODEL -> OpGraph: a task, a graph file, or what TensorFlow can trace."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.source_digest import code_digest

DEFAULT_BATCH = 32
"""Keras' own default, for files that leave the batch open."""
_TIMEOUT = 3600.0
"""Seconds a capture may take."""
_SUFFIXES = {
    ".json": "graph",
    ".npz": "graph",
    ".keras": "keras",
    ".h5": "keras",
    ".hdf5": "keras",
    ".pb": "graph_def",
    ".pbtxt": "graph_def",
}


@dataclass(frozen=True)
class Options:
    """What a model file leaves open."""

    batch: int | None = None
    """The first dimension of inputs that leave it open; None: 32."""
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Input name -> its whole shape."""
    fetch: tuple[str, ...] = ()
    """Operations of a GraphDef that a step runs; none: those that nothing reads."""
    trust: bool = False
    """Whether a Keras model may run Python code that it carries."""

    def __post_init__(self) -> None:
        """Refuse sizes below 1 (InputError)."""
        if self.batch is not None and self.batch < 1:
            raise InputError(f"the batch is {self.batch}; give >= 1")
        for name, shape in self.inputs.items():
            if any(size < 1 for size in shape):
                raise InputError(f"input {name}: the shape is {shape}; give sizes >= 1")

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Options:
        """What ``asdict`` made of options, read back from JSON."""
        inputs = {name: tuple(shape) for name, shape in fields["inputs"].items()}
        return cls(fields["batch"], inputs, tuple(fields["fetch"]), fields["trust"])

    @property
    def given(self) -> bool:
        """Whether anything is said of the inputs or of what to run."""
        return replace(self, trust=False) != Options()

    def shape(self, name: str, known: Sequence[int | None] | None) -> tuple[int, ...]:
        """Complete an input's shape (None: open; all of it: unknown rank); InputError if unable."""
        given = self.inputs.get(name)
        if given is None and known is not None:
            first = [self.batch or DEFAULT_BATCH if size is None else size for size in known[:1]]
            given = tuple(size for size in (*first, *known[1:]) if size is not None)
        if given is None or (known is not None and not _fits(given, known)):
            words = "an unknown shape" if known is None else f"the shape {_written(known)}"
            raise InputError(
                f"input {name!r} has {words}; give it whole with --input {name}=SIZE,SIZE,..."
            )
        return given

    def check_names(self, names: Sequence[str]) -> None:
        """Raise InputError when a shape was given for an input that is not there."""
        for name in self.inputs:
            if name not in names:
                raise InputError(f"there is no input {name!r}; inputs: {', '.join(names)}")


def _fits(given: Sequence[int], known: Sequence[int | None]) -> bool:
    pairs = zip(given, known, strict=False)
    return len(given) == len(known) and all(k in (None, size) for size, k in pairs)


def _written(shape: Sequence[int | None]) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


@dataclass(frozen=True, eq=False)
class Loaded:
    """A graph and where it comes from."""

    graph: OpGraph
    origin: str
    """In words."""
    task: str | None = None
    """The task's name, where it is one."""
    graph_def: Path | None = None
    """The GraphDef whose nodes are the graph's operations; None where there is none (any more)."""


def graph_def_beside(graph: Path) -> Path:
    """Where the GraphDef of a captured graph file is: a protocol buffer, gzipped."""
    return graph.with_suffix(".pb.gz")


def kind_of(model: str) -> str:
    """``graph``, ``keras``, ``graph_def`` (by suffix), ``function`` (by its colon) or ``task``."""
    kind = _SUFFIXES.get(Path(model.removesuffix(".gz")).suffix.lower())
    if kind == "graph_def" or (kind and not model.endswith(".gz")):
        return kind
    if ":" in model:
        return "function"
    if re.search(r"[./\\]", model) or Path(model).exists():
        raise InputError(
            f"cannot tell what {model!r} is; give a task, a graph (.json, .npz), a Keras model"
            " (.keras, .h5), a GraphDef (.pb, .pbtxt, .pb.gz) or package.module:function"
        )
    return "task"


def check_options(model: str, kind: str, options: Options) -> None:
    """Raise InputError for options that a model of this kind does not have, or lacks."""
    if kind in ("task", "graph") and options.given:
        raise InputError(f"{model!r} has fixed inputs; leave out --batch, --input and --fetch")
    if options.trust and kind != "keras":
        raise InputError("--trust is for Keras models in files; leave it out")
    if kind == "keras" and not options.trust and Path(model).suffix.lower() in (".h5", ".hdf5"):
        raise InputError(
            f"{model} is an HDF5 model, which can run any code when it is loaded; save it as"
            " .keras, or add --trust if you know who made it"
        )
    if kind != "graph_def" and options.fetch:
        raise InputError("--fetch is for GraphDefs; leave it out")


def load(model: str, options: Options, folder: Path | None = None) -> Loaded:
    """Return the graph of a MODEL; InputError says why it is none.

    Captures run in a child process and are kept in the cache folder, keyed by all they depend on;
    those of ``module:function`` are not, since code may depend on anything: they go into
    ``folder``, and without one their GraphDef is not kept.
    """
    kind = kind_of(model)
    check_options(model, kind, options)
    if kind == "task":
        from suite.capture.cache import graph_def_path, load_graph

        graph = load_graph(model)
        return Loaded(graph, f"task {model}", model, graph_def_path(model))
    if kind == "graph":
        return load_file(Path(model))
    if kind == "function":
        return _uncached(kind, model, options, folder)
    return _cached(kind, model, options)


def load_file(path: Path) -> Loaded:
    """Return the graph of a file; the GraphDef that runs it may lie beside it, as ``.pb``."""
    from suite.formats.interchange import read_graph

    graph = read_graph(path)
    beside = path.with_suffix(".pb")
    return Loaded(graph, f"graph file {path}", graph_def=beside if beside.exists() else None)


def _uncached(kind: str, model: str, options: Options, folder: Path | None) -> Loaded:
    origin = f"captured from {model} (not cached: code may depend on anything)"
    if folder is not None:
        path = folder / "graph.npz"
        graph = _capture(kind, model, options, path)
        return Loaded(graph, origin, graph_def=graph_def_beside(path))
    with tempfile.TemporaryDirectory(prefix="placebench-") as temporary:
        return Loaded(_capture(kind, model, options, Path(temporary) / "graph.npz"), origin)


def _cached(kind: str, model: str, options: Options) -> Loaded:
    from suite.core.paths import cache_folder
    from suite.formats.graph_npz import load_graph_file

    path = cache_folder() / "files" / f"{_key(model, options)}.npz"
    if path.exists():
        try:
            graph = load_graph_file(path)
            origin = f"captured from {model} (cached)"
            return Loaded(graph, origin, graph_def=graph_def_beside(path))
        except InputError as error:
            warnings.warn(f"{error}; capturing {model} again", stacklevel=2)
    graph = _capture(kind, model, options, path)
    origin = f"captured from {model} (cached from now on)"
    return Loaded(graph, origin, graph_def=graph_def_beside(path))


def _key(model: str, options: Options) -> str:
    """Hash of all that the capture of a file depends on; InputError if it cannot be read."""
    from suite.formats.graph_npz import FORMAT

    try:
        content = Path(model).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {model}: {error.strerror}; check the path") from None
    parts = [content, Path(model).name.encode(), json.dumps(asdict(options)).encode()]
    code = code_digest("suite.capture.tracing")
    made_by = version("tensorflow"), version("keras"), FORMAT, code
    parts += [text.encode() for text in made_by]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:32]


def _capture(kind: str, model: str, options: Options, path: Path) -> OpGraph:
    """Capture in a child process, which gives memory back and keeps what users' code prints.

    Raises InputError when the model is at fault, NativeCrash when TensorFlow dies.
    """
    from suite.formats.graph_npz import load_graph_file
    from suite.search.subprocess_call import call

    request = json.dumps({"kind": kind, "model": model, "options": asdict(options)})
    arguments = {"request": request, "path": str(path)}
    answer = call(f"capturing {model}", "suite.capture.tracing:trace", arguments, _TIMEOUT)
    if str(answer["error"]):
        raise InputError(str(answer["error"]))
    return load_graph_file(path)
