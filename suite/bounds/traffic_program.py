"""The linear program of :mod:`suite.bounds.traffic`, whose duals are the prices of a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats

if TYPE_CHECKING:
    from suite.bounds.traffic import Place, Traffic

LARGEST = 4_000
"""Edges of a program at most, those alike counted once."""
ROUNDS = 40
"""Times at most that classes are told apart by what is around them, an edge further each time."""
_AT_ONCE = 10_000
"""Iterations of the simplex method for one program at most, 2 to 10 s: some take minutes."""
_WEIGHTS = 2**36
"""Sums of fewer than 100,000 of these are exact in floating point, so that no order matters."""


@dataclass
class Effort:
    """What all programs of a bound may still take."""

    iterations: int = 40_000
    """Of the simplex method: unlike seconds, the same on every host."""


class Prices(NamedTuple):
    """What each place charges."""

    compute: Floats
    send: Floats
    receive: Floats
    """float64[places]: for a nanosecond of a device, of its channels outwards, and inwards."""
    sent: Floats
    got: Floats
    """float64[edges, places]: the share of an edge in what its tensor pays to leave, and to
    reach, a place."""


@dataclass(frozen=True, eq=False)
class Program:
    """Classes, tensors and edges of a window, those alike as one: each of a colour stands for all.

    Colour refinement: a linear program loses nothing by that (Grohe, Kersting, Mladenov and Selman
    2014, "Dimension reduction via colour refinement"). It might where two are taken for alike that
    are not; what is proven holds all the same, since that looks at each of them.
    """

    traffic: Traffic
    colour: NDArray[np.int64]
    """int64[classes]"""
    sent: NDArray[np.int64]
    """int64[tensors]: colours."""
    edge: NDArray[np.int64]
    """int64[edges]: colours."""

    @classmethod
    def of(cls, traffic: Traffic, hubs: Sequence[int]) -> Program | None:
        """Tell classes and tensors apart by what is around them, and hubs from all others.

        None where nothing is sent, and where so many are left that the program is too large.
        """
        if not len(traffic.tensor):
            return None
        special = np.zeros(len(traffic.work))
        special[list(hubs)] = 1 + np.arange(len(hubs))
        colour = _numbered(traffic.work, special)
        sent = _numbered(traffic.leaving, traffic.reaching)
        left = ROUNDS
        while True:
            edge = _numbered(sent[traffic.tensor], colour[traffic.maker], colour[traffic.reader])
            if edge.max() >= LARGEST:
                return None
            ends = (_summed(at, edge, len(colour)) for at in (traffic.maker, traffic.reader))
            finer = _numbered(colour, *ends)
            finer_sent = _numbered(sent, _summed(traffic.tensor, edge, len(sent)))
            stable = finer.max() == colour.max() and finer_sent.max() == sent.max()
            if stable or not left:
                return cls(traffic, colour, sent, edge)
            colour, sent, left = finer, finer_sent, left - 1

    def prices(
        self, places: Sequence[Place], fixed: Mapping[int, int], effort: Effort
    ) -> Prices | None:
        """Solve for the classes ``fixed`` in these places; returns the duals.

        None where the solver fails, or more iterations are needed than ``effort`` has left.
        """
        if not effort.iterations:
            return None
        from scipy.optimize import linprog  # takes long to load, and many bounds need none
        from scipy.sparse import block_array, coo_array, csr_array, diags_array, kron

        traffic, n, kinds = self.traffic, len(places), [place.kind for place in places]
        devices = np.array([place.devices for place in places], np.int64)
        classes, tensors, edges = map(_Colours.of, (self.colour, self.sent, self.edge))
        work = traffic.work[classes.first][:, kinds]
        may = np.isfinite(work)
        for index, at in fixed.items():
            may[self.colour[index], np.arange(n) != at] = False
        scale = max(1.0, float(traffic.work.min(axis=1).sum()) / float(devices.sum()))

        def ends(colour: NDArray[np.int64], of: _Colours) -> Any:
            """[edges, colours]: 1 at the colour of an edge's end, or of its tensor."""
            at = np.arange(len(edges.first)), colour
            return csr_array((np.ones(len(colour)), at), (len(colour), len(of.first)))

        def total(nanoseconds: Floats, of: _Colours) -> Any:
            """[places, colours x places]: time of all that has a colour, in each place."""
            values = nanoseconds * of.number[:, None] / scale
            at = np.tile(np.arange(n), len(values)), np.arange(values.size)
            return coo_array((values.ravel(), at), (n, values.size))

        def limit(units: NDArray[np.int64]) -> Any:
            """[places, 1]: less T for each unit of each device."""
            return coo_array(-(units[kinds] * devices).astype(np.float64)[:, None])

        # In places d, shares x of classes, shares s and r of tensors that leave and reach them; T.
        maker = ends(self.colour[traffic.maker[edges.first]], classes)
        reader = ends(self.colour[traffic.reader[edges.first]], classes)
        each = diags_array(np.ones(n))
        apart = kron(maker - reader, each)
        tensor = kron(ends(self.sent[traffic.tensor[edges.first]], tensors), each)
        leaving = traffic.leaving[tensors.first][:, kinds]
        reaching = traffic.reaching[tensors.first][:, kinds]
        rows = [
            # x[maker, d] - x[reader, d] <= s[tensor, d], and the other way round for r.
            [apart, -tensor, None, None],
            [-apart, None, -tensor, None],
            # work x <= T lanes, leaving s <= T outlets, reaching r <= T inlets, in each place.
            [total(np.where(may, work, 0.0), classes), None, None, limit(traffic.lanes)],
            [None, total(leaving, tensors), None, limit(traffic.outlets)],
            [None, None, total(reaching, tensors), limit(traffic.inlets)],
        ]
        limits = block_array(rows, format="csr")
        last = limits.shape[1] - 1
        whole = csr_array((np.ones(may.size), np.arange(may.size), np.arange(0, may.size + 1, n)))
        whole.resize((len(may), last + 1))
        upper = np.full(last + 1, np.inf)
        upper[: may.size] = may.ravel()
        found = linprog(
            np.arange(last + 1) == last,
            *(limits, np.zeros(limits.shape[0])),
            *(whole, np.ones(len(may))),
            np.column_stack([np.zeros(last + 1), upper]),
            options={"maxiter": min(_AT_ONCE, effort.iterations)},
        )
        effort.iterations = max(0, effort.iterations - int(found.nit))
        if found.status:
            return None
        duals = np.maximum(0.0, -np.asarray(found.ineqlin.marginals, np.float64))
        shares, charged = np.split(duals, [2 * apart.shape[0]])
        shares = shares.reshape(2, -1, n) * scale / edges.number[:, None]
        return Prices(*charged.reshape(3, n), *shares[:, self.edge])


class _Colours(NamedTuple):
    """Of what has a number for its colour: the first one of each, and how many there are."""

    first: NDArray[np.int64]
    number: NDArray[np.int64]

    @classmethod
    def of(cls, numbers: NDArray[np.int64]) -> _Colours:
        return cls(*np.unique(numbers, return_index=True, return_counts=True)[1:])


def _numbered(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """int64[n]: equal rows of all columns, [n] or [n, k] each, have equal numbers from 0."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        each = np.unique(column, axis=0, return_inverse=True)[1].reshape(-1)
        number = np.unique(number * (each.max() + 1) + each, return_inverse=True)[1]
    return number


def _summed(at: NDArray[np.int64], kind: NDArray[np.int64], n: int) -> Floats:
    """float64[n]: equal for what has equally many of each kind at it; else hardly ever."""
    weights = np.random.default_rng(0).integers(1, _WEIGHTS, int(kind.max()) + 1)
    return np.asarray(np.bincount(at, weights[kind].astype(np.float64), n), np.float64)
