"""Servers that ask for no password stay out of reach, or the user has said otherwise."""

import ctypes
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import placebench

from suite.core.errors import InputError
from suite.execution.cluster import ClusterBackend
from suite.execution.network import private_network
from suite.formats.machine_toml import load_machine

_UNSHARE = {"x86_64": 272, "aarch64": 97}


def forbid_namespaces():
    """Have the kernel refuse unshare to this process and its children, as Docker's default does."""
    load, equal, answer = 0x20, 0x15, 0x06
    refuse, allow = 0x00050001, 0x7FFF0000  # EPERM; go on
    number = _UNSHARE[os.uname().machine]
    program = [
        (load, 0, 0, 0),
        (equal, 0, 1, number),
        (answer, 0, 0, refuse),
        (answer, 0, 0, allow),
    ]
    filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *p) for p in program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filters", ctypes.c_void_p))

    libc = ctypes.CDLL(None, use_errno=True)
    whole = Program(len(program), ctypes.cast(filters, ctypes.c_void_p))
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, ctypes.byref(whole), 0, 0) == 0, os.strerror(ctypes.get_errno())


def without_namespaces(program):
    """Run a Python program where the kernel refuses namespaces."""
    start = f"from test_network import forbid_namespaces\nforbid_namespaces()\n{program}"
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, "-P", "-c", start],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


REFUSED = """
from suite.core.errors import InputError
from suite.execution.cluster import ClusterBackend
from suite.formats.machine_toml import load_machine
try:
    ClusterBackend(load_machine("k40").with_gpus(0))
except InputError as error:
    print(error)
"""

EXPOSED = """
import os, warnings
from suite.execution.cluster import ClusterBackend
from suite.formats.machine_toml import load_machine
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    with ClusterBackend(load_machine("k40").with_gpus(0), expose=True) as cluster:
        networks = {os.readlink(f"/proc/{p}/ns/net") for p in cluster.processes}
print(networks == {os.readlink("/proc/self/ns/net")}, len(said), said[0].message)
"""


def test_without_a_namespace_no_server_is_started():
    done = without_namespaces(REFUSED)
    assert done.returncode == 0, done.stderr
    assert "this host allows no network namespace" in done.stdout
    assert "add --expose, or take backend session" in done.stdout


def test_without_a_namespace_who_says_so_goes_on_and_is_warned():
    done = without_namespaces(EXPOSED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True 1 TensorFlow's servers are unauthenticated")


def test_a_cluster_file_needs_the_users_word(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text(
        'client = "127.0.0.1:2200"\n[[server]]\naddress = "127.0.0.1:2201"\n'
        '[[server]]\naddress = "127.0.0.1:2202"\n'
    )
    with pytest.raises(InputError, match=r"a cluster file puts them.*add --expose"):
        ClusterBackend(load_machine("k40").with_gpus(1), path)
    done = placebench("serve", path, 1)
    assert done.returncode == 2
    assert done.stderr.startswith("placebench: error: TensorFlow's servers are unauthenticated")
    assert len(done.stderr.splitlines()) == 1


def test_servers_of_this_host_cannot_be_reached_from_it():
    """Where there are namespaces: their ports are not the host's, and no word is needed."""
    holder = private_network()
    if holder is None:
        pytest.skip("this host allows no network namespace")
    holder.stop()
    with ClusterBackend(load_machine("k40").with_gpus(0)) as cluster:
        mine = os.readlink("/proc/self/ns/net")
        assert [p for p in cluster.processes if os.readlink(f"/proc/{p}/ns/net") != mine]
