"""The GPUs that CUDA_VISIBLE_DEVICES leaves to this process, and how much memory they have free."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import NamedTuple

from suite.core.errors import InputError

VISIBLE = "CUDA_VISIBLE_DEVICES"
PCI_ORDER = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
"""Has CUDA count GPUs as ``nvidia-smi`` does, not the fastest one first."""


class ListedGpu(NamedTuple):
    """A line of ``nvidia-smi``."""

    number: str
    uuid: str
    free_megabytes: float


def visible_gpu(number: int, environment: Mapping[str, str] = os.environ) -> str:
    """What CUDA_VISIBLE_DEVICES calls the GPU that this process sees as its ``number``-th.

    An index, or the UUID (or its beginning) by which the user named it. InputError where fewer are
    visible.
    """
    if VISIBLE not in environment:
        return str(number)
    names = _named(environment[VISIBLE])
    if number >= len(names):
        raise InputError(
            f"GPU {number} is wanted, {VISIBLE}={environment[VISIBLE]!r} shows {len(names)};"
            " change or unset it"
        )
    return names[number]


def _named(text: str) -> list[str]:
    """The entries that count: CUDA sees nothing from the first invalid one on, such as -1."""
    names: list[str] = []
    for entry in text.split(","):
        name = entry.strip()
        if not name.isdecimal() and not name.startswith(("GPU-", "MIG-")):
            break
        names.append(name)
    return names


def free_megabytes(name: str) -> float:
    """Free memory of a GPU, by its index or UUID, by Nvidia's tool.

    TensorFlow tells only what it has taken itself. InputError where the tool does not know the GPU.
    """
    query = ["nvidia-smi", "--query-gpu=index,uuid,memory.free", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError(
            f"nvidia-smi does not say how much GPU memory is free ({error}), which splitting a GPU"
            " needs; mend the driver, or give a machine with as many GPUs as this host"
        ) from None
    return listed_gpu(name, done.stdout).free_megabytes


def listed_gpu(name: str, listing: str) -> ListedGpu:
    """The line of ``nvidia-smi`` (index, UUID, free memory) of a GPU; InputError without one."""
    lines = (line.split(",") for line in listing.strip().splitlines())
    gpus = [ListedGpu(number.strip(), uuid.strip(), float(free)) for number, uuid, free in lines]
    found = [gpu for gpu in gpus if gpu.number == name]
    found = found or [gpu for gpu in gpus if not name.isdecimal() and gpu.uuid.startswith(name)]
    if len(found) != 1:
        known = ", ".join(f"{gpu.number} ({gpu.uuid})" for gpu in gpus) or "none"
        raise InputError(
            f"nvidia-smi lists {len(found)} GPUs named {name!r} in {VISIBLE}; it has {known}"
        )
    return found[0]
