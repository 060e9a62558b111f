"""A policy that was trained on several graphs, as a planner takes it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from planners.nn.tensor import Variable
from suite.core.errors import InputError, Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.policy_file import PolicyFile
from suite.search.placer import Search


class Planner(Protocol):
    """A planner that may start from a policy file."""

    @property
    def policy(self) -> str:
        """The file; empty: none."""
        ...


P = TypeVar("P", bound=Planner)


@dataclass(frozen=True, eq=False)
class Trained(Generic[P]):
    """What a policy file holds for a planner."""

    settings: P
    """The planner with the network's settings of the file."""
    vocabulary: tuple[str, ...]
    devices: int
    """The most that it was trained with."""
    weights: Mapping[str, NDArray[np.float32]]
    path: str

    @classmethod
    def load(cls, planner: P, network: Sequence[str], problem: Problem) -> Trained[P]:
        """Read the planner's policy file for a problem.

        ``network`` names the planner's parameters that the weights depend on: they must be at their
        defaults or the file's. InputError where the file is of another planner, of other devices,
        or none.
        """
        found, name = PolicyFile.load(Path(planner.policy)), _name(planner)
        if found.planner != name:
            raise InputError(
                f"policy {planner.policy} is one of {found.planner}, not of {name}; name"
                f" {found.planner}, or train another"
            )
        here = len(problem.machine.cpus), len(problem.machine.gpus)
        if here not in found.devices:
            raise InputError(
                f"policy {planner.policy} was trained with {_devices(*found.devices)}, here are"
                f" {_devices(here)}; choose --gpus or another policy"
            )
        settings = replace(planner, **_settings(planner, network, found))  # type: ignore[type-var]
        return cls(
            settings, found.vocabulary, max(map(sum, found.devices)), found.weights, planner.policy
        )

    def put_into(self, variables: Sequence[Variable]) -> None:
        """Set weights; InputError where their number or their shapes are others."""
        shapes = [tuple(variable.shape) for variable in variables]
        stored = [self.weights.get(str(i)) for i in range(len(self.weights))]
        if shapes != [None if array is None else array.shape for array in stored]:
            raise InputError(f"policy {self.path} has other weights; train it again")
        for variable, array in zip(variables, stored, strict=True):
            variable.assign(array)


def best_in_training(path: str, problem: Problem, search: Search) -> Placement:
    """The fastest placement that fits in memory which a policy met while it was trained.

    Raises Unsupported where it was not trained on this graph and machine, or nothing fitted;
    InputError for a bad file.
    """
    found = PolicyFile.load(Path(path))
    known = [(lesson.graph, lesson.devices_fingerprint) for lesson in found.lessons]
    wanted = problem.graph.fingerprint, problem.machine.fingerprint
    if wanted not in known:
        raise Unsupported(f"policy {path} was not trained on this graph and machine")
    at = known.index(wanted)
    search.note(evaluations_in_training=found.lessons[at].evaluations)
    answer = found.answers[at]
    if answer is None:
        raise Unsupported(f"policy {path} met no placement of this graph that fits in memory")
    return Placement.of(problem, answer.astype(np.int32))


def weights_of(variables: Sequence[Variable]) -> dict[str, NDArray[np.float32]]:
    """Weights by position."""
    return {str(i): variable.numpy().astype(np.float32) for i, variable in enumerate(variables)}


def _settings(planner: P, network: Sequence[str], found: PolicyFile) -> dict[str, object]:
    """The file's settings of the network, unless the planner was asked for others."""
    defaults = {field.name: field.default for field in fields(planner)}  # type: ignore[arg-type]
    for name in network:
        asked, there = getattr(planner, name), found.settings.get(name)
        if asked not in (defaults[name], there):
            raise InputError(
                f"policy {planner.policy} has {name} {there}, not {asked}; leave {name} out"
            )
    return {name: found.settings[name] for name in network if name in found.settings}


def _devices(*found: tuple[int, int]) -> str:
    return " or ".join(f"{cpus} CPU and {gpus} GPU" for cpus, gpus in found)


def _name(planner: Planner) -> str:
    return type(planner).__module__.rpartition(".")[2]
