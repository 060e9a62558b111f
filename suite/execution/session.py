"""TensorFlow sessions on the devices of this host, in a process that stays."""

from __future__ import annotations

import warnings

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.machine import Machine
from suite.execution.child import Child, ChildDied, Setup, await_all, memory_limit
from suite.execution.measurement import Backend, Measurement, Step, Timing
from suite.execution.request import Hardware, Ready, Request
from suite.execution.runner import START_LIMIT, check_devices, measured
from suite.execution.visible_gpus import PCI_ORDER, VISIBLE

_JOB = "/job:localhost/replica:0/task:0/device:"


class SessionBackend(Backend):
    """A machine's CPUs as logical ones, its GPUs as those of the host.

    One GPU is split where the machine has more than the host; then, and with several CPUs, what is
    measured is ``virtual``. Each measurement has a session of its own, which gives back what it
    held when it ends. They run in one process, since TensorFlow takes up to ten seconds to load and
    a profile measures hundreds of steps of milliseconds; after a failure the next one gets a fresh
    process.
    """

    name = "session"

    def __init__(self, machine: Machine) -> None:
        """Start the process; InputError where the host lacks what the machine has."""
        kinds = [device.kind for device in machine.devices]
        for device in machine.devices:
            if device.kind not in ("cpu", "gpu"):
                raise InputError(f"device {device.name} is of kind {device.kind!r}; cpu or gpu run")
        self._cpu_memory = sum(d.memory for d in machine.devices if d.kind == "cpu")
        self._hardware = Hardware(kinds.count("cpu"), kinds.count("gpu"))
        self._names = tuple(
            f"{_JOB}{kind.upper()}:{kinds[:i].count(kind)}" for i, kind in enumerate(kinds)
        )
        self._own = tuple(kind == "gpu" or kinds.count("cpu") == 1 for kind in kinds)
        self._running: tuple[Child, bool] | None = self._start()

    @property
    def device_names(self) -> tuple[str, ...]:
        """TensorFlow's name of every device, in the order of the machine's devices."""
        return self._names

    def measure(self, step: Step, devices: Ints, timing: Timing) -> Measurement:
        """Run ``step`` with each operation on ``devices`` (int[ops], indices of device_names).

        Every failure of the run is a Measurement. Raises InputError when the placement does not
        fit the step or the machine.
        """
        placement = check_devices(step, devices, len(self._names))
        request = Request(step, self._names, placement, self._own, timing)
        driver, virtual = self._running = self._running or self._start()
        found = measured(driver, (), request, virtual)
        if found.status != "ok":
            self.close()
        return found

    def _start(self) -> tuple[Child, bool]:
        hidden = (PCI_ORDER,) if self._hardware.gpus else ((VISIBLE, ""),)
        environment = (*hidden, *memory_limit(self._cpu_memory or 2**40))
        setup = Setup("suite.execution.driver:drive", (self._hardware,), environment=environment)
        driver = Child("the process that ran the step", setup)
        try:
            ready: Ready = await_all([driver], START_LIMIT)[0]
            missing = sorted(set(self._names) - set(ready.device_names))
            if ready.refusal or missing:
                raise InputError(ready.refusal or f"this host has no {', '.join(missing)}")
        except ChildDied as death:
            driver.stop()
            raise InputError(f"TensorFlow does not start: {death}") from None
        except BaseException:
            driver.stop()
            raise
        if ready.warning:
            warnings.warn(ready.warning, stacklevel=1)  # of one place: told once, not at each start
        return driver, ready.virtual

    def close(self) -> None:
        """End the process that waits for the next measurement."""
        if self._running is not None:
            self._running[0].stop()
            self._running = None
