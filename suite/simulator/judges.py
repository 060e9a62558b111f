"""Which simulator judges by which semantics, and which semantics a machine has."""

from __future__ import annotations

from suite.core.errors import InputError
from suite.core.judged_machine import JudgedMachine
from suite.core.machine import Machine
from suite.core.problem import Problem
from suite.simulator.compiled.judge import Simulator
from suite.simulator.semantics import HETERO, PLACEBENCH, Semantics
from suite.simulator.sequential.judge import SequentialSimulator

AnySimulator = Simulator | SequentialSimulator


def own_semantics(machine: Machine) -> Semantics:
    """What a step is on this machine, unless other rules are asked for: its file's, or the default.

    InputError where the file names none that a machine may have.
    """
    if not isinstance(machine, JudgedMachine):
        return PLACEBENCH
    for rules in (PLACEBENCH, HETERO):
        if machine.semantics == rules.name:
            return rules
    known = f"{PLACEBENCH.name}, {HETERO.name}"
    raise InputError(f"machine {machine.name}: semantics is {machine.semantics!r}; one of {known}")


def make_simulator(
    problem: Problem, semantics: Semantics | None = None, policy: str | None = None
) -> AnySimulator:
    """The simulator of a problem by these semantics and this policy, by default the machine's own.

    Raises InputError for a problem that it cannot count.
    """
    rules = semantics or own_semantics(problem.machine)
    if rules.sequential:
        return SequentialSimulator(problem)
    return Simulator(problem, policy, rules)
