"""Which rules a simulation has, known to the compiler: what is off costs nothing.

Each rule is a name below, which the simulator's functions ask for. Each set of rules is compiled on
its own, and the names stand for its rules (:func:`compiled_by`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from suite.core.compilation import lean_kernel, with_globals
from suite.core.machine import Machine
from suite.simulator.lanes import at_once
from suite.simulator.semantics import Semantics

Compiled = TypeVar("Compiled", bound=Callable[..., object])
NO_OTHERS: Mapping[str, object] = MappingProxyType({})

BROADCAST = False
BOOKED = False
TRAILING = False
RESTING = False
BLOCKS = False
ALLOC_AT_END = False
DETAILED = False
PAUSING = False
AT_ONCE = False
TIMED = False
WIDE = False
LONG = False
BOUNDED = False


class Rules(NamedTuple):
    """Rules of :class:`suite.simulator.semantics.Semantics`, and what follows from them and from
    the size of machine and graph."""

    broadcast: bool
    booked: bool
    trailing: bool
    """``trailing_latency``."""
    resting: bool
    """Whether there is a ``rest``."""
    blocks: bool
    alloc_at_end: bool
    detailed: bool
    """Whether transfers may keep devices from computing, or the policy is ``stack``."""
    pausing: bool
    """``resting`` or ``detailed``: a device may be neither idle nor computing."""
    at_once: bool = False
    """Whether several things may happen at once (:func:`suite.simulator.lanes.at_once`)."""
    timed: bool = False
    """Whether there are deadlines."""
    wide: bool = False
    """Whether the machine has more copy engines than a word has bits."""
    long: bool = False
    """Whether a step could last too long for its time to share a word with a request's number."""
    bounded: bool = False
    """Whether peaks of memory need only be upper bounds, which takes no account of each reader."""


def rules_of(
    machine: Machine, policy: str, semantics: Semantics, wide: bool = False, long: bool = False
) -> Rules:
    """Tell the compiler what a machine, a policy and semantics ask for."""
    detailed = policy == "stack" or (semantics.of_machine and machine.occupied)
    return Rules(
        broadcast=semantics.broadcast,
        booked=semantics.booked,
        trailing=semantics.trailing_latency,
        resting=semantics.rest > 0,
        blocks=semantics.blocks,
        alloc_at_end=semantics.alloc_at_end,
        detailed=detailed,
        pausing=detailed or semantics.rest > 0,
        at_once=at_once(machine, semantics),
        wide=wide,
        long=long,
    )


def compiled_by(
    rules: Rules, function: Compiled, others: Mapping[str, object] = NO_OTHERS
) -> Compiled:
    """A function for a set of rules; it is compiled when it is first called.

    The names ``others`` mean something else in it, too.
    """
    each = rules._asdict()
    named = {name.upper(): on for name, on in each.items()}
    variant = "-".join(name for name, on in each.items() if on)
    return lean_kernel(with_globals(function, {**named, **others}), variant)
