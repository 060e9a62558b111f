"""TensorFlow servers over gRPC, one process a device, each on cores of its own.

Servers are kept from one measurement to the next as long as all goes well, each session with
variables of its own; after any failure the next measurement starts fresh ones.
"""

from __future__ import annotations

import socket
import time
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.machine import Machine
from suite.execution.child import Child, ChildDied, Setup, await_all, memory_limit
from suite.execution.cluster_file import (
    ClusterPlan,
    ServerPlace,
    check_cores,
    own_cores,
    read_cluster,
)
from suite.execution.measurement import Backend, Measurement, Step, Timing
from suite.execution.network import private_network
from suite.execution.request import Hardware, Ready, Request
from suite.execution.runner import check_devices, measured
from suite.execution.visible_gpus import PCI_ORDER, VISIBLE, visible_gpu

HEALTH_LIMIT = 300.0
"""Seconds within which all servers must have started and answered."""
POLL = 0.5
"""Seconds between two looks for servers that are started elsewhere."""
_OPEN = "TensorFlow's servers are unauthenticated and listen on every address of this host"


@dataclass(frozen=True)
class _Running:
    """What was started for one cluster."""

    servers: tuple[Child, ...]
    driver: Child
    stack: ExitStack
    """Ends all of it."""


class ClusterBackend(Backend):
    """Device number i of a machine is the CPU, or the GPU, of server number i."""

    name = "cluster"

    def __init__(
        self, machine: Machine, cluster_file: Path | None = None, *, expose: bool = False
    ) -> None:
        """Start servers on this host's cores, or as the cluster file says.

        InputError when there are too few cores or servers, or they do not start; and where the
        servers could be reached from other hosts, which ``expose`` allows, with a warning.
        """
        kinds = [device.kind.upper() for device in machine.devices]
        for device in machine.devices:
            if device.kind not in ("cpu", "gpu"):
                raise InputError(f"device {device.name} is of kind {device.kind!r}; cpu or gpu run")
        self._kinds = kinds
        self._memory = [device.memory for device in machine.devices]
        self._file_plan = None if cluster_file is None else _plan(cluster_file, machine)
        self._cores = own_cores(len(kinds)) if self._file_plan is None else []
        self._expose = expose
        self._warned = False
        self._running: _Running | None = None
        self._running = self._started()

    @property
    def device_names(self) -> tuple[str, ...]:
        """TensorFlow's name of every device, in the order of the machine's devices."""
        return tuple(
            f"/job:worker/replica:0/task:{task}/device:{kind}:0"
            for task, kind in enumerate(self._kinds)
        )

    @property
    def processes(self) -> tuple[int, ...]:
        """Process ids of the servers started here, in order."""
        return tuple(c.process.pid for c in self._running.servers) if self._running else ()

    def measure(self, step: Step, devices: Ints, timing: Timing) -> Measurement:
        """Run ``step`` with each operation on ``devices`` (int[ops], indices of device_names).

        Every failure of the run is a Measurement, the death of a server within seconds. Raises
        InputError when the placement does not fit the step or the machine.
        """
        placement = check_devices(step, devices, len(self._kinds))
        request = Request(step, self.device_names, placement, (True,) * len(self._kinds), timing)
        running = self._running or self._started()
        self._running = running
        result = measured(running.driver, running.servers, request, virtual=False)
        if result.status != "ok":
            self.close()
        return result

    def _started(self) -> _Running:
        stack = ExitStack()
        try:
            return self._start(stack)
        except ChildDied as death:
            stack.close()
            raise InputError(f"the cluster does not start: {death}") from None
        except BaseException:
            stack.close()
            raise

    def _start(self, stack: ExitStack) -> _Running:
        """Start the network, the servers, the driver; wait until it sees every device."""
        holder = private_network() if self._file_plan is None else None
        if holder is not None:
            stack.callback(holder.stop)
        network = None if holder is None else holder.process.pid
        plan = self._file_plan or _local_plan(self._cores)
        if network is None:
            self._check_exposed(plan)
        addresses = tuple(server.address for server in plan.servers)
        servers = []
        for task, place in enumerate(plan.servers):
            if place.start:
                servers.append(
                    Child(f"server {task}", self._setup(task, place, addresses, network))
                )
                stack.callback(servers[-1].stop)
        _await_elsewhere(plan.elsewhere)
        hardware = Hardware(1, 0, addresses, plan.client)
        environment = ((VISIBLE, ""),)
        function = "suite.execution.driver:drive"
        driver = Child(
            "the cluster's client", Setup(function, (hardware,), (), environment, network)
        )
        stack.callback(driver.stop)
        await_all(servers, HEALTH_LIMIT)
        ready: Ready = await_all([driver], HEALTH_LIMIT)[0]
        missing = sorted(set(self.device_names) - set(ready.device_names))
        if missing:
            raise InputError(f"the cluster has no {', '.join(missing)}; check its servers")
        return _Running(tuple(servers), driver, stack)

    def _setup(
        self, task: int, place: ServerPlace, addresses: tuple[str, ...], network: int | None
    ) -> Setup:
        gpus = [i for i, kind in enumerate(self._kinds) if kind == "GPU"]
        visible = visible_gpu(gpus.index(task)) if task in gpus else ""
        return Setup(
            "suite.execution.server:serve",
            (addresses, task),
            place.cores,
            ((VISIBLE, visible), PCI_ORDER, *memory_limit(self._memory[task])),
            network,
        )

    def _check_exposed(self, plan: ClusterPlan) -> None:
        """Refuse, or warn once, of servers that are in no network of their own."""
        where = f" ({', '.join(plan.exposed)})" if plan.exposed else ""
        if not self._expose:
            why = (
                "a cluster file puts them into this host's network"
                if self._file_plan is not None
                else "this host allows no network namespace to keep them in"
            )
            raise InputError(
                f"{_OPEN}{where}, and {why}: whoever reaches their ports can run programs as you;"
                " with a firewall before them add --expose, or take backend session"
            )
        if not self._warned:
            warnings.warn(f"{_OPEN}{where}; keep their ports behind a firewall", stacklevel=5)
            self._warned = True

    def close(self) -> None:
        """End all processes; the next measurement starts fresh ones."""
        if self._running is not None:
            self._running.stack.close()
            self._running = None


