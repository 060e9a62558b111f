"""Servers that die, steps that take too long, parents that are killed: no strays."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from small_steps import chain, cpus, layers

from suite.core.errors import InputError
from suite.execution.cluster import ClusterBackend
from suite.execution.measurement import Timing
from suite.execution.session import SessionBackend

QUICK = Timing(steps=2, discarded=1, traced=0, timeout=120)


def alive(process):
    """Whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def descendants(process):
    listed = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True)
    parents = dict(map(int, line.split()) for line in listed.stdout.splitlines()[1:])
    found, new = set(), {process}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


def gone(processes, seconds=10.0):
    deadline = time.monotonic() + seconds
    while any(map(alive, processes)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not any(map(alive, processes))


def test_a_killed_server_is_an_error_at_once_and_the_next_cell_runs(tmp_path):
    long, small = chain(tmp_path, 1500, 200), layers(tmp_path)
    others = set(descendants(os.getpid()))
    devices = np.arange(long.graph.n_ops) % 2
    with ClusterBackend(cpus(2), expose=True) as cluster:
        servers, killed = cluster.processes, []
        assert not os.sched_getaffinity(servers[0]) & os.sched_getaffinity(servers[1])

        def kill():
            killed.append(time.monotonic())
            os.kill(servers[1], signal.SIGKILL)

        threading.Timer(3, kill).start()
        result = cluster.measure(long.step, devices, QUICK)
        assert time.monotonic() - killed[0] < QUICK.timeout / 4  # it is not waited for
        assert result.status == "error"
        assert result.reason == "server 1 died of SIGKILL"
        assert gone(servers)
        again = cluster.measure(small.step, np.asarray(small.graph.colocation) % 2, QUICK)
        assert again.status == "ok", again.reason
        last = cluster.processes
        assert not set(last) & set(servers)
    assert gone(last)
    left = set(descendants(os.getpid())) - others
    assert not {p for p in left if "suite.execution" in command(p)}


def command(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def test_a_step_that_takes_too_long_is_a_timeout(tmp_path):
    """Start-up takes seconds and does not count; the limit is a fraction of one."""
    small = chain(tmp_path, 1000, 20)
    timing = Timing(steps=100, discarded=1, traced=0, timeout=0.5)
    with SessionBackend(cpus(1)) as backend:
        result = backend.measure(small.step, np.zeros(small.graph.n_ops, int), timing)
        assert (result.status, result.reason) == ("timeout", "not done after 0.5 s")
        assert result.step_time is None
        quick = Timing(steps=2, discarded=1, traced=0, timeout=60)
        assert backend.measure(small.step, np.zeros(small.graph.n_ops, int), quick).status == "ok"


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_its_parent(end):
    program = (
        "from suite.execution.cluster import ClusterBackend\n"
        "from suite.formats.machine_toml import load_machine\n"
        "import time\n"
        "cluster = ClusterBackend(load_machine('k40').with_gpus(0), expose=True)\n"
        "print('up', flush=True)\n"
        "time.sleep(60)\n"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert parent.stdout.readline() == b"up\n"
    children = descendants(parent.pid)
    assert len(children) >= 2
    parent.send_signal(end)
    parent.wait()
    parent.stdout.close()
    assert gone(children)


def test_a_placement_that_does_not_fit_is_refused(tmp_path):
    small = layers(tmp_path)
    with SessionBackend(cpus(1)) as backend:
        with pytest.raises(InputError, match="on device 1; there are"):
            backend.measure(small.step, np.ones(small.graph.n_ops, int), QUICK)
        with pytest.raises(InputError, match="devices, not"):
            backend.measure(small.step, np.ones(3, int), QUICK)


def test_more_servers_than_cores_are_refused():
    with pytest.raises(InputError, match="need a core each"):
        ClusterBackend(cpus(1 + len(os.sched_getaffinity(0))))
