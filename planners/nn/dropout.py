"""Which units a dropout keeps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planners.features.tables import Matrix


class Masks:
    """Masks of one pass through a network, the same whenever they are asked for."""

    def __init__(self, rate: float, units: int, seed: int) -> None:
        """``rate``: share of the ``units`` of each row that are dropped."""
        self.rate, self.units, self.seed = rate, units, seed
        self._drawn: dict[int, Matrix] = {}

    def of(self, layer: int, rows: int) -> Matrix:
        """The first rows of a layer's mask, float32[rows, units]: 0 or 1 / (1 - rate)."""
        drawn = self._drawn.get(layer)
        if drawn is None or len(drawn) < rows:
            rng = np.random.default_rng((self.seed, layer))
            kept = rng.random((rows, self.units), np.float32) >= self.rate
            drawn = self._drawn[layer] = kept * np.float32(1 / (1 - self.rate))
        return drawn[:rows]


def side_by_side(
    masks: Sequence[Masks], layers: Sequence[int], rows: Sequence[int]
) -> list[Matrix]:
    """Of each layer the masks of several passes, so many rows of each; none where none is dropped.

    Each is float32[all rows, units].
    """
    if not masks[0].rate:
        return []
    pairs = list(zip(masks, rows, strict=True))
    return [np.concatenate([one.of(layer, n) for one, n in pairs]) for layer in layers]
