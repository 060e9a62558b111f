"""The nodes of a Ray cluster, with one process of ours on each. A leaf: loads Ray."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from suite.core.errors import InputError
from suite.search.ray.installation import difference, installation

Say = Callable[[str], None]
"""Hears, in one line, what becomes of the nodes."""

CONNECT = 5.0
"""Seconds within which a cluster's address answers."""
LOOK = 1.0
"""Seconds between two looks for nodes that are new."""
PATIENCE = 15.0
"""Seconds until it is said that a node does not answer."""
LOSSES = 3
"""So often a node's process may be lost until the node is left out for good."""
GOODBYE = 5.0
"""Seconds that the processes have to tidy up."""


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Be a program of the cluster at ``address``: ``HOST:PORT`` of its head, or ``auto``.

    InputError where there is none, where this host is no node of it, or where its nodes run another
    version of Ray or Python.
    """
    if address != "auto":
        _check_reachable(address)
    ours = signal.getsignal(signal.SIGTERM)
    try:
        # Usage statistics are for whoever starts the cluster to decide about.
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # Ray raises half a dozen kinds, of many lines
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            f"--ray {address}: {reason}; start Ray on this host, too (ray start, docs/ray.md)"
        ) from None
    if ours is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, ours)  # Ray has taken it
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """InputError where nothing listens: Ray itself would go on trying for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise InputError(f"--ray {address}: give HOST:PORT of the cluster's head, or auto")
    try:
        socket.create_connection((host, int(port)), CONNECT).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise InputError(
            f"--ray {address}: nothing answers there ({error}); start a cluster with ray start"
            " --head (docs/ray.md)"
        ) from None


@dataclass(eq=False)
class Member:
    """A node and the process of ours on it."""

    node: str
    """Ray's id of the node."""
    name: str
    """The node in words."""
    cpus: int
    """The CPUs that Ray counts there, all of which are ours."""
    actor: Any
    """The process; what it can do is its class's."""
    since: float


class Crew:
    """One process on every node of the cluster, those that join later included."""

    def __init__(self, kind: type, arguments: tuple[object, ...], say: Say) -> None:
        """Prepare for actors of class ``kind``, each made with ``arguments`` and its CPUs.

        The class has methods ``installation`` and ``close``.
        """
        self.members: list[Member] = []
        self._kind = ray.remote(kind)
        self._arguments = arguments
        self._say = say
        self._joining: dict[Any, Member] = {}
        self._losses: Counter[str] = Counter()
        self._left_out: dict[str, str] = {}
        self._waited_for: set[str] = set()
        self._looked = -LOOK

    def join(self) -> None:
        """Take in the nodes that are new; InputError where there are none, nor any to come."""
        self.look()
        if self.members:
            return
        # There is nothing else to wait for.
        ray.wait(list(self._joining), num_returns=1, timeout=LOOK)
        self._welcome_all()
        if not self.members and not self._joining:
            reason = next(iter(self._left_out.values()), "no node with CPUs is left")
            raise InputError(f"no node of the Ray cluster can be used: {reason}")

    def look(self) -> None:
        """Take in the nodes that are new, if any; once a LOOK at most."""
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        self._invite()
        self._welcome_all()
        self._explain_waiting()

    def gather(self) -> None:
        """Wait for all nodes that are there; InputError where none can be used."""
        self.join()
        while self._joining:
            ray.wait(list(self._joining), num_returns=1, timeout=LOOK)
            self._welcome_all()
            self._explain_waiting()
        self.join()

    def _invite(self) -> None:
        """Start a process on every node that has none."""
        known = {member.node for member in (*self.members, *self._joining.values())}
        for node in ray.nodes():
            one, cpus = node["NodeID"], int(node["Resources"].get("CPU", 0))
            if not node["Alive"] or not cpus or one in known or one in self._left_out:
                continue
            where = NodeAffinitySchedulingStrategy(one, soft=False)
            actor = self._kind.options(num_cpus=cpus, scheduling_strategy=where, max_restarts=0)
            name = f"{node['NodeManagerAddress']} ({one[:6]})"
            member = Member(one, name, cpus, actor.remote(cpus, *self._arguments), self._looked)
            self._joining[member.actor.installation.remote()] = member

    def _welcome_all(self) -> None:
        """Take in the nodes whose processes have begun."""
        waiting = list(self._joining)
        ready, _ = ray.wait(waiting, num_returns=max(1, len(waiting)), timeout=0)
        for greeting in ready:
            self._welcome(greeting)

    def _welcome(self, greeting: Any) -> None:
        member = self._joining.pop(greeting)
        try:
            there: Mapping[str, str] = ray.get(greeting)
        except RayError as error:
            self._count_loss(member, error)
            return
        if wrong := difference(there, installation()):
            self._leave_out(member, f"{wrong} (install the same everywhere)")
            return
        self.members.append(member)
        self._say(f"node {member.name} joined with {member.cpus} CPUs")

    def _explain_waiting(self) -> None:
        for member in self._joining.values():
            late = time.monotonic() - member.since > PATIENCE
            if late and member.node not in self._waited_for:
                self._waited_for.add(member.node)
                self._say(
                    f"node {member.name} does not answer yet: it compiles (once a host), or"
                    " another program holds its CPUs"
                )

    def lose(self, member: Member, error: Exception, consequence: str) -> None:
        """Go on without the process of a node that is gone, or has failed."""
        self.members.remove(member)
        self._say(f"node {member.name} is lost ({_words(error)}); {consequence}")
        self._count_loss(member, error)

    def _count_loss(self, member: Member, error: Exception) -> None:
        self._end(member)
        self._losses[member.node] += 1
        if self._losses[member.node] >= LOSSES:
            self._leave_out(member, f"lost {LOSSES} times, at last by {_words(error)}")

    def _leave_out(self, member: Member, reason: str) -> None:
        self._end(member)
        self._left_out[member.node] = f"node {member.name}: {reason}"
        self._say(f"node {member.name} is left out: {reason}")

    def _end(self, member: Member) -> None:
        with suppress(RayError):
            ray.kill(member.actor)

    def close(self) -> None:
        """End all processes, whatever they are at."""
        farewells = [member.actor.close.remote() for member in self.members]
        if farewells:
            ray.wait(farewells, num_returns=len(farewells), timeout=GOODBYE)
        for member in (*self.members, *self._joining.values()):
            self._end(member)
        self.members, self._joining = [], {}


def _words(error: Exception) -> str:
    """The kind of an error and the first line of what it says, of what was raised at its root."""
    cause = getattr(error, "cause", None)
    one = cause if isinstance(cause, Exception) else error
    lines = str(one).strip().splitlines() or [""]
    return f"{type(one).__name__}: {lines[0]}"[:200]
