"""Which units a dropout keeps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planners.features.tables import Matrix


class Masks:
    """Masks of one pass through a network, the same whenever they are asked for."""

    def __init__(self, rate: float, units: int, seed: int) -> None:
        """``rate``: share of the ``units`` of each row that are dropped."""
        self._rate, self._units, self._seed = rate, units, seed
        self._drawn: dict[int, Matrix] = {}

    def of(self, layer: int, rows: int) -> Matrix:
        """The first rows of a layer's mask, float32[rows, units]: 0 or 1 / (1 - rate)."""
        drawn = self._drawn.get(layer)
        if drawn is None or len(drawn) < rows:
            values = np.random.default_rng((self._seed, layer)).random(
                (rows, self._units), np.float32
            )
            drawn = (values >= self._rate) * np.float32(1 / (1 - self._rate))
            self._drawn[layer] = drawn
        return drawn[:rows]


def side_by_side(masks: Sequence[Masks], layer: int, rows: Sequence[int]) -> Matrix:
    """A layer's masks of several passes, so many rows of each, float32[all rows, units]."""
    return np.concatenate([one.of(layer, n) for one, n in zip(masks, rows, strict=True)])
