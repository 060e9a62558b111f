"""Backends by name, and the one that is open."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from suite.core.errors import InputError
from suite.core.machine import Machine
from suite.execution.measurement import Backend
from suite.formats.machine_toml import load_machine

BACKENDS = ("session", "cluster")


def make_backend(name: str, machine: Machine, cluster_file: Path | None = None) -> Backend:
    """Start a backend for a machine; InputError where this host cannot be that machine."""
    if name == "cluster":
        from suite.execution.cluster import ClusterBackend

        return ClusterBackend(machine, cluster_file)
    if name != "session":
        raise InputError(f"there is no backend {name!r}; one of {', '.join(BACKENDS)}")
    if cluster_file is not None:
        raise InputError("a session needs no cluster file; leave it out, or take backend cluster")
    from suite.execution.session import SessionBackend

    return SessionBackend(machine)


@lru_cache(maxsize=1)
def _kept(name: str, machine: str, gpus: int, cluster_file: str | None) -> Backend:
    path = None if cluster_file is None else Path(cluster_file)
    return make_backend(name, load_machine(machine).with_gpus(gpus), path)


_open: list[Backend] = []


def open_backend(name: str, machine: str, gpus: int, cluster_file: str | None) -> Backend:
    """The backend for the first ``gpus`` GPUs of a machine, kept open until another is asked for.

    Raises InputError as :func:`make_backend` does.
    """
    backend = _kept(name, machine, gpus, cluster_file)
    for other in [b for b in _open if b is not backend]:
        other.close()
    _open[:] = [backend]
    return backend
