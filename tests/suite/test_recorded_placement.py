"""The placement beside a record: which device each operation is on, and of which graph it may be.

Records are written by hand here; `test_interchange.py` reads one that a grid has made.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suite.core.arrays import digest
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.formats.recorded_placement import recorded_names

NAMES = ("cpu:0", *(f"gpu:{i}" for i in range(11)))


def graph() -> OpGraph:
    """Three operations, of 6 FLOP; the first makes two tensors, and the others read one of them."""
    names, consumers = ["a", "b", "c"], [(0, 1), (0, 2)]
    return OpGraph.create("mine", names, ["Op"] * 3, [0, 0], consumers, flops=[1, 2, 3])


def written(path: Path, devices: list[int], **about: Any) -> dict[str, Any]:
    """The record, with its placement beside it; ``about`` is what else it says of its graph."""
    numbers = np.array(devices, np.int32)
    np.savez(path.with_suffix(".npz"), devices=numbers)
    record = {
        "placement_hash": digest([numbers]),
        "graph": {"name": "mine", "ops": 3, "tensors": 2} | about,
        "capacity": dict.fromkeys(NAMES, 10**9),
    }
    path.write_text(json.dumps(record))
    read: dict[str, Any] = json.loads(path.read_text())
    return read


def test_devices_are_called_as_the_record_orders_them(tmp_path: Path) -> None:
    """By number gpu:2 is before gpu:10, by the letters of its name behind it."""
    path = tmp_path / "seed0.json"
    record = written(path, [0, 3, 11], edges=2, flops=6.0)
    assert recorded_names(record, path, graph()) == {"a": "cpu:0", "b": "gpu:2", "c": "gpu:10"}


def test_an_older_record_that_says_less_of_its_graph_is_read_without_a_warning(
    tmp_path: Path,
) -> None:
    path = tmp_path / "seed0.json"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names = recorded_names(written(path, [1, 1, 1]), path, graph())
    assert set(names.values()) == {"gpu:0"}


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"edges": 3}, r"\(3 edges for 2\)"),
        ({"edges": 2, "tensors": 3}, r"\(3 tensors for 2\)"),
        ({"ops": 4, "edges": 3}, r"\(4 ops for 3, 3 edges for 2\)"),
    ],
)
def test_a_graph_of_another_size_is_refused(
    about: dict[str, int], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "seed0.json"
    with pytest.raises(InputError, match=rf"another graph than 'mine' {words}; give the task"):
        recorded_names(written(path, [0, 0, 0], **about), path, graph())


def test_a_device_without_a_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "seed0.json"
    with pytest.raises(InputError, match=r"seed0\.json is not the one it was made of"):
        recorded_names(written(path, [0, 0, len(NAMES)]), path, graph())
