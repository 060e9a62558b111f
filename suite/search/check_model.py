"""What is wrong with a model that a file of ``models/`` lists."""

from __future__ import annotations

from suite.core.errors import InputError
from suite.core.model import Model

MEMBERS = tuple(member for member in vars(Model) if not member.startswith("_"))
"""What a model has."""
METHODS = ("build", "expert", "block")
"""``block`` may be None: the model has no co-location groups of its own."""


def check_model(where: str, model: Model) -> None:
    """Raise InputError, which begins with ``where``, for what is no model at all or lacks a part.

    What its methods do is seen when they are called.
    """
    if isinstance(model, type):
        name = model.__name__
        raise InputError(f"{where} is the class {name}; list one of it, {name}(...), in TASKS")
    missing = [member for member in MEMBERS if not hasattr(model, member)]
    if missing:
        raise InputError(
            f"{where} has no {missing[0]}; a model has {', '.join(MEMBERS)} (suite/core/model.py)"
        )
    if type(model.gpus) is not int or model.gpus < 0:
        raise InputError(f"{where}: gpus is {model.gpus!r}; give a whole number >= 0")
    if model.paper_ops is not None and type(model.paper_ops) is not int:
        raise InputError(f"{where}: paper_ops is {model.paper_ops!r}; give a whole number or None")
    texts = model.choices
    if not isinstance(texts, tuple | list) or not all(isinstance(one, str) for one in texts):
        raise InputError(f"{where}: choices is {texts!r}; give a tuple of texts")
    for method in METHODS:
        given = getattr(model, method)
        if not callable(given) and not (method == "block" and given is None):
            raise InputError(f"{where}: {method} is no method")
