"""How far off the figures of a machine's file may be, as ``placebench profile`` records it.

Beside its figures a ``[[device]]`` has ``spread``, a ``[[link]]`` has ``spread = { latency = ...,
bandwidth = ..., overhead = ..., copy_bandwidth = ... }``: relative standard deviations, 0.1 for
10 %. Those of measured operations lie with their times (:mod:`suite.formats.measured_costs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from suite.core.errors import InputError
from suite.core.uncertainty import LinkSpread, Spread
from suite.formats.machine_toml import SPREAD, as_number, each_device, load_machine, machine_path
from suite.formats.measured_costs import op_spreads
from suite.formats.toml_file import read_toml

_HINT = (
    "profile this host again (placebench profile), or state a relative spread of all its figures"
    " (--spread 0.2; in a grid: judge = { spread = 0.2 })"
)


def load_spread(name_or_path: str | Path, task: str | None) -> Spread:
    """The recorded spread of a machine, with that of its measured times of a task.

    Raises InputError where the file does not give any, as those of machines from data sheets and
    older profiles do not.
    """
    path, machine = machine_path(name_or_path), load_machine(name_or_path)
    table = read_toml(path)
    devices = {
        str(one["name"]): _share(one, f"{path}: device {one['name']}")
        for entry in table["device"]
        for one in each_device(entry, str(path))
    }
    links = {(k.get("from"), k.get("to")): _link_spread(k, path) for k in table.get("link", ())}
    return Spread(devices, links, {} if task is None else op_spreads(machine, task))


def _link_spread(link: Mapping[str, Any], path: Path) -> LinkSpread:
    where = f"{path}: link {link.get('from', 'any')} -> {link.get('to', 'any')}"
    if SPREAD not in link:
        raise InputError(f"{where} records no spread; {_HINT}")
    given, known = link[SPREAD], [one.name for one in fields(LinkSpread)]
    if not isinstance(given, dict) or sorted(given) != sorted(known):
        raise InputError(f"{where}: spread must give {', '.join(known)}; it is {given!r}")
    return LinkSpread(**{name: _number(given[name], f"{where}: {name}") for name in known})


def _share(device: Mapping[str, Any], where: str) -> float:
    if SPREAD not in device:
        raise InputError(f"{where} records no spread; {_HINT}")
    return _number(device[SPREAD], where)


def _number(value: object, where: str) -> float:
    number = as_number(value)
    if not 0 <= number <= 1:
        raise InputError(f"{where}: spread is {value!r}; give a share from 0 to 1")
    return number
