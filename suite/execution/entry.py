"""The first steps of a child process: pinned and isolated before TensorFlow is loaded."""

from __future__ import annotations

import importlib
import os
import queue
import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any

from suite.execution.child import Setup
from suite.execution.network import join_network


def main() -> None:
    """Do what the Setup on the pipe named on the command line says, then end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    pipe: Connection[Any, Any] = Connection(int(sys.argv[1]))
    setup: Setup = pipe.recv()
    if setup.network_of is not None:
        join_network(setup.network_of)
    if setup.cores:
        os.sched_setaffinity(0, setup.cores)
    inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, inbox), daemon=True).start()
    module, name = setup.function.split(":")
    code = 1
    try:
        getattr(importlib.import_module(module), name)(inbox.get, pipe.send, *setup.arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(code)  # destructors of TensorFlow's servers wait for ever for dead peers


def _listen(pipe: Connection[object, object], inbox: queue.SimpleQueue[object]) -> None:
    """Pass messages on; end the process when the parent has closed the pipe or is gone."""
    while True:
        try:
            inbox.put(pipe.recv())
        except (EOFError, OSError):
            os._exit(1)
