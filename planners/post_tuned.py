"""Post (Gao et al. 2018) with the settings that measured best here; not the paper's.

Little is known of those, so that there is little to depart from: decisions are about 64 METIS
parts, whose loads are alike and which exchange little, where ``post`` takes ColocRL's hand-made
groups, whose number grows with the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

from planners.post import Post


@dataclass(frozen=True)
class PostTuned(Post):
    """Fewer decisions: on parts of the graph."""

    groups: int = 64
    """METIS parts; METIS may leave a few of them empty. The more, the longer they take to learn."""
