"""Cluster files: servers that run already, warnings, mistakes."""

import os
import socket
import subprocess
import sys

import numpy as np
import pytest
from free_ports import free_ports
from small_steps import cpus, layers

from suite.cli import main
from suite.core.errors import InputError
from suite.execution.cluster import ClusterBackend
from suite.execution.cluster_file import read_cluster
from suite.execution.measurement import Timing


def test_servers_started_elsewhere_are_used(tmp_path):
    small, (client, first, second) = layers(tmp_path), free_ports(3)
    path = tmp_path / "cluster.toml"
    path.write_text(
        f'client = "127.0.0.1:{client}"\n'
        f'[[server]]\naddress = "127.0.0.1:{first}"\ncores = [0]\n'
        f'[[server]]\naddress = "127.0.0.1:{second}"\nstart = false\n'
    )
    command = [sys.executable, "-m", "suite.cli", "serve", str(path), "1", "--expose"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    serving = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    try:
        timing = Timing(steps=2, discarded=1, traced=0, timeout=60)
        # It does not serve yet, which is said, and waited for.
        waiting = f"waiting for server 1 at 127.0.0.1:{second}; start"
        with (
            pytest.warns(UserWarning, match="unauthenticated"),
            pytest.warns(UserWarning, match=waiting),
        ):
            cluster = ClusterBackend(cpus(2), path, expose=True)
        assert serving.stdout.readline() == f"serving at 127.0.0.1:{second}\n".encode()
        with cluster:
            assert len(cluster.processes) == 1
            result = cluster.measure(small.step, np.asarray(small.graph.colocation) % 2, timing)
        assert result.status == "ok", result.reason
    finally:
        serving.kill()
        serving.wait()
        serving.stdout.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('client = "a:1"', "has no 'server'"),
        ('client = "a"\nserver = []', "client: 'a' is no address; write host:port"),
        ('client = "a:1"\n[[server]]\naddress = "b:0"', "server 0: 'b:0' is no address"),
        ('client = "a:1"\n[[server]]\naddress = "b:1"\ncores = [-1]', "whole numbers >= 0"),
        (
            'client = "a:1"\n[[server]]\naddress = "b:1"\n[[server]]\naddress = "b:1"',
            "server 0 and server 1 have one address, b:1; give each its own",
        ),
        (
            'client = "a:1"\n[[server]]\naddress = "a:1"',
            "client and server 0 have one address, a:1; give each its own",
        ),
        ("client = ", "not valid TOML"),
        (
            f'client = "a:{"9" * 5000}"\nserver = []',
            "client: 'a:9+... is no address; write",
        ),
        (f'client = "a:1"\n[[server]]\ncores = [{"9" * 5000}]', "a number in it is too long"),
    ],
)
def test_mistakes_are_said(tmp_path, text, words):
    path = tmp_path / "cluster.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_cluster(path)


@pytest.mark.parametrize("host", ["127.0.0.1", "no..name"])
def test_a_server_that_is_started_nowhere_is_named(tmp_path, monkeypatch, host):
    """TensorFlow would go on trying, and not say to which server it cannot connect."""
    monkeypatch.setattr("suite.execution.cluster.HEALTH_LIMIT", 1.0)
    client, absent = free_ports(2)
    path = tmp_path / "cluster.toml"
    path.write_text(
        f'client = "127.0.0.1:{client}"\n[[server]]\naddress = "{host}:{absent}"\nstart = false\n'
    )
    said = f"server 0 at {host}:{absent} could not be reached for 1 s; start"
    with (
        pytest.warns(UserWarning, match="unauthenticated"),
        pytest.warns(UserWarning, match=f"waiting for server 0 at {host}:{absent}; start"),
        pytest.raises(InputError, match=said),
    ):
        ClusterBackend(cpus(1), path, expose=True)


def test_a_mark_of_the_byte_order_is_no_part_of_the_file(tmp_path):
    """As editors on Windows write it."""
    (tmp_path / "cluster.toml").write_text('\ufeffclient = "a:1"\nserver = []\n')
    assert read_cluster(tmp_path / "cluster.toml").client == "a:1"


def test_remote_servers_are_not_started_here(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text('client = "10.0.0.1:1"\n[[server]]\naddress = "10.0.0.2:2222"\n')
    plan = read_cluster(path)
    assert not plan.servers[0].start
    assert plan.exposed == ["10.0.0.2:2222", "10.0.0.1:1"]


def test_cores_that_this_host_has_not_are_told_before_a_server_is_started(tmp_path):
    """Those of a server of another host may be any."""
    path = tmp_path / "cluster.toml"
    path.write_text(
        'client = "127.0.0.1:1"\n'
        '[[server]]\naddress = "10.0.0.2:2222"\ncores = [99998]\n'
        '[[server]]\naddress = "127.0.0.1:2"\ncores = [0, 99999]\n'
    )
    with pytest.raises(
        InputError, match=r"server 1 has cores \[99999\], which this process has not"
    ):
        ClusterBackend(cpus(2), path, expose=True)


def test_a_server_that_the_file_does_not_have_is_said(tmp_path, capsys):
    path = tmp_path / "cluster.toml"
    path.write_text('client = "127.0.0.1:1"\n[[server]]\naddress = "127.0.0.1:2"')
    assert main(["serve", str(path), "5", "--expose"]) == 2
    assert "has servers 0 to 0 and no 5; give one of them" in capsys.readouterr().err


def test_a_server_that_never_served_is_not_started_again(tmp_path, capsys):
    """Its port is another program's, or its address another host's: it would die for ever."""
    path = tmp_path / "cluster.toml"
    path.write_text('client = "127.0.0.1:1"\n[[server]]\naddress = "192.0.2.1:2222"\n')
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        path.write_text(path.read_text().replace("192.0.2.1:2222", f"127.0.0.1:{port}"))
        assert main(["serve", str(path), "0", "--expose"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"127.0.0.1:{port} must be an address of this host whose port no other" in said
