"""TensorFlow's names of a machine's devices, here, on a cluster and in this very process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from suite.core.errors import InputError
from suite.core.machine import Machine

if TYPE_CHECKING:
    import tensorflow as tf


def names_on(machine: Machine, backend: str) -> dict[str, str]:
    """Device of the machine -> TensorFlow's name of it on a backend (``session``, ``cluster``).

    In a session, devices are counted by kind; on a cluster, device number i is the only one of
    worker i.
    """
    kinds = [device.kind.upper() for device in machine.devices]
    for device in machine.devices:
        if device.kind not in ("cpu", "gpu"):
            raise InputError(f"device {device.name} is of kind {device.kind!r}; cpu or gpu run")
    if backend == "cluster":
        named = [f"/job:worker/replica:0/task:{i}/device:{kind}:0" for i, kind in enumerate(kinds)]
    else:
        named = [
            f"/job:localhost/replica:0/task:0/device:{kind}:{kinds[:i].count(kind)}"
            for i, kind in enumerate(kinds)
        ]
    return dict(zip((device.name for device in machine.devices), named, strict=True))


def names_here(used: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """A placement's devices -> full names of TensorFlow's devices in this process.

    ``given`` says which is which; where it does not, ``cpu:1`` is this process's second logical
    CPU. A name without a job is one of this process. InputError for what is not there.
    """

    given, used = given or {}, set(used)
    for name in (name for name in given if name not in used):
        raise InputError(
            f"the placement has nothing on {name!r}, but on {', '.join(sorted(used))}; mend that"
            " name in devices=, or leave it out"
        )
    there = _present()
    return {name: _found(name, given.get(name, name), there) for name in sorted(used)}


def _present() -> list[tf.DeviceSpec]:
    """All devices of this process, its own first, as an eager operation sees them."""
    import tensorflow as tf

    names = [device.name for device in tf.config.list_logical_devices()]
    found = []
    for name in names:
        with tf.device(name):
            found.append(tf.DeviceSpec.from_string(tf.zeros([]).device))
    return found


def _found(name: str, wanted: str, there: list[tf.DeviceSpec]) -> str:
    import tensorflow as tf

    text = wanted if wanted.startswith("/") else f"/device:{wanted}"
    text = re.sub(r"device:(\w+)", lambda kind: f"device:{kind[1].upper()}", text)
    try:
        spec = tf.DeviceSpec.from_string(text)
    except ValueError:
        raise InputError(
            f"{wanted!r} is no name of TensorFlow's; say what {name!r} is with devices="
            f'{{"{name}": "CPU:0"}}'
        ) from None
    home = there[0]
    defaults = tf.DeviceSpec(home.job, home.replica, home.task, device_index=0)
    if spec.job is not None:
        defaults = tf.DeviceSpec(replica=0, task=0, device_index=0)
    full = defaults.make_merged_spec(spec)
    if full not in there:
        have = ", ".join(one.to_string() for one in there)
        raise InputError(
            f"device {name!r} of the placement would be {full.to_string()}, which TensorFlow has"
            f" not here (it has {have}); make it, for instance with"
            " tf.config.set_logical_device_configuration, or say with devices= what it is"
        )
    return str(full.to_string())
