"""What a user may call MODEL -> OpGraph: a task, a graph, what TensorFlow or OpenVINO reads."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import warnings
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from suite.capture.options import Options
from suite.core.errors import InputError
from suite.core.extras import require_openvino
from suite.core.graph import OpGraph
from suite.core.source_digest import code_digest

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
    ".meta": "graph_def",
    ".xml": "openvino",
    ".onnx": "openvino",
    ".tflite": "openvino",
    ".pdmodel": "openvino",
}


SAVED_MODEL = "saved_model.pb"
"""The file by which a folder is a SavedModel."""


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


def graph_def_of(graph: Path) -> Path:
    """Where the GraphDef that runs a user's graph file is: a protocol buffer."""
    return graph.with_suffix(".pb")


def kind_of(model: str) -> str:
    """Which way in a model takes: ``task``, ``saved_model`` (a folder), by its suffix, or
    ``function`` (by its colon). What may be a task that there is not is a ``task``, too.
    """
    if _names_task(model):
        return "task"
    if (Path(model) / SAVED_MODEL).is_file():
        return "saved_model"
    kind = _SUFFIXES.get(Path(model.removesuffix(".gz")).suffix.lower())
    if kind == "graph_def" or (kind and not model.endswith(".gz")):
        return kind
    if ":" in model:
        return "function"
    if re.search(r"[./\\]", model) or Path(model).exists():
        raise InputError(
            f"cannot tell what {model!r} is; give a task, a graph (.json, .npz), a Keras model"
            " (.keras, .h5), a SavedModel's folder, a GraphDef (.pb, .pbtxt, .pb.gz) or MetaGraph"
            " (.meta), what OpenVINO reads (.xml, .onnx, .tflite, .pdmodel) or"
            " package.module:function"
        )
    return "task"


def _names_task(model: str) -> bool:
    """Whether a model is a task, also where a folder has its name: that is ``./nmt_4``."""
    from suite.search.registry import task_sources

    return re.fullmatch(r"\w+", model) is not None and model in task_sources()


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
    if kind not in ("graph_def", "saved_model") and options.fetch:
        raise InputError("--fetch is for GraphDefs and SavedModels; leave it out")


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
        return Loaded(graph, f"task {model}", model, _if_there(graph_def_path(model)))
    if kind == "graph":
        return load_file(Path(model))
    if kind == "openvino":
        require_openvino(model)
    if kind == "function":
        return _uncached(kind, model, options, folder)
    return _cached(kind, model, options)


def load_file(path: Path) -> Loaded:
    """Return the graph of a file; the GraphDef that runs it may lie beside it."""
    from suite.formats.interchange import read_graph

    return Loaded(read_graph(path), f"graph file {path}", graph_def=_if_there(graph_def_of(path)))


def _uncached(kind: str, model: str, options: Options, folder: Path | None) -> Loaded:
    origin = f"captured from {model} (not cached: code may depend on anything)"
    if folder is not None:
        path = folder / "graph.npz"
        graph = _capture(kind, model, options, path)
        return Loaded(graph, origin, graph_def=_if_there(graph_def_beside(path)))
    with tempfile.TemporaryDirectory(prefix="placebench-") as temporary:
        return Loaded(_capture(kind, model, options, Path(temporary) / "graph.npz"), origin)


def _cached(kind: str, model: str, options: Options) -> Loaded:
    from suite.capture.cache import make_folder
    from suite.core.paths import cache_folder
    from suite.formats.graph_npz import load_graph_file

    path = cache_folder() / "files" / f"{_key(model, options)}.npz"
    if path.exists() and (kind == "openvino" or graph_def_beside(path).exists()):
        try:
            graph = load_graph_file(path)
            origin = f"captured from {model} (cached)"
            return Loaded(graph, origin, graph_def=_if_there(graph_def_beside(path)))
        except InputError as error:
            warnings.warn(f"{error}; capturing {model} again", stacklevel=2)
    make_folder(path.parent)
    graph = _capture(kind, model, options, path)
    origin = f"captured from {model} (cached from now on)"
    return Loaded(graph, origin, graph_def=_if_there(graph_def_beside(path)))


def _if_there(graph_def: Path) -> Path | None:
    """OpenVINO's models have none, and a graph file need not."""
    return graph_def if graph_def.exists() else None


def _key(model: str, options: Options) -> str:
    """Hash of all that the capture of a file depends on; InputError if it cannot be read."""
    from suite.formats.graph_npz import FORMAT

    path, libraries, kind = Path(model), ["tensorflow", "keras"], kind_of(model)
    # Of a SavedModel's variables only the sizes are captured, which this file has.
    files = [path / SAVED_MODEL if kind == "saved_model" else path]
    if kind == "openvino":
        libraries = ["openvino"]
        weights = path.with_suffix(".bin")  # shapes may be among them
        files += [weights] if path.suffix == ".xml" and weights.exists() else []
    digest = hashlib.sha256()
    for file in files:
        digest.update(_content(file))
    made_by = [version(library) for library in libraries]
    texts = [path.name, json.dumps(asdict(options)), *made_by, FORMAT]
    for text in [*texts, code_digest("suite.capture.tracing")]:
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()[:32]


def _content(path: Path) -> bytes:
    """Hash of a file; InputError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None


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
