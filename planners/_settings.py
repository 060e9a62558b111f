"""Hyper-parameters of the Hierarchical Planner, and its three configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from suite.core.errors import InputError


@dataclass(frozen=True)
class Settings:
    """The defaults are the paper's (HDP, sections 3 and 4.2).

    Where it is silent, those of the authors' released code are used, or, where that cannot have
    been what they ran, ours; both are named.
    """

    groups: int = 256
    """Groups offered to the Grouper."""
    groups_per_device: int = 0
    """Offer at most this many groups per device (0: no such limit)."""
    type_embedding: int = 20
    """Size of the learned embedding of an operation's type; 0: its number, as one feature."""
    outputs: int = 6
    """Outputs whose shapes are features."""
    dimensions: int = 4
    """Dimensions of each of them."""
    adjacency: int = 12
    """Numbers that describe an operation's neighbours."""
    neighbours: str = "breadth_first"
    """``breadth_first``: positions of producers, then of readers; ``signed``: (index, sign)."""
    op_scale: str = "standard"
    """``raw`` or ``standard`` (logarithms, mean 0, deviation 1). Not in the paper; raw ones, as in
    the released code, saturate the Grouper's softmax: it would not start near uniform, as the
    paper's does (section 4.4)."""
    group_edges: str = "touching"
    """``touching`` (0/1 per other group) or ``counts`` (edges to and from it)."""
    group_scale: str = "log"
    """``raw``, ``log`` or ``row_max`` (divided by the row's maximum + 1; released code). Not in the
    paper; the sums of shapes are so large that under ``row_max`` nothing else is left, and the
    Placer cannot tell groups apart."""
    grouper_hidden: int = 64
    """Units of the Grouper's hidden layer."""
    grouper_activation: str = "linear"
    """``linear`` (released code) or ``relu``."""
    grouper_start: str = "random"
    """``random``, or ``metis``: a balanced partition of the graph, whose logits have a bonus."""
    prior: float = 16.0
    """The bonus."""
    table: float = 0.0
    """Factor on a learned table of logits, groups x devices, added to the Placer's; 0: none."""
    hidden: int = 256
    """Units of the decoder; each direction of the encoder has half (released code)."""
    temperature: float = 10.0
    """T of softmax(C tanh(logits / T))."""
    tanh_constant: float = 5.0
    """C of softmax(C tanh(logits / T)); 0: softmax(logits / T)."""
    forget_bias: float = 1.0
    """Added to the forget gates (released code)."""
    samples: int = 4
    """Placements per update, all of one grouping (k; m is 1)."""
    updates: int = 1000
    """Policy updates."""
    learning_rate: float = 0.1
    """Adam's."""
    rate_decay: float = 1.0
    """Factor on the rate every 50 updates from ``rate_decay_after`` on."""
    rate_decay_after: int = 400
    """See ``rate_decay``."""
    clip_apart: bool = False
    """Clip the gradients of the two networks apart."""
    clip: float = 1.0
    """Largest global norm of the gradient."""
    noise: str = "amplitude"
    """``amplitude``: normal, scaled to this largest value; ``rms``: of this share of the logits'
    root mean square."""
    noise_size: float = 0.1
    """See ``noise``."""
    noise_updates: int = 500
    """Updates with noise on the logits of both networks."""
    baseline_decay: float = 0.9
    """Of the moving average of rewards (released code)."""
    baseline_start: str = "first"
    """``first``: the first mean reward; ``failing``: the reward of an invalid placement (released
    code). Not in the paper; from ``failing``, at a rate of 0.1, whatever is drawn first looks so
    good that it is all that is drawn twenty updates later."""
    failing_reward: float = -10.0
    """Reward of a placement that does not fit in memory; others have -sqrt(step time)."""
    failing: str = "constant"
    """``constant``: the failing reward; ``overload``: -sqrt(step time), less what is missing on the
    fullest device, as a multiple of its memory, times ``overload_cost``."""
    overload_cost: float = 4.0
    """See ``failing``."""
    valid_only_after: int = 500
    """Updates after which policy and baseline learn from valid placements only."""
    stop_sampling: int = 0
    """Update from which the last placements are scored again instead of new ones (0: never)."""
    advantage: str = "difference"
    """``difference`` to the baseline, or ``batch``: to the mean of the update's samples, over
    their deviation."""
    imitation: float = 0.0
    """Weight of the log-probability of the best placement so far in the objective."""
    entropy: float = 0.0
    """Weight of the policy's entropy in the objective."""

    def __post_init__(self) -> None:
        """Refuse words and counts that mean nothing (InputError)."""
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                known = ", ".join(words)
                raise InputError(f"hdp: {name} is {getattr(self, name)!r}; known: {known}")
        for name in ("groups", "grouper_hidden", "hidden", "samples", "updates"):
            if getattr(self, name) < 1:
                raise InputError(f"hdp: {name} is {getattr(self, name)}; give a number >= 1")
        for name in ("temperature", "learning_rate", "clip"):
            if not getattr(self, name) > 0:
                raise InputError(f"hdp: {name} is {getattr(self, name)}; give a number > 0")

    def groups_on(self, devices: int) -> int:
        """Groups offered on a machine of this many devices."""
        return min(self.groups, self.groups_per_device * devices or self.groups)

    def with_changes(self, changes: Mapping[str, Any]) -> Settings:
        """Return these settings with some replaced; InputError names an unknown one."""
        known = [f.name for f in fields(self)]
        for name in changes:
            if name not in known:
                raise InputError(f"hdp: no setting {name!r}; known: {', '.join(known)}")
        return replace(self, **changes)


_WORDS = {
    "neighbours": ("breadth_first", "signed"),
    "op_scale": ("raw", "standard"),
    "group_edges": ("touching", "counts"),
    "group_scale": ("raw", "log", "row_max"),
    "grouper_activation": ("linear", "relu"),
    "grouper_start": ("random", "metis"),
    "noise": ("amplitude", "rms"),
    "baseline_start": ("failing", "first"),
    "failing": ("constant", "overload"),
    "advantage": ("difference", "batch"),
}

CONFIGURATIONS = {
    "paper": Settings(),
    "tf_release": Settings(
        groups_per_device=20,
        type_embedding=0,
        outputs=5,
        dimensions=5,
        adjacency=20,
        neighbours="signed",
        op_scale="raw",
        group_edges="counts",
        group_scale="row_max",
        baseline_start="failing",
        hidden=512,
        temperature=1.0,
        tanh_constant=1.0,
        samples=1,
        rate_decay=0.95,
        noise="rms",
        noise_size=0.5,
        noise_updates=750,
        valid_only_after=1000,
        stop_sampling=500,
    ),
    "tuned": Settings(
        groups=48,
        grouper_start="metis",
        table=25.0,
        tanh_constant=4.0,
        learning_rate=0.001,
        clip_apart=True,
        noise_updates=0,
        advantage="batch",
        imitation=0.3,
        failing="overload",
        valid_only_after=1_000_000,
    ),
}
"""``paper``: HDP; ``tf_release``: tensorflow/python/grappler/hierarchical_controller.py, where it
differs from the paper; ``tuned``: ours."""


def configuration(name: str) -> Settings:
    """Return the configuration of that name; InputError lists the known ones."""
    if name not in CONFIGURATIONS:
        raise InputError(f"hdp: no configuration {name!r}; known: {', '.join(CONFIGURATIONS)}")
    return CONFIGURATIONS[name]
