"""The harness: graphs, machines, the simulator, cells, records, tables.

The author of a placer finds all that it needs here: ``from suite import Placement, Search``; who
has a training step and a placement of it, ``suite.apply``; a notebook, the simulator and records.
A name is imported when it is first used, so that ``import suite`` loads nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suite.core.errors import BudgetExhausted as BudgetExhausted
    from suite.core.errors import InputError as InputError
    from suite.core.errors import Unsupported as Unsupported
    from suite.core.graph import OpGraph as OpGraph
    from suite.core.machine import Machine as Machine
    from suite.core.placement import Placement as Placement
    from suite.core.problem import Problem as Problem
    from suite.core.scores import Scores as Scores
    from suite.execution.apply import apply as apply
    from suite.formats.interchange import read_graph as read_graph
    from suite.formats.interchange import read_placement as read_placement
    from suite.formats.interchange import write_graph as write_graph
    from suite.formats.interchange import write_placement as write_placement
    from suite.formats.machine_toml import load_machine as load_machine
    from suite.report.load_records import load_records as load_records
    from suite.search.placer import Placer as Placer
    from suite.search.placer import Search as Search
    from suite.simulator.compiled.judge import Simulator as Simulator
    from suite.simulator.critical_path import critical_path as critical_path
    from suite.simulator.timeline import timeline as timeline

_HOMES = {
    "suite.core.errors": ("BudgetExhausted", "InputError", "Unsupported"),
    "suite.core.graph": ("OpGraph",),
    "suite.core.machine": ("Machine",),
    "suite.core.placement": ("Placement",),
    "suite.core.problem": ("Problem",),
    "suite.core.scores": ("Scores",),
    "suite.execution.apply": ("apply",),
    "suite.formats.interchange": ("read_graph", "read_placement", "write_graph", "write_placement"),
    "suite.formats.machine_toml": ("load_machine",),
    "suite.report.load_records": ("load_records",),
    "suite.search.placer": ("Placer", "Search"),
    "suite.simulator.compiled.judge": ("Simulator",),
    "suite.simulator.critical_path": ("critical_path",),
    "suite.simulator.timeline": ("timeline",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    """Import one of ``__all__`` from where it lives."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
