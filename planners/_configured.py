"""What the Hierarchical Planner and its ablations have in common: their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planners._settings import Settings, configuration


@dataclass(frozen=True)
class Configured:
    """A configuration of HDP, and changes to it."""

    configuration: str = "paper"
    """``paper``, ``tf_release`` or ``tuned`` (planners/_settings.py)."""
    change: Mapping[str, Any] = field(default_factory=dict)
    """Settings to change in it, such as ``{"updates": 100}``."""
    settings: Settings = field(init=False)
    """The settings that follow."""

    def __post_init__(self) -> None:
        """Resolve the settings; InputError names an unknown one."""
        settings = configuration(self.configuration).with_changes(self.change)
        object.__setattr__(self, "settings", settings)
