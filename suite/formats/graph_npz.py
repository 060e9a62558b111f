"""OpGraphs on disk: one compressed npz without pickle, versioned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.graph_checks import ARRAYS
from suite.formats.atomic import atomic
from suite.formats.schema import Fields, check_fields

FORMAT = "placebench-opgraph-1"

_HEADER: Fields = {"format": (str,), "name": (str,), "metadata": (dict,)}
_FACTS: Fields = {
    "ops_unpruned": (int,),
    "parameters": (int,),
    "paper_ops": (int, type(None)),
    "choices": (list,),
}
"""What is printed of a graph's metadata; whatever else is there says where it comes from."""


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
            _check_header(header)
            kinds = [name for name in data.files if name.startswith("seconds/")]
            return OpGraph(
                name=header["name"],
                op_names=tuple(texts["op_names"].split("\n")) if texts["op_names"] else (),
                op_types=tuple(texts["op_types"].split("\n")) if texts["op_types"] else (),
                **{name: _array(data, name, dtype) for name, dtype in ARRAYS.items()},
                seconds={name[8:]: _array(data, name, np.float64) for name in kinds},
                metadata=header["metadata"],
            )
    except FileNotFoundError:
        raise
    except Exception as error:  # one changed byte of a zip raises any of a dozen kinds
        raise InputError(f"{path} is damaged or not a {FORMAT} file: {error}") from error


def _check_header(header: dict[str, Any]) -> None:
    """Raise InputError where the header lacks something, or has what cannot be printed."""
    check_fields(header, _HEADER, tuple(_HEADER), "the header")
    facts = {name: fact for name, fact in header["metadata"].items() if name in _FACTS}
    check_fields(facts, _FACTS, (), "the metadata")
    if not all(isinstance(choice, str) for choice in facts.get("choices", ())):
        raise InputError("the metadata: choices must be a list of texts")


def _array(data: Mapping[str, NDArray[Any]], name: str, dtype: DTypeLike) -> NDArray[Any]:
    """One array of a file; InputError for numbers of another type, which would be cut to fit."""
    found = data[name]
    if found.dtype != dtype:
        raise InputError(f"{name} is {found.dtype}; give {np.dtype(dtype)}")
    return found
