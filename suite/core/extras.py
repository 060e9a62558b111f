"""Optional packages: what needs one says how to install it."""

from __future__ import annotations

from importlib.util import find_spec

from suite.core.errors import InputError


def require_openvino(what: str) -> None:
    """Raise InputError, in one line, where ``what`` needs OpenVINO and it is not installed."""
    _require("openvino", "OpenVINO", what)


def require_ray(what: str) -> None:
    """Raise InputError, in one line, where ``what`` needs Ray and it is not installed."""
    _require("ray", "Ray", what)


def _require(module: str, name: str, what: str) -> None:
    if find_spec(module) is None:
        raise InputError(
            f"{what} needs {name}, which is not installed; pip install 'placebench[{module}]'"
        )
