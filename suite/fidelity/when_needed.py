"""A backend that is started for its first measurement: where all is recorded, there is none."""

from __future__ import annotations

from collections.abc import Callable

from suite.core.arrays import Ints
from suite.execution.measurement import Backend, Measurement, Step, Timing


class WhenNeeded(Backend):
    """The backend that ``start`` makes, when it is first asked for more than its name."""

    def __init__(self, name: str, start: Callable[[], Backend]) -> None:
        """``name`` is that of what ``start`` will make."""
        self._name, self._make = name, start
        self._started: Backend | None = None

    @property
    def name(self) -> str:
        """Known before it is started."""
        return self._name

    @property
    def device_names(self) -> tuple[str, ...]:
        """See :class:`Backend`."""
        return self._backend().device_names

    def measure(self, step: Step, devices: Ints, timing: Timing) -> Measurement:
        """See :class:`Backend`; raises InputError, too, where this host cannot be the machine."""
        return self._backend().measure(step, devices, timing)

    def start(self) -> None:
        """Start it now, and say what is wrong with this host before anything has run."""
        self._backend()

    def close(self) -> None:
        """End what was started."""
        if self._started is not None:
            self._started.close()

    def _backend(self) -> Backend:
        if self._started is None:
            self._started = self._make()
        return self._started
