"""placebench serve: be a server of a cluster file, for another host's measurements."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from suite.commands._common import Subparsers, command, count
from suite.core.errors import InputError

TRIES = 5
"""Starts one after the other, none of which has served, after which it ends."""


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "serve",
        "Run one TensorFlow server of a cluster file until interrupted, again after each crash."
        " It is unauthenticated and listens on every address: whoever reaches its port can run"
        " programs as you.",
        "  placebench serve cluster.toml 1 --expose",
    )
    parser.add_argument("cluster", type=Path, metavar="FILE", help="cluster file (TOML)")
    parser.add_argument("number", type=count, help="which of its servers, counted from 0")
    parser.add_argument(
        "--expose",
        action="store_true",
        help="required: says that a firewall keeps others from the server's port",
    )
    parser.add_argument("--gpu", type=count, help="the GPU it is to have (default: none)")


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from suite.execution.child import Child, ChildDied, Setup
    from suite.execution.cluster_file import check_cores, read_cluster
    from suite.execution.visible_gpus import PCI_ORDER, VISIBLE, visible_gpu

    if not arguments.expose:
        raise InputError(
            "TensorFlow's servers are unauthenticated and listen on every address of this host:"
            " whoever reaches their ports can run programs as you; with a firewall before them add"
            " --expose"
        )
    plan = read_cluster(arguments.cluster)
    if arguments.number >= len(plan.servers):
        last, number = len(plan.servers) - 1, arguments.number
        raise InputError(
            f"{arguments.cluster} has servers 0 to {last} and no {number}; give one of them"
        )
    check_cores(arguments.cluster, plan, [arguments.number])
    addresses = tuple(server.address for server in plan.servers)
    visible = "" if arguments.gpu is None else visible_gpu(arguments.gpu)
    setup = Setup(
        "suite.execution.server:serve",
        (addresses, arguments.number),
        plan.servers[arguments.number].cores,
        ((VISIBLE, visible), PCI_ORDER, ("TF_CPU_ALLOCATOR_USE_BFC", "true")),
    )
    failed = TRIES - 1  # before the first start, no server of ours has had the port
    while True:
        server, failed = Child(f"server {arguments.number}", setup), failed + 1
        try:
            server.receive()
            print(f"serving at {addresses[arguments.number]}", flush=True)
            failed = 0
            server.receive()
        except ChildDied as death:
            if failed == TRIES:
                raise InputError(
                    f"{death}; {addresses[arguments.number]} must be an address of this host whose"
                    " port no other program has"
                ) from None
            print(f"{death}; starting it again", file=sys.stderr, flush=True)
            time.sleep(1)  # its port may be taken for a moment longer
        finally:
            server.stop()
