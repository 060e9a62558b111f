"""What OpenVINO is to run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from suite.capture.options import Options
from suite.execution.measurement import Step


@dataclass(frozen=True, eq=False)
class Network(Step):
    """One inference of a model of OpenVINO's, which the process that runs it reads or builds."""

    model: str = ""
    """A task, a file or ``package.module:function``, as on the command line."""
    options: Options = field(default_factory=Options)
    """What that leaves open."""

    @classmethod
    def of(cls, model: str, op_names: tuple[str, ...], options: Options, seed: int = 0) -> Network:
        """An inference of the model whose operations are ``op_names``; ``seed``: of its inputs."""
        return cls(Path(model), op_names, seed, model, options)
