"""A guard around METIS's k-way partitioning (Karypis and Kumar; pymetis), run in a child process.

pymetis checks no lengths and no ids, so this does, before the call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.arcs import check_arcs
from suite.core.arrays import Ints


def k_way(
    offsets: Ints,
    neighbours: Ints,
    loads: Ints,
    edge_loads: Ints,
    speeds: Ints,
    imbalance: Any,
    seed: Any,
) -> dict[str, NDArray[Any]]:
    """Cut an undirected graph (compressed rows) into ``len(speeds)`` parts of load ~ speed.

    Returns ``parts``: int64[vertices]. The same arguments give the same parts. Raises ValueError
    for a graph that would crash METIS.
    """
    import pymetis

    check_arcs(offsets, neighbours, loads, edge_loads)
    dtype = pymetis.zero_copy_dtype()
    arrays = [np.ascontiguousarray(a, dtype) for a in (offsets, neighbours, loads, edge_loads)]
    # METIS counts the allowed imbalance in thousandths (METIS_OPTION_UFACTOR).
    options = pymetis.Options(seed=int(seed), ufactor=max(1, round(1000 * float(imbalance))))
    equal = bool((speeds == speeds[0]).all())
    result = pymetis.part_graph(
        len(speeds),
        pymetis.CSRAdjacency(arrays[0], arrays[1]),
        vweights=arrays[2],
        eweights=arrays[3],
        tpwgts=None if equal else (speeds / speeds.sum()).tolist(),
        recursive=False,
        options=options,
    )
    return {"parts": np.array(result.vertex_part, np.int64)}
