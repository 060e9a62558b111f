"""Captured graphs on disk, so that TensorFlow traces each task once."""

from __future__ import annotations

import gc
import gzip
import hashlib
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from importlib.metadata import version
from pathlib import Path

from suite.core.child_python import child_environment, python_command
from suite.core.errors import InputError
from suite.core.extras import require_openvino
from suite.core.graph import OpGraph
from suite.core.library_versions import library_version
from suite.core.model import GraphFile
from suite.core.paths import cache_folder
from suite.core.quiet_tensorflow import QUIET
from suite.core.source_digest import code_digest, libraries, reached
from suite.formats.atomic import atomic
from suite.formats.graph_npz import FORMAT, load_graph_file, save_graph
from suite.search.registry import described_task, task, task_sources


@cache
def cache_key(name: str) -> str:
    """Hash of all that a task's capture depends on: parameters, sources, the library's version."""
    models = _model_modules(name)
    if of_openvino(name):
        capture = "suite.capture.openvino.read", "suite.capture.openvino.to_graph"
        code = code_digest(*capture, "suite.formats.graph_npz", *models)
        made_by = [library_version("openvino") or "not installed"]
    else:
        code = code_digest("suite.capture.graph_def", "suite.formats.graph_npz", *models)
        made_by = [version("tensorflow"), version("keras")]
    parts = [repr(task(name)), *made_by, FORMAT, code]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@cache
def of_openvino(name: str) -> bool:
    """Whether a task is a network of OpenVINO's: its modules import that library."""
    return "openvino" in libraries(*reached(*_model_modules(name)))


def _model_modules(name: str) -> tuple[str, str]:
    """A task may be a model of another file at another size."""
    return task_sources()[name], type(task(name)).__module__


def graph_path(name: str) -> Path:
    """Where the captured graph of a task is, or will be."""
    return cache_folder() / f"{name}-{cache_key(name)}.npz"


def graph_def_path(name: str) -> Path:
    """Where the pruned GraphDef of a task is (gzipped protocol buffer); OpenVINO's have none."""
    return cache_folder() / f"{name}-{cache_key(name)}.pb.gz"


def load_graph(name: str) -> OpGraph:
    """Return a task's graph, captured first if need be (in a child process).

    A damaged cache entry is rebuilt with a warning. Raises InputError for an unknown task or one
    whose capture fails.
    """
    task(name)
    path = graph_path(name)
    if _is_captured(name):
        try:
            return load_graph_file(path)
        except InputError as error:
            warnings.warn(f"{error}; capturing {name} again", stacklevel=2)
    _capture_in_child(name)
    return load_graph_file(path)


def missing(names: Iterable[str]) -> list[str]:
    """The tasks that have not been captured yet."""
    return [name for name in dict.fromkeys(names) if not _is_captured(name)]


def _is_captured(name: str) -> bool:
    """Whether a task's graph is there, and beside it what TensorFlow runs."""
    return graph_path(name).exists() and (of_openvino(name) or graph_def_path(name).exists())


def capture_all(names: Iterable[str], workers: int) -> Iterator[str]:
    """Capture the missing tasks, ``workers`` child processes at a time; yield each when done.

    The largest come first, so that no core is left alone with one of them at the end.
    """
    todo = sorted(missing(names), key=lambda name: -(task(name).paper_ops or 0))
    pool = ThreadPoolExecutor(max(1, workers))
    try:
        running = {pool.submit(_capture_in_child, name): name for name in todo}
        for done in as_completed(running):
            done.result()
            yield running[done]
    finally:
        pool.shutdown(cancel_futures=True)


def make_folder(folder: Path) -> None:
    """Make a folder of the cache, if need be; InputError where nothing can be kept in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        why = "" if os.access(folder, os.W_OK) else "Permission denied"
    except OSError as error:
        why = str(error.strerror)
    if why:
        raise InputError(
            f"captures cannot be kept in {folder}: {why};"
            " set PLACEBENCH_CACHE to a folder that can be written"
        )


def _capture_in_child(name: str) -> None:
    """TensorFlow's memory is given back when the child ends, and two can run side by side."""
    make_folder(graph_path(name).parent)
    if of_openvino(name):
        require_openvino(f"task {name}")
    environment = child_environment(**QUIET, CUDA_VISIBLE_DEVICES="", KERAS_BACKEND="tensorflow")
    command = python_command("-m", "suite.capture.cache", name)
    child = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if child.returncode:
        last = (child.stderr.strip().splitlines() or ["no output"])[-1]
        raise InputError(f"capturing {name} failed (exit code {child.returncode}): {last}")


def capture_task(name: str) -> None:
    """Trace a task with TensorFlow and write its graph and GraphDef into the cache.

    Of a network of OpenVINO's, only its graph: the made-up weights are not kept.
    """
    model = task(name)
    facts = {"task": name, "paper_ops": model.paper_ops, "choices": list(model.choices)}
    if of_openvino(name):
        from suite.capture.openvino.read import as_stored
        from suite.capture.openvino.to_graph import to_graph

        save_graph(to_graph(as_stored(model.build()), name, facts), graph_path(name))
        return
    from suite.capture.graph_def import capture_exported
    from suite.capture.to_graph import capture

    built = model.build()
    if isinstance(built, GraphFile):
        captured = capture_exported(built, name, facts)
    else:
        from suite.capture.from_module import built_step

        step, inputs = built_step(f"build of {described_task(name)}", built)
        captured = capture(step, inputs, name, facts)
    with atomic(graph_def_path(name)) as temporary:
        payload = captured.graph_def.SerializeToString(deterministic=True)
        temporary.write_bytes(gzip.compress(payload, mtime=0))
    save_graph(captured.graph, graph_path(name))


if __name__ == "__main__":
    # A graph under construction is all alive: looking for garbage in it finds none.
    gc.disable()
    try:
        capture_task(sys.argv[1])
    except InputError as error:
        sys.exit(f"\n{error}")
    except (Exception, SystemExit) as error:
        from suite.capture.describe_exception import describe_exception

        sys.exit(f"\n{describe_exception(error)}; mend it")
