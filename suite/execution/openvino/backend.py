"""OpenVINO's HETERO plugin on the devices of this host."""

from __future__ import annotations

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.extras import require_openvino
from suite.core.machine import Machine
from suite.execution.child import Child, ChildDied, Setup, await_all
from suite.execution.measurement import Backend, Measurement, Step, Timing
from suite.execution.openvino.network import Network
from suite.execution.request import Ready, Request
from suite.execution.runner import START_LIMIT, check_devices, measured


class OpenVINOBackend(Backend):
    """Splits a model by the devices of its operations, and runs the parts one after another.

    That is what HETERO does: no two devices compute at once, and tensors between them lie in the
    host's memory. Where the host lacks a device, the CPU stands in, and what is measured is
    ``virtual``. One process runs all placements, until one fails.
    """

    name = "openvino"

    def __init__(self, machine: Machine) -> None:
        """Start the process; InputError where OpenVINO is missing or has no such devices."""
        require_openvino("backend openvino")
        for device in machine.devices:
            if device.kind not in ("cpu", "gpu"):
                raise InputError(f"device {device.name} is of kind {device.kind!r}; cpu or gpu run")
        self._kinds = tuple(device.kind for device in machine.devices)
        self._driver: Child | None = None
        self._ready = self._start()[1]

    @property
    def device_names(self) -> tuple[str, ...]:
        """OpenVINO's name of every device, in the order of the machine's devices."""
        return self._ready.device_names

    def measure(self, step: Step, devices: Ints, timing: Timing) -> Measurement:
        """Run ``step``, a Network, with each operation on ``devices`` (int[ops]).

        Every failure of the run is a Measurement; the next call starts afresh. Raises InputError
        when the placement does not fit the network or the machine.
        """
        if not isinstance(step, Network):
            raise InputError("backend openvino runs OpenVINO's models; take session or cluster")
        placement = check_devices(step, devices, len(self._kinds))
        driver, ready = self._start()
        request = Request(step, ready.device_names, placement, (), timing)
        result = None
        try:
            result = measured(driver, (), request, ready.virtual)
        finally:
            if result is None or result.status != "ok":
                self.close()
        return result

    def _start(self) -> tuple[Child, Ready]:
        """The process that runs, started where there is none."""
        if self._driver is not None:
            return self._driver, self._ready
        setup = Setup("suite.execution.openvino.driver:drive", (self._kinds,))
        driver = Child("the process that ran OpenVINO", setup)
        try:
            self._ready = await_all([driver], START_LIMIT)[0]
        except ChildDied as death:
            driver.stop()
            raise InputError(f"OpenVINO does not start: {death}") from None
        except BaseException:
            driver.stop()
            raise
        self._driver = driver
        return driver, self._ready

    def close(self) -> None:
        """End the process."""
        if self._driver is not None:
            self._driver.stop()
            self._driver = None
