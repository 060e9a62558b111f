"""Classes are sent where they can run."""

from __future__ import annotations

import numpy as np

from suite.core.arrays import Ints
from suite.core.problem import Problem


class Fitting:
    """Knows the classes of one problem that some device cannot run."""

    def __init__(self, problem: Problem) -> None:
        """Look up who cannot run where; most classes can run anywhere."""
        self._fussy = np.flatnonzero(~problem.allowed.all(axis=1))
        self._allowed = problem.allowed[self._fussy]
        self._fallback = np.argmax(self._allowed, axis=1)

    def fitted(self, classes: Ints) -> Ints:
        """Send classes to the first device that runs them where theirs cannot.

        Of any number of placements: int[..., n_classes]; what is given stays as it is.
        """
        fitted = np.array(classes)
        asked = fitted[..., self._fussy]
        fits = self._allowed[np.arange(len(self._fussy)), asked]
        fitted[..., self._fussy] = np.where(fits, asked, self._fallback)
        return fitted
