"""OpGraphs on disk: one compressed npz without pickle, versioned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.graph_checks import ARRAYS
from suite.formats.atomic import atomic

FORMAT = "placebench-opgraph-1"


def save_graph(graph: OpGraph, path: Path) -> None:
    """Write a graph whole or not at all."""
    header = {"format": FORMAT, "name": graph.name, "metadata": dict(graph.metadata)}
    arrays: dict[str, Any] = {name: getattr(graph, name) for name in ARRAYS}
    arrays |= {f"seconds/{kind}": values for kind, values in graph.seconds.items()}
    texts = {"header": json.dumps(header), "op_names": "\n".join(graph.op_names)}
    texts["op_types"] = "\n".join(graph.op_types)
    arrays |= {name: np.frombuffer(t.encode(), np.uint8) for name, t in texts.items()}
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def load_graph_file(path: Path) -> OpGraph:
    """Read what :func:`save_graph` wrote; InputError if the file is damaged."""
    try:
        with np.load(path, allow_pickle=False) as data:
            texts = {
                name: bytes(data[name]).decode() for name in ("header", "op_names", "op_types")
            }
            header = json.loads(texts["header"])
            if header["format"] != FORMAT:
                raise ValueError(f"format {header['format']}")
            return OpGraph(
                name=header["name"],
                op_names=tuple(texts["op_names"].split("\n")) if texts["op_names"] else (),
                op_types=tuple(texts["op_types"].split("\n")) if texts["op_types"] else (),
                **{name: data[name] for name in ARRAYS},
                seconds={k[8:]: data[k] for k in data.files if k.startswith("seconds/")},
                metadata=header["metadata"],
            )
    except FileNotFoundError:
        raise
    except Exception as error:  # one changed byte of a zip raises any of a dozen kinds
        raise InputError(f"{path} is damaged or not a {FORMAT} file: {error}") from error
