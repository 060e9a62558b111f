"""Machines on which one thing happens at a time."""

from __future__ import annotations

from dataclasses import fields, replace

from suite.core.judged_machine import JudgedMachine
from suite.core.machine import Machine
from suite.core.problem import Problem


def in_turn(problem: Problem) -> Problem:
    """The same problem where the machine's file says ``semantics = "hetero"``."""
    machine = problem.machine
    parts = {field.name: getattr(machine, field.name) for field in fields(Machine)}
    return replace(problem, machine=JudgedMachine(**parts, semantics="hetero"))
