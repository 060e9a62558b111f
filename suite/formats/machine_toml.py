"""Machines as TOML files: ``suite/machines/*.toml``, or any path. A file more is a machine more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, replace
from pathlib import Path

from suite.core.errors import InputError
from suite.core.judged_machine import JudgedMachine
from suite.core.machine import CHANNELS, DISPATCH, OP_CLASSES, Device, Link, Machine
from suite.core.paths import MACHINES, cache_folder
from suite.core.units import parse_bytes
from suite.formats.schema import check_fields, shown
from suite.formats.toml_file import read_toml

PARTS = ("devices", "overheads", "efficiencies", "links")
MANY = 10_000
"""Operations that a device runs at once, at most."""
DEVICES = 255
"""Of a machine, at most: what the simulator has numbers for."""
ORIGINS = ("data sheet", "fitted", "measured", "assumed")
"""Where the numbers of a part come from, the best known first."""
KINDS = ("cpu", "gpu")
"""The kinds of device that placers know; a machine may have others."""
MOST = 10.0
"""What is more is meant as a percentage."""
SPREAD = "spread"
"""What devices and links may say beside their figures (:mod:`suite.formats.machine_spread`)."""


def machine_folders() -> tuple[Path, ...]:
    """Where machines are looked for by name: those of placebench, then profiles of this host."""
    return MACHINES, profiles_folder()


def profiles_folder() -> Path:
    """Where ``placebench profile`` puts machines unless told otherwise."""
    return cache_folder() / "machines"


def check_own_name(name: str) -> None:
    """Raise InputError for a name that a profile of this host would not be found by."""
    if (MACHINES / f"{name}.toml").exists():
        raise InputError(f"{name} is a machine of placebench; give this host another name")


def machine_path(name_or_path: str | Path) -> Path:
    """The TOML file of a machine, by name or as it is; it need not exist.

    A name may have a dot in it; a file that is called so comes first.
    """
    path = Path(name_or_path)
    if path.suffix == ".toml" or (path.suffix and path.is_file()):
        return path
    places = [folder / f"{name_or_path}.toml" for folder in machine_folders()]
    otherwise = path if path.suffix else places[0]
    return next((place for place in places if place.exists()), otherwise)


def load_machine(name_or_path: str | Path) -> Machine:
    """Read a machine by name (``suite/machines``) or from a TOML file; InputError if bad."""
    path = machine_path(name_or_path)
    table = _read(path, name_or_path)
    machine = machine_from_table(table, str(path))
    times = table.get("op_times")
    return machine if times is None else replace(machine, op_times=path.parent / str(times))


def machine_origin(name_or_path: str | Path) -> dict[str, str]:
    """Where a machine's numbers come from: of PARTS, those that its file tells, one of ORIGINS."""
    path = machine_path(name_or_path)
    return _origin(_read(path, name_or_path), str(path))


def _read(path: Path, name_or_path: str | Path) -> Mapping[str, object]:
    try:
        return read_toml(path)
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; give a machine's .toml file") from None
    except PermissionError:
        raise InputError(f"this user must not read {path}; change its permissions") from None
    except OSError:
        name, known = str(name_or_path), ", ".join(known_machines())
        if name.endswith(".toml"):
            raise InputError(f"no file {name!r}; check the path, or name one of {known}") from None
        raise InputError(f"no machine {name!r}; known: {known}; or give a .toml file") from None


def machine_from_table(table: Mapping[str, object], where: str = "machine") -> Machine:
    """Build a machine from a parsed TOML table; InputError says which entry is wrong."""
    known = {"name", "source", "origin", "device", "link", "efficiency", "op_times", "dispatch"}
    known |= {"semantics", "backend", "one_process"}
    for key in _unknown(table, known):
        raise InputError(f"{where}: unknown key {key!r}; known: {', '.join(sorted(known))}")
    _origin(table, where)
    _check_texts(table, ("name", "source", "op_times", "dispatch", "semantics", "backend"), where)
    entries = [one for d in _tables(table, "device", where) for one in each_device(d, where)]
    devices = tuple(_device(entry, where) for entry in entries)
    links = tuple(_link(k, where) for k in _tables(table, "link", where))
    _check_ends(devices, links, where)
    machine = Machine(
        name=str(table.get("name", Path(where).stem)),
        devices=devices,
        links=links,
        efficiency=_efficiencies(table.get("efficiency", {}), {d.kind for d in devices}, where),
        source=str(table.get("source", "")),
        dispatch=str(table.get("dispatch", DISPATCH[0])),
        backend=str(table.get("backend", "")),
        one_process=_yes_or_no(table, "one_process", where),
    )
    if "semantics" not in table:
        return machine
    parts = {field.name: getattr(machine, field.name) for field in fields(Machine)}
    return JudgedMachine(**parts, semantics=str(table["semantics"]))