def _plan(cluster_file: Path, machine: Machine) -> ClusterPlan:
    """The plan of a file; InputError where it is none of this machine, or not for this host."""
    plan = read_cluster(cluster_file)
    if len(plan.servers) != machine.n_devices:
        raise InputError(
            f"{cluster_file} has {len(plan.servers)} servers, machine {machine.name}"
            f" {machine.n_devices} devices; give one for each"
        )
    check_cores(cluster_file, plan, (i for i, server in enumerate(plan.servers) if server.start))
    return plan


def _await_elsewhere(servers: Mapping[int, ServerPlace]) -> None:
    """Wait until the servers that are started elsewhere can be reached; InputError if they cannot.

    TensorFlow would wait as long, and not say for which.
    """
    end = time.monotonic() + HEALTH_LIMIT
    missing = _unreachable(servers)
    if missing:
        warnings.warn(
            f"waiting for {missing}; start what does not run yet with placebench serve",
            stacklevel=5,
        )
    while missing and time.monotonic() < end:
        time.sleep(POLL)
        missing = _unreachable(servers)
    if missing:
        raise InputError(
            f"{missing} could not be reached for {HEALTH_LIMIT:g} s; start what does not run with"
            " placebench serve, and mend addresses in the cluster file that are wrong"
        )


def _unreachable(servers: Mapping[int, ServerPlace]) -> str:
    """Those of the servers, by number, at whose address nobody listens; "" if there are none."""
    said = (
        f"server {number} at {server.address}"
        for number, server in servers.items()
        if not _listens(server.address)
    )
    return ", ".join(said)


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=2).close()
    except (OSError, UnicodeError):  # the latter for what can be no host's name
        return False
    return True


def _local_plan(cores: list[tuple[int, ...]]) -> ClusterPlan:
    *ports, last = _free_ports(len(cores) + 1)
    servers = tuple(
        ServerPlace(f"127.0.0.1:{port}", pinned, start=True)
        for port, pinned in zip(ports, cores, strict=True)
    )
    return ClusterPlan(servers, f"127.0.0.1:{last}")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
