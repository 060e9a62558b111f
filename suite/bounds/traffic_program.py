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
ITERATIONS = 10_000
"""Of the simplex method at most: 2 to 10 s; some programs of this size take minutes."""
_WEIGHTS = 2**36
"""Sums of fewer than 100,000 of these are exact in floating point, so that no order matters."""


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
    2014, "Dimension reduction via colour refinement").
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
        while True:
            edge = _numbered(sent[traffic.tensor], colour[traffic.maker], colour[traffic.reader])
            if edge.max() >= LARGEST:
                return None
            ends = (_summed(at, edge, len(colour)) for at in (traffic.maker, traffic.reader))
            finer = _numbered(colour, *ends)
            finer_sent = _numbered(sent, _summed(traffic.tensor, edge, len(sent)))
            if finer.max() == colour.max() and finer_sent.max() == sent.max():
                return cls(traffic, colour, sent, edge)
            colour, sent = finer, finer_sent

    def prices(self, places: Sequence[Place], fixed: Mapping[int, int]) -> Prices | None:
        """Solve for the classes ``fixed`` in these places; returns the duals.

        None where that takes too many iterations.
        """
        from scipy.optimize import linprog  # takes long to load, and many bounds need none
        from scipy.sparse import block_array, coo_array, csr_array, diags_array, kron

        traffic, each, kinds = self.traffic, len(places), [place.kind for place in places]
        devices = np.array([place.devices for place in places], np.int64)
        classes, tensors, edges = map(_Colours.of, (self.colour, self.sent, self.edge))
        work = traffic.work[classes.first][:, kinds]
        may = np.isfinite(work)
        for index, at in fixed.items():
            may[self.colour[index], np.arange(each) != at] = False
        scale = max(1.0, float(traffic.work.min(axis=1).sum()) / float(devices.sum()))

        def of_edges(colour: NDArray[np.int64], of: _Colours) -> Any:
            at = np.arange(len(edges.first)), colour
            return csr_array((np.ones(len(colour)), at), (len(colour), len(of.first)))

        def in_all(nanoseconds: Floats, of: _Colours) -> Any:
            values = nanoseconds * of.number[:, None] / scale
            at = np.tile(np.arange(each), len(values)), np.arange(values.size)
            return coo_array((values.ravel(), at), (each, values.size))

        def within(units: NDArray[np.int64]) -> Any:
            return coo_array(-(units[kinds] * devices).astype(np.float64)[:, None])

        # Shares of classes in places, of tensors that leave and that reach them; then T.
        maker = of_edges(self.colour[traffic.maker[edges.first]], classes)
        reader = of_edges(self.colour[traffic.reader[edges.first]], classes)
        moved = of_edges(self.sent[traffic.tensor[edges.first]], tensors)
        alone = diags_array(np.ones(each))
        apart, moved = kron(maker - reader, alone), kron(moved, alone)
        leaving, reaching = traffic.leaving[tensors.first], traffic.reaching[tensors.first]
        rows = [
            [apart, -moved, None, None],
            [-apart, None, -moved, None],
            [in_all(np.where(may, work, 0.0), classes), None, None, within(traffic.lanes)],
            [None, in_all(leaving[:, kinds], tensors), None, within(traffic.outlets)],
            [None, None, in_all(reaching[:, kinds], tensors), within(traffic.inlets)],
        ]
        limits = block_array(rows, format="csr")
        last = limits.shape[1] - 1
        whole = csr_array(
            (np.ones(may.size), np.arange(may.size), np.arange(0, may.size + 1, each))
        )
        whole.resize((len(may), last + 1))
        upper = np.full(last + 1, np.inf)
        upper[: may.size] = may.ravel()
        found = linprog(
            np.arange(last + 1) == last,
            *(limits, np.zeros(limits.shape[0])),
            *(whole, np.ones(len(may))),
            np.column_stack([np.zeros(last + 1), upper]),
            options={"maxiter": ITERATIONS},
        )
        if found.status == 1:
            return None
        if found.status:
            raise RuntimeError(f"the traffic program ended with {found.message}")
        duals = np.maximum(0.0, -np.asarray(found.ineqlin.marginals, np.float64))
        shares, charged = np.split(duals, [2 * apart.shape[0]])
        shares = shares.reshape(2, -1, each) * scale / edges.number[:, None]
        return Prices(*charged.reshape(3, each), *shares[:, self.edge])


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
    """float64[n]: equal for what has equally many of each kind at it."""
    weights = np.random.default_rng(0).integers(1, _WEIGHTS, int(kind.max()) + 1)
    return np.asarray(np.bincount(at, weights[kind].astype(np.float64), n), np.float64)
