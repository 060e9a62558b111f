"""One event of a step and all that follows from it at once."""

from __future__ import annotations

from suite.core.compilation import inline
from suite.simulator.compiled.channels import end_hold, serve, submit
from suite.simulator.compiled.events import end_operation, end_transfer, join, start_operation
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.occupancy import owe, pause
from suite.simulator.compiled.rules import AT_ONCE, BOOKED, BROADCAST, DETAILED
from suite.simulator.compiled.state import Totals, Work


@inline
def handle(flat: Layout, w: Work, totals: Totals, now: int, index: int, requests: int) -> int:
    """Handle an event that was taken out of the heap; the number of requests there are now."""
    lanes, edges = len(w.running), len(w.tensor)
    before = requests
    if AT_ONCE and index >= lanes + edges:
        end_hold(flat, w, totals, index - lanes - edges, now)
    else:
        line = -1
        if index < lanes:
            device = flat.graph.lane_device[index] if AT_ONCE else index
            requests = end_operation(flat, w, totals, index, device, now, requests)
            requests = join(flat, w, totals, device, now, requests, False)
            if DETAILED:
                pause(flat, w, index, device, now, before, requests)
        else:
            device = w.target[index - lanes]
            line = end_transfer(flat, w, index - lanes, now)
            requests = join(flat, w, totals, device, now, requests, True)
            if DETAILED:
                owe(flat, w, index - lanes)
        # Below, what follows any event stands once: each copy of it would take long to compile.
        if BROADCAST and index >= lanes:
            for other in range(len(w.used)):
                start_operation(flat, w, totals, other, now)
        else:
            start_operation(flat, w, totals, device, now)
        # In one event, operations start before transfers.
        if not BOOKED:
            if index < lanes:
                for number in range(before, requests):
                    submit(flat, w, totals, number, now)
            elif not AT_ONCE and line >= 0:
                serve(flat, w, totals, line, now)
    return requests
