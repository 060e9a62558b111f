"""A step that goes on from the middle goes on as it would have, as often as it is resumed."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import placed

from suite.simulator.compiled.heap import pop
from suite.simulator.compiled.judge import Simulator
from suite.simulator.compiled.one_event import handle
from suite.simulator.compiled.resumed import compiled, restore, roomy_workspace, simulate_before
from suite.simulator.timeline import timeline


def finish(flat, w, totals, kept, requests):
    """Go on from what was kept; when the last event happens."""
    restore(w, kept, requests)
    now = 0
    while w.heap[-1] > 0:
        now, index = pop(flat, w)
        requests = handle(flat, w, totals, now, index, requests)
    return now


@settings(max_examples=60)
@given(placed(max_ops=12), st.floats(0, 1.2))
def test_a_step_goes_on_as_it_would_have(problem_and_devices, share: float) -> None:
    problem, devices = problem_and_devices
    times = timeline(problem, devices)
    simulator = Simulator(problem)
    rules = simulator.rules._replace(bounded=True)
    # The plainest machines and those that do most at once: each set of rules takes long to compile.
    assume(rules.detailed == rules.at_once)
    w, totals = roomy_workspace(simulator.layout, rules)
    before, go_on = compiled(simulate_before, rules), compiled(finish, rules)
    until = round(share * times.result.nanoseconds)
    requests = before(simulator.layout, w, totals, devices, until)
    assert requests == np.count_nonzero(times.requested < until)
    kept = w._replace(**{name: array.copy() for name, array in w._asdict().items()})
    for _ in range(2):
        w.op_start[times.start >= max(1, until)] = -1
        end = go_on(simulator.layout, w, totals, kept, requests)
        assert w.op_start.tolist() == times.start.tolist()
        if until < times.result.nanoseconds:
            assert end == times.result.nanoseconds
