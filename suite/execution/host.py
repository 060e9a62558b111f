"""What this host has: driver, GPUs, their memory and links, and what TensorFlow sees of them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suite.core.errors import InputError
from suite.execution.child import Child, ChildDied, Receive, Send, Setup, await_all
from suite.execution.visible_gpus import PCI_ORDER, VISIBLE, visible_gpu

MOST = 8
"""GPUs that are used, however many there are."""
FREE = 0.9
"""Share of a GPU's memory that must be free: what else runs there would be measured, too."""
USABLE = 0.95
"""Share of a GPU's free memory that TensorFlow can hand out."""
_START = 300.0
"""Seconds that TensorFlow may take to start."""


@dataclass(frozen=True)
class Gpu:
    """A GPU of this host, as its driver tells."""

    number: str
    uuid: str
    model: str
    memory: int
    """Bytes."""
    free: int
    """Bytes."""


@dataclass(frozen=True)
class Host:
    """A host that can be measured."""

    driver: str
    """Version of the GPUs' driver; "" without GPUs."""
    gpus: tuple[Gpu, ...]
    """Those that are used, in the order in which TensorFlow counts them."""
    links: Mapping[str, str]
    """``0-1`` -> how the two are linked, in the words of ``nvidia-smi topo``; for what it told."""
    cores: int
    memory: int
    """Bytes."""
    tensorflow: str
    """Version."""
    sees: tuple[str, ...]
    """The devices that TensorFlow sees, in its words."""

    def hardware(self) -> str:
        """What a profile is of: the same for the same devices, whatever else has changed."""
        return ", ".join([f"{self.cores} cores", *(f"{one.model} {one.uuid}" for one in self.gpus)])


def gpu_host(wanted: int | None) -> Host:
    """This host with its first ``wanted`` GPUs (None: all, at most MOST).

    InputError, in one line, for the first thing that is lacking.
    """
    driver, gpus = _visible(_listed())
    count = min(MOST, len(gpus)) if wanted is None else wanted
    if not 1 <= count <= len(gpus):
        raise InputError(f"{count} GPUs are wanted, nvidia-smi shows {len(gpus)} here")
    gpus = gpus[:count]
    for gpu in gpus:
        if gpu.free < FREE * gpu.memory:
            raise InputError(
                f"GPU {gpu.number} has {gpu.free / 1e9:.1f} of {gpu.memory / 1e9:.1f} GB free; end"
                " what runs on it (nvidia-smi), or leave it out with CUDA_VISIBLE_DEVICES"
            )
    version, sees = _tensorflow((PCI_ORDER,))
    seen = [one for one in sees if one.startswith("GPU")]
    if len(seen) < count:
        raise InputError(
            f"nvidia-smi shows {count} GPUs, TensorFlow {version} sees {len(seen)}: pip install"
            " 'tensorflow[and-cuda]', and a driver that is new enough for it"
        )
    return Host(driver, gpus, _links(gpus), _cores(), _memory(), version, sees)


def usable_memory(wanted: int) -> int:
    """Bytes that TensorFlow can hand out on each of the first ``wanted`` GPUs of this host.

    Where there are fewer, a session splits the first: :mod:`suite.execution.driver` has its shares.
    InputError, in one line, where the driver tells of none.
    """
    gpus = _visible(_listed())[1]
    if not gpus:
        raise InputError(f"{VISIBLE} leaves no GPU")
    return usable(gpus[:wanted]) if wanted <= len(gpus) else int(0.9 * gpus[0].free / wanted)


def usable(gpus: Sequence[Gpu]) -> int:
    """Bytes that TensorFlow can hand out on each of these GPUs."""
    return int(USABLE * min(gpu.free for gpu in gpus))


def cpu_host() -> Host:
    """This host without its GPUs: what rehearses what is done with them."""
    version, sees = _tensorflow(((VISIBLE, ""),))
    return Host("", (), {}, _cores(), _memory(), version, sees)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _nvidia_smi(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["nvidia-smi", *arguments], capture_output=True, text=True, check=True
        )
    except FileNotFoundError:
        raise InputError(
            "this host has no driver of Nvidia's (no nvidia-smi): install it; or rehearse on CPUs"
            " with --rehearse"
        ) from None
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stdout", None) or getattr(error, "stderr", None) or str(error)
        last = said.strip().splitlines()[-1]
        raise InputError(f"nvidia-smi fails: {last}; mend the driver") from None
    return done.stdout


