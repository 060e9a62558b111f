"""A session whose process stays, for many short measurements in a row."""

from __future__ import annotations

from suite.core.arrays import Ints
from suite.execution.measurement import Measurement, Step, Timing
from suite.execution.request import Request
from suite.execution.runner import check_devices, measured
from suite.execution.session import SessionBackend


class KeptSession(SessionBackend):
    """As :class:`SessionBackend`, but one process runs one measurement after another.

    TensorFlow takes up to ten seconds to load, and a profile measures hundreds of steps of
    milliseconds, fidelity a hundred placements. Peak memory is still each measurement's own: a
    session that ends gives back what it held. After a failure the next one gets a fresh process.
    """

    def measure(self, step: Step, devices: Ints, timing: Timing) -> Measurement:
        """Run ``step`` as :meth:`SessionBackend.measure` does."""
        placement = check_devices(step, devices, len(self._names))
        request = Request(step, self._names, placement, self._own, timing)
        driver, virtual = self._fresh = self._fresh or self._start()
        found = measured(driver, (), request, virtual)
        if found.status != "ok":
            self.close()
        return found
