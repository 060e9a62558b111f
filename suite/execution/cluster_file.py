"""Cluster files: which servers there are, where, and on which cores (TOML)."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

from suite.core.errors import InputError
from suite.formats.schema import Fields, check_fields, shown
from suite.formats.toml_file import read_toml

_FILE: Fields = {"client": (str,), "server": (list,)}
_SERVER: Fields = {"address": (str,), "cores": (list,), "start": (bool,)}


class _ServerTable(TypedDict):
    """A ``[[server]]`` of the file, once its fields are checked."""

    address: str
    cores: NotRequired[list[int]]
    start: NotRequired[bool]


@dataclass(frozen=True)
class ServerPlace:
    """One server, in the order of the machine's devices."""

    address: str
    """``host:port``."""
    cores: tuple[int, ...]
    """Cores it is pinned to; none: any."""
    start: bool
    """Whether to start it on this host; otherwise ``placebench serve`` does, there."""


@dataclass(frozen=True)
class ClusterPlan:
    """All servers, and where their client listens."""

    servers: tuple[ServerPlace, ...]
    client: str
    """``host:port`` of this host as the servers see it."""

    @property
    def elsewhere(self) -> dict[int, ServerPlace]:
        """The servers that are not started here, by number."""
        return {i: server for i, server in enumerate(self.servers) if not server.start}

    @property
    def exposed(self) -> list[str]:
        """Addresses that are not loopback ones."""
        return [a for a in (*(s.address for s in self.servers), self.client) if not _loopback(a)]


def read_cluster(path: Path) -> ClusterPlan:
    """Read a cluster file (docs/execution.md); InputError says what is wrong with it."""
    try:
        table = read_toml(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None
    try:
        check_fields(table, _FILE, ("client", "server"), "the cluster")
        servers = tuple(_server(entry, i) for i, entry in enumerate(table["server"]))
        plan = ClusterPlan(servers, _address(table["client"], "client"))
        _check_distinct(plan)
        return plan
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _server(entry: _ServerTable, number: int) -> ServerPlace:
    where = f"server {number}"
    check_fields(entry, _SERVER, ("address",), where)
    cores = entry.get("cores", [])
    if any(not isinstance(core, int) or core < 0 for core in cores):
        raise InputError(f"{where}: cores is {shown(cores)}; give whole numbers >= 0")
    address = _address(entry["address"], where)
    return ServerPlace(address, tuple(cores), entry.get("start", _loopback(address)))


def _address(text: str, where: str) -> str:
    host, _, port = text.rpartition(":")
    # int() reads no text of thousands of digits.
    number = int(port) if port.isdecimal() and len(port) <= 5 else 0
    if not host or not 0 < number < 65536:
        raise InputError(f"{where}: {shown(text)} is no address; write host:port")
    return text


def _check_distinct(plan: ClusterPlan) -> None:
    """Raise InputError where two listen at one address, of which TensorFlow would say little."""
    named = {plan.client: "client"}
    for number, server in enumerate(plan.servers):
        if server.address in named:
            raise InputError(
                f"{named[server.address]} and server {number} have one address, {server.address};"
                " give each its own"
            )
        named[server.address] = f"server {number}"


def _loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_cores(path: Path, plan: ClusterPlan, started: Iterable[int]) -> None:
    """Raise InputError where servers are to be started here on cores that this process has not.

    ``started``: their numbers; the cores of others are those of other hosts.
    """
    usable = os.sched_getaffinity(0)
    for number in started:
        lacking = sorted(set(plan.servers[number].cores) - usable)
        if lacking:
            raise InputError(
                f"{path}: server {number} has cores {lacking}, which this process has not (it may"
                f" use {sorted(usable)}); mend cores"
            )


def own_cores(count: int) -> list[tuple[int, ...]]:
    """Share this process's cores out evenly, at least one each; InputError if there are too few."""
    cores = sorted(os.sched_getaffinity(0))
    if count > len(cores):
        raise InputError(
            f"{count} servers need a core each, this process may use {len(cores)};"
            " give fewer devices or a cluster file"
        )
    share = len(cores) // count
    return [tuple(cores[i * share : (i + 1) * share]) for i in range(count)]
