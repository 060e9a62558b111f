"""Backends by name, and the one that is open."""

from __future__ import annotations

from pathlib import Path

from suite.core.errors import InputError
from suite.core.machine import Machine
from suite.execution.measurement import Backend
from suite.formats.machine_toml import load_machine
from suite.search.registry import unknown

TENSORFLOW = ("session", "cluster")
"""Those that run TensorFlow's programs."""
BACKENDS = (*TENSORFLOW, "openvino")


def check_backend(name: str, where: str = "") -> None:
    """Raise InputError, which begins with ``where``, for a backend that there is not."""
    if name not in BACKENDS:
        raise InputError(f"{where}{unknown(name, 'backend', BACKENDS)}")


def make_backend(
    name: str, machine: Machine, cluster_file: Path | None = None, *, expose: bool = False
) -> Backend:
    """Start a backend for a machine; InputError where this host cannot be that machine.

    ``expose`` allows servers that other hosts can reach (:mod:`suite.execution.cluster`).
    """
    if name == "cluster":
        from suite.execution.cluster import ClusterBackend

        return ClusterBackend(machine, cluster_file, expose=expose)
    check_backend(name)
    if cluster_file is not None:
        raise InputError(f"a {name} needs no cluster file; leave it out, or take backend cluster")
    if expose:
        raise InputError(f"a {name} has no servers to expose; leave --expose out")
    if name == "openvino":
        from suite.execution.openvino.backend import OpenVINOBackend

        return OpenVINOBackend(machine)
    from suite.execution.session import SessionBackend

    return SessionBackend(machine)


_Key = tuple[str, str, int, str | None, bool]
_open: dict[_Key, Backend] = {}
"""What open_backend made last: one entry at most."""


def open_backend(
    name: str, machine: str, gpus: int, cluster_file: str | None, expose: bool = False
) -> Backend:
    """The backend for the first ``gpus`` GPUs of a machine, kept open until another is asked for.

    Raises InputError as :func:`make_backend` does.
    """
    key = name, machine, gpus, cluster_file, expose
    if key not in _open:
        # The old one goes first: until its processes have ended, GPU memory that they hold looks
        # taken to the new one, and cores and ports are shared.
        close_backend()
        path = None if cluster_file is None else Path(cluster_file)
        wanted = load_machine(machine).with_gpus(gpus)
        _open[key] = make_backend(name, wanted, path, expose=expose)
    return _open[key]


def close_backend() -> None:
    """Close the backend that :func:`open_backend` keeps open, if there is one."""
    while _open:
        _open.popitem()[1].close()
