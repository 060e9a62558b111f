"""--ray, and what it changes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from suite.core.errors import InputError
from suite.core.extras import require_ray

if TYPE_CHECKING:
    from suite.core.scores import Judge
    from suite.simulator.judges import AnySimulator


def add_ray(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare --ray."""
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help=f"{what} on the nodes of the Ray cluster whose head is at ADDRESS: HOST:PORT, or auto"
        " for the one that runs on this host (docs/ray.md)",
    )


def check_ray(arguments: argparse.Namespace, against: Mapping[str, bool]) -> None:
    """Raise InputError where --ray is asked for but not installed, or does not go with others.

    ``against`` says of other options whether they are given.
    """
    if arguments.ray is None:
        return
    for option, given in against.items():
        if given:
            raise InputError(f"--ray does not go with --{option}; leave one of them out")
    require_ray("--ray")


@contextmanager
def spread_judge(
    arguments: argparse.Namespace, simulator: AnySimulator, judge: Judge, semantics: str
) -> Iterator[Judge]:
    """What a search asks: ``judge``, or with --ray the nodes of a cluster, which say the same."""
    if arguments.ray is None:
        yield judge
        return
    from suite.search.ray.cluster import connected
    from suite.search.ray.judge import RayJudge

    tell = partial(print, file=sys.stderr, flush=True)
    with connected(arguments.ray):
        spread = RayJudge(simulator, semantics, tell)
        try:
            yield spread
        finally:
            spread.close()
    tell(f"{spread.sent:,} placements were judged on the cluster")
