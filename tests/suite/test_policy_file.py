"""A policy's file holds all that was saved, and its digest tells any two policies apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suite.core.errors import InputError
from suite.formats.policy_file import Lesson, PolicyFile

LESSONS = (
    Lesson("rnn", "a" * 16, "k40", 2, 3, "m" * 16, 40, None),
    Lesson("cnn", "b" * 16, "p100", 4, 5, "n" * 16, 50, 0.25),
    Lesson("fan", "c" * 16, "k40", 1, 3, "o" * 16, 60, 0.5),
)
MADE = PolicyFile(
    planner="gdp",
    settings={"width": 6, "hops": 1},
    vocabulary=("Relu", "MatMul", "Add"),
    lessons=LESSONS,
    seed=7,
    weights={"1": np.full((2, 3), 0.5, np.float32), "0": np.ones((2, 3), np.float32)},
    # Nothing that fits in memory was met of the first.
    answers=(None, np.array([4, 0, 1], np.uint8), np.array([2, 1, 0], np.uint8)),
    code="d" * 16,
    identity="e" * 16,
    notes={"seconds": 12.5},
)


def plain(value: Any) -> Any:
    """Arrays with their types, in a form that can be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.tolist()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def test_what_is_read_is_what_was_saved(tmp_path: Path) -> None:
    MADE.save(tmp_path / "p.npz")
    read = PolicyFile.load(tmp_path / "p.npz")
    for field in fields(PolicyFile):
        assert plain(getattr(read, field.name)) == plain(getattr(MADE, field.name)), field.name
    assert read.digest == MADE.digest
    assert read.devices == ((1, 2), (1, 4), (2, 1))


CHANGES = {
    "planner": "gdp_tuned",
    "settings": {"width": 6, "hops": 2},
    "vocabulary": ("MatMul", "Relu", "Add"),
    "lessons": (LESSONS[0], LESSONS[1], replace(LESSONS[2], evaluations=61)),
    "seed": 8,
    "weights": {"0": MADE.weights["1"], "1": MADE.weights["0"]},
    "answers": (None, MADE.answers[1], np.array([2, 1, 1], np.uint8)),
    "code": "f" * 16,
    "identity": "f" * 16,
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_policy_has_another_digest(name: str) -> None:
    assert replace(MADE, **{name: CHANGES[name]}).digest != MADE.digest


def test_weights_belong_to_their_names() -> None:
    renamed = {{"0": "a", "1": "b"}[name]: array for name, array in MADE.weights.items()}
    assert replace(MADE, weights=renamed).digest != MADE.digest


def test_what_differs_from_run_to_run_leaves_the_digest_as_it_is() -> None:
    turned = dict(reversed(MADE.weights.items()))
    assert replace(MADE, notes={"seconds": 99}, weights=turned).digest == MADE.digest


def lesson_of_another_machine(head: dict[str, Any]) -> dict[str, Any]:
    return {**head, "lessons": [*head["lessons"][:2], {**head["lessons"][2], "gpus": 2}]}


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("weights/1", lambda array: -array, "its digest is another one"),
        ("answers/1", lambda array: array[::-1], "its digest is another one"),
        ("answers/2", lambda array: array[::-1], "its digest is another one"),
        ("head", lesson_of_another_machine, "its digest is another one"),
        ("head", lambda head: {**head, "format": "placebench-policy-0"}, "another format"),
    ],
)
def test_a_file_that_was_changed_is_not_taken_for_a_policy(
    tmp_path: Path, name: str, change: Callable[[Any], Any], why: str
) -> None:
    MADE.save(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as data:
        arrays = dict(data)
    head = name == "head"
    arrays[name] = (
        np.array(json.dumps(change(json.loads(str(arrays[name])))))
        if head
        else change(arrays[name])
    )
    np.savez(tmp_path / "q.npz", **arrays)
    with pytest.raises(InputError, match=why):
        PolicyFile.load(tmp_path / "q.npz")


def test_a_policy_says_whether_it_has_seen_any_of_its_graphs() -> None:
    told = MADE.about("b" * 16, None)
    assert told["seen"]
    assert told["trained_on"][1]["task"] == "cnn"
    assert (told["digest"], told["planner"]) == (MADE.digest, "gdp")
    assert (told["seed"], told["code"]) == (7, "d" * 16)
    # The same task, whose costs may be others.
    assert MADE.about("f" * 16, "fan")["seen"]
    assert not MADE.about("f" * 16, "gnmt")["seen"]
