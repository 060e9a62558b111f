"""Mt-KaHyPar (Gottesbueren, Heuer, Maas, Sanders, Schlag) for a child process: it may crash.

Only its deterministic presets give the same parts again, and in 1.7 they do not heed its seed: so
the seed renumbers the vertices, which changes every tie.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints


def connectivity(
    offsets: Ints, pins: Ints, loads: Ints, net_loads: Ints, imbalance: Any, seed: Any, parts: Any
) -> dict[str, NDArray[Any]]:
    """Cut a hypergraph into ``parts`` of like load; minimise load x (parts of the net - 1).

    Net n has the distinct vertices ``pins[offsets[n]:offsets[n + 1]]``, two at least. Returns
    ``parts``: int64[vertices]. Raises ValueError for pins that are no vertices.
    """
    import mtkahypar

    if len(pins) and not 0 <= pins.min() <= pins.max() < len(loads):
        raise ValueError(f"a net has a vertex outside 0..{len(loads) - 1}")
    ends = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    number = np.random.default_rng(int(seed)).permutation(len(loads))
    flat = number[pins].tolist()
    weights = loads[np.argsort(number)].tolist()
    nets = [flat[start:end] for start, end in ends]
    library = mtkahypar.initialize(1)
    context = library.context_from_preset(mtkahypar.PresetType.DETERMINISTIC)
    context.set_partitioning_parameters(int(parts), float(imbalance), mtkahypar.Objective.KM1)
    context.logging = False
    hypergraph = library.create_hypergraph(
        context, len(loads), len(nets), nets, weights, net_loads.tolist()
    )
    parted = np.array(hypergraph.partition(context).get_partition(), np.int64)
    return {"parts": parted[number]}
