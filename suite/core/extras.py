"""Optional packages: what needs one says how to install it."""

from __future__ import annotations

from importlib.util import find_spec

from suite.core.errors import InputError


def require_openvino(what: str) -> None:
    """Raise InputError, in one line, where ``what`` needs OpenVINO and it is not installed."""
    if find_spec("openvino") is None:
        raise InputError(
            f"{what} needs OpenVINO, which is not installed; pip install 'placebench[openvino]'"
        )