def _origin(table: Mapping[str, object], where: str) -> dict[str, str]:
    origin = table.get("origin", {})
    if not isinstance(origin, dict):
        raise InputError(f"{where}: write origin as an [origin] table")
    for part, words in origin.items():
        if part not in PARTS:
            raise InputError(f"{where}: origin has no {part!r}; known: {', '.join(PARTS)}")
        if words not in ORIGINS:
            raise InputError(f"{where}: origin of {part} is {words!r}; one of {', '.join(ORIGINS)}")
    return origin


def known_profiles() -> list[str]:
    """Names of the machines that were profiled on this host, sorted."""
    return sorted(path.stem for path in profiles_folder().glob("*.toml"))


def known_machines() -> list[str]:
    """Names of the machines that come with placebench or were profiled here, sorted."""
    return sorted({path.stem for folder in machine_folders() for path in folder.glob("*.toml")})


def _tables(table: Mapping[str, object], key: str, where: str) -> list[Mapping[str, object]]:
    entries = table.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise InputError(f"{where}: write {key}s as [[{key}]] tables")
    return entries


def _positive(table: Mapping[str, object], key: str, where: str, *, zero: bool = False) -> float:
    if key not in table:
        raise InputError(f"{where}: {key} is missing; add it")
    value = as_number(table[key])
    if math.isfinite(value) and (value > 0 or (zero and value == 0)):
        return value
    raise InputError(f"{where}: {key} is {table[key]!r}; give a number {'>=' if zero else '>'} 0")


def _check_texts(table: Mapping[str, object], keys: tuple[str, ...], where: str) -> None:
    given = {key: table[key] for key in keys if key in table}
    check_fields(given, dict.fromkeys(keys, (str,)), (), where)


