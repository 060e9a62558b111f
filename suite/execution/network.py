"""A network of its own for unauthenticated servers: only a loopback device, where Linux allows.

TensorFlow's servers listen on every address of the host, whatever address they are told.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

from suite.execution.child import Child, ChildDied, Receive, Send, Setup

_NEWUSER, _NEWNET = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def private_network() -> Child | None:
    """A process that holds a private network until it is stopped; None where that is forbidden."""
    holder = Child("the holder of the network", Setup("suite.execution.network:hold"))
    try:
        if holder.receive():
            return holder
    except ChildDied:
        pass
    holder.stop()
    return None


def hold(receive: Receive, send: Send) -> None:
    """Child: leave the host's network, raise a loopback device, say so, wait."""
    try:
        _leave_network()
    except OSError:
        send(False)
    else:
        send(True)
        receive()


def _leave_network() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEWNET) and libc.unshare(_NEWUSER | _NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH22x", b"lo", 0)
        flags = struct.unpack_from("H", fcntl.ioctl(any_socket, _GET_FLAGS, request), 16)[0]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH22x", b"lo", flags | _UP))


def join_network(process: int) -> None:
    """Enter the network of another process, before any thread is started; OSError if it is gone."""
    libc = ctypes.CDLL(None, use_errno=True)
    for kind, flag in (("user", _NEWUSER), ("net", _NEWNET)):
        theirs = f"/proc/{process}/ns/{kind}"
        if os.readlink(theirs) == os.readlink(f"/proc/self/ns/{kind}"):
            continue
        descriptor = os.open(theirs, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if libc.setns(descriptor, flag):
                raise OSError(ctypes.get_errno(), "setns", theirs)
        finally:
            os.close(descriptor)