def _listed() -> str:
    fields = "driver_version,index,uuid,name,memory.total,memory.free"
    return _nvidia_smi(f"--query-gpu={fields}", "--format=csv,noheader,nounits")


def _visible(listing: str) -> tuple[str, tuple[Gpu, ...]]:
    """Driver and GPUs, those that CUDA_VISIBLE_DEVICES leaves, in its order."""
    driver, gpus = parse_gpus(listing)
    if VISIBLE not in os.environ:
        return driver, gpus
    found: list[Gpu] = []
    for number in range(len(gpus)):
        try:
            name = visible_gpu(number)
        except InputError:
            break
        found += [one for one in gpus if name == one.number or one.uuid.startswith(name)][:1]
    return driver, tuple(found)


def parse_gpus(listing: str) -> tuple[str, tuple[Gpu, ...]]:
    """Driver and GPUs from what ``nvidia-smi --query-gpu`` printed; InputError if it lists none."""
    rows = [[cell.strip() for cell in line.split(",")] for line in listing.strip().splitlines()]
    if not rows or any(len(row) != 6 for row in rows):
        raise InputError(f"nvidia-smi lists no GPUs: {listing.strip() or 'nothing'}")
    if any(not re.fullmatch(r"[\d.]+", cell) for row in rows for cell in row[4:]):
        raise InputError(f"nvidia-smi does not tell a GPU's memory: {listing.splitlines()[0]}")
    gpus = tuple(
        Gpu(number, uuid, model, int(float(total) * 2**20), int(float(free) * 2**20))
        for _, number, uuid, model, total, free in rows
    )
    return rows[0][0], gpus


def _links(gpus: tuple[Gpu, ...]) -> dict[str, str]:
    """How each pair of GPUs is linked; the profile measures what that gives."""
    if len(gpus) < 2:
        return {}
    matrix = parse_topology(_nvidia_smi("topo", "-m"))
    numbers = [one.number for one in gpus]
    pairs = [(a, b) for i, a in enumerate(numbers) for b in numbers[i + 1 :]]
    return {f"{a}-{b}": matrix[a, b] for a, b in pairs if (a, b) in matrix}


def parse_topology(text: str) -> dict[tuple[str, str], str]:
    """Pairs of GPU numbers -> how they are linked, from what ``nvidia-smi topo -m`` printed."""
    lines = [re.sub(r"\x1b\[\d*m", "", line).split() for line in text.splitlines()]
    head = next((line for line in lines if line and line[0] == "GPU0"), [])
    found = {}
    for line in lines:
        if line is head or not line or not re.fullmatch(r"GPU\d+", line[0]):
            continue
        for name, word in zip(head, line[1:], strict=False):
            if re.fullmatch(r"GPU\d+", name) and name != line[0]:
                found[line[0][3:], name[3:]] = word
    return found


def _tensorflow(environment: tuple[tuple[str, str], ...]) -> tuple[str, tuple[str, ...]]:
    """TensorFlow's version and the devices that it sees, asked in a process of its own."""
    setup = Setup("suite.execution.host:tell_devices", environment=environment)
    child = Child("TensorFlow", setup)
    try:
        version, sees = await_all([child], _START)[0]
    except ChildDied as death:
        raise InputError(f"TensorFlow does not start: {death}; install it anew") from None
    finally:
        child.stop()
    return version, sees


def tell_devices(receive: Receive, send: Send) -> None:
    """Child: send TensorFlow's version and its devices."""
    import tensorflow as tf

    found = []
    for device in tf.config.list_physical_devices():
        about = tf.config.experimental.get_device_details(device)
        words = [str(about.get("device_name", ""))]
        if "compute_capability" in about:
            words.append("compute capability {}.{}".format(*about["compute_capability"]))
        found.append(" ".join([device.device_type, *filter(None, words)]))
    send((tf.__version__, tuple(found)))