def _yes_or_no(table: Mapping[str, object], key: str, where: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise InputError(f"{where}: {key} is {value!r}; write true or false")
    return value


def as_number(value: object) -> float:
    """Return what a file gives as a number, nan for what is none."""
    # A bool is an int to Python, but no number to whoever wrote the file.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def whole_number(value: object, what: str, most: int) -> int:
    """Return a count of at least 1, and at most ``most``, as a file gives it; else InputError."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InputError(f"{what} is {shown(value)}; give a whole number from 1 to {most:,}")
    return value


def each_device(table: Mapping[str, object], where: str) -> list[Mapping[str, object]]:
    """The devices of one entry: itself or, with ``count``, so many, numbered behind its name.

    What has no name, or one that is no text, gets none here: it is refused as it is.
    """
    if "count" not in table:
        return [table]
    rest = {key: value for key, value in table.items() if key != "count"}
    name = table.get("name", "?")
    count = whole_number(table["count"], f"{where}: device {name}: count", DEVICES)
    if not isinstance(table.get("name"), str):
        return [rest] * count
    return [rest | {"name": f"{name}:{i}"} for i in range(count)]


def _device(table: Mapping[str, object], where: str) -> Device:
    known = {f.name for f in fields(Device)} | {SPREAD}
    for key in _unknown(table, known):
        words = ", ".join(sorted({*known, "count"}))
        here = f"{where}: device {table.get('name', '?')}"
        raise InputError(f"{here} has no {key!r}; known: {words}")
    for key in ("name", "kind", "memory"):
        if key not in table:
            raise InputError(f"{where}: device {table.get('name', '?')} has no {key}; add it")
    here = f"{where}: device {table['name']}"
    _check_texts(table, ("name", "kind"), here)
    kind, memory = str(table["kind"]), table["memory"]
    if kind not in KINDS and kind.lower() in KINDS:
        raise InputError(f"{here}: kind is {kind!r}; write {kind.lower()!r}")
    if isinstance(memory, str) and memory.strip().isdigit():
        raise InputError(f'{here}: memory is {memory!r}; add a unit, such as "{memory} GB"')
    overhead = _positive(table, "launch_overhead", here, zero=True)
    host = table.get("host_overhead", overhead)
    return Device(
        name=str(table["name"]),
        kind=kind,
        memory=parse_bytes(memory, f"{here}: memory"),
        peak_flops=_positive(table, "peak_flops", here),
        memory_bandwidth=_positive(table, "memory_bandwidth", here),
        launch_overhead=overhead,
        host_overhead=_positive({"host_overhead": host}, "host_overhead", here, zero=True),
        parallelism=whole_number(table.get("parallelism", 1), f"{here}: parallelism", MANY),
    )


def _link(table: Mapping[str, object], where: str) -> Link:
    optional = {"send_overhead", "receive_overhead", "copy_bandwidth", "gap", "scheduling_latency"}
    known = {"from", "to", "bandwidth", "latency", "channel", "name", SPREAD} | optional
    here = f"{where}: link {table.get('from', 'any')} -> {table.get('to', 'any')}"
    for key in _unknown(table, known):
        words = ", ".join(sorted(known))
        raise InputError(f"{here} has no {key!r}; known: {words}")
    channel = table.get("channel", "pair")
    if channel not in CHANNELS:
        raise InputError(f"{here}: channel is {channel!r}; one of {', '.join(CHANNELS)}")
    return Link(
        bandwidth=_positive(table, "bandwidth", here),
        latency=_positive(table, "latency", here, zero=True),
        channel=str(channel),
        source=_end(table, "from"),
        target=_end(table, "to"),
        name=str(table.get("name", "shared")),
        **{
            k: _positive(table, k, here, zero=k != "copy_bandwidth")
            for k in sorted(optional & set(table))
        },
    )


def _check_ends(devices: Sequence[Device], links: Sequence[Link], where: str) -> None:
    """Refuse a link from or to what is no device, and a second one between the same two.

    A slip there would leave it unused in silence.
    """
    known = dict.fromkeys([d.name for d in devices] + [d.kind for d in devices])
    served = set[tuple[str | None, str | None]]()
    for link in links:
        ends = link.source, link.target
        if ends in served:
            one, other = (end or "any" for end in ends)
            raise InputError(f"{where}: there are two links {one} -> {other}; leave one out")
        served.add(ends)
        for word, end in (("from", link.source), ("to", link.target)):
            # The kinds that a placer may meet count even where this machine has none of them.
            if end is not None and end not in (*known, *KINDS):
                raise InputError(
                    f"{where}: a link is {word} {end!r}, which is no device; known:"
                    f" {', '.join(known)}"
                )


def _unknown(table: Mapping[str, object], known: Set[str]) -> list[str]:
    """Keys of a table that are none of these, in the file's order: the first is to be named."""
    return [key for key in table if key not in known]


def _end(table: Mapping[str, object], key: str) -> str | None:
    return None if table.get(key) is None else str(table[key])


def _efficiencies(
    table: object, kinds: set[str], where: str
) -> dict[str, dict[str, tuple[float, float]]]:
    result: dict[str, dict[str, tuple[float, float]]] = {}
    if not isinstance(table, dict) or not all(isinstance(part, dict) for part in table.values()):
        raise InputError(f"{where}: write efficiency as [efficiency.KIND] tables")
    for kind, entries in table.items():
        if kind not in kinds.union(KINDS):
            raise InputError(
                f"{where}: there is an [efficiency.{kind}], and no device of kind {kind!r}; kinds:"
                f" {', '.join(sorted(kinds))}"
            )
        result[kind] = {}
        for name, value in entries.items():
            if name not in OP_CLASSES:
                raise InputError(
                    f"{where}: efficiency.{kind} has no {name!r}; one of {', '.join(OP_CLASSES)}"
                )
            pair = value if isinstance(value, dict) else {"compute": value, "memory": value}
            here = f"{where}: efficiency.{kind}.{name}"
            for key in _unknown(pair, {"compute", "memory"}):
                raise InputError(f"{here} has a key {key!r}; it has compute and memory")
            result[kind][name] = (_share(pair, "compute", here), _share(pair, "memory", here))
    return result


def _share(table: Mapping[str, object], key: str, where: str) -> float:
    """A share of the peak: more than all of it where FLOPs are saved, never ten times as much."""
    share = _positive(table, key, where)
    if share > MOST:
        raise InputError(f"{where}: {key} is {share:g}; give a share, such as 0.6 for 60 %")
    return share
