"""HSDAG as its authors' code has it, where that differs from the paper and decides what is learned.

From github.com/Esthesia/HSDAG, ``main.py`` and ``layer.py``. It parses until the number of groups
falls no more, which on a connected graph is when there is one: everything goes to one device, which
gains nothing, and so nothing is learned. ``levels = 1`` shows what its other differences do.
"""

from __future__ import annotations

from dataclasses import dataclass

from planners.hsdag import HSDAG


@dataclass(frozen=True)
class HSDAGReleased(HSDAG):
    """Its settings. Left out: the second graph network, whose output is pooled, and both networks
    anew at each level; the layers before and after pooling, and those behind the last level;
    learned normalisation; the count of edges as a factor of pooled embeddings. What is carried over
    is added to the features there, before the layers that ``hsdag`` has before its sum; its last
    network has no dropout, and here as much as the others.
    """

    features: tuple[str, ...] = ("type", "position")
    """The output's shape stands in a comment there, and so does the fractal dimension for CNNs."""
    coarsening: str = "only_parent"
    """Whether the parent has other children is not asked."""
    levels: int = 0
    """Until the number of groups falls no more."""
    episodes: int = 25
    """Its ``max_episodes``."""
    epochs: int = 1
    """Its ``K_epochs`` is read and not used."""
    learning_rate: float = 0.001
    """Ten times that of the paper's Table 6."""
    credit: str = "episode"
    """All log-probabilities of an episode follow one sum of its rewards."""
    position_size: int = 0
    """The number of a node as it is, up to several hundreds beside ones and zeros."""
    single_device: bool = False
    """Such a placement counts as one that takes 1e10 s."""
    scrambled: bool = True
    """Devices are chosen in the order of the file and set in that of ``get_ops()``; here the second
    is a permutation of colocation classes, drawn once and for all graphs of a size."""
