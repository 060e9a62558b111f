"""The fastest placement on two devices that take turns, by a minimum cut (suite/bounds/min_cut.py).

It exists under the semantics ``hetero`` alone: OpenVINO's HETERO plugin runs the parts of a network
one after another. Not among the placers of HSDAG's paper (Duan et al., NeurIPS 2024), whose Table 2
was measured with that plugin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suite.bounds.min_cut import min_cut
from suite.core.errors import InputError, Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.units import format_bytes
from suite.search.placer import Search
from suite.simulator.judges import make_simulator, own_semantics


@dataclass(frozen=True)
class MinCutExact:
    """A minimum s-t cut, exact; of several the one with least on the first device."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the optimum by the machine's own semantics, whatever the search is judged by.

        Raises Unsupported where that is not ``hetero`` with two devices, where a step takes two
        seconds or more, and where the optimum does not fit in memory, which a cut knows nothing of.
        """
        machine = problem.machine
        semantics = own_semantics(machine)
        if not semantics.sequential or machine.n_devices != 2:
            raise Unsupported(
                f"a minimum cut needs two devices under semantics hetero; {machine.name} has"
                f" {machine.n_devices} under {semantics.name}"
            )
        try:
            cut = min_cut(problem)
        except InputError as error:
            raise Unsupported(str(error)) from None
        placement = Placement.of_classes(problem, cut.devices.astype(np.int32))
        result = make_simulator(problem, semantics).run(placement.devices)
        for device, full in enumerate(result.oom):
            if full:
                needs = format_bytes(int(result.peak_memory[device]))
                raise Unsupported(
                    f"the minimum cut needs {needs} on {machine.devices[device].name}, which has"
                    f" {format_bytes(machine.devices[device].memory)}; a cut knows no memory"
                )
        return placement
