"""Sizes and counts as people write them."""

from __future__ import annotations

import re

from suite.core.errors import InputError

LARGEST = 2**53
"""Bytes beyond this are none: every int64 sum of fewer than 1,000 such sizes is exact."""
_UNITS = {"": 1, "B": 1}
_UNITS |= {f"{p}B": 1000**i for i, p in enumerate("kMGT", 1)}
_UNITS |= {f"{p}iB": 1024**i for i, p in enumerate("KMGT", 1)}


def parse_bytes(value: object, what: str) -> int:
    """Read ``64e9``, ``"64 GB"`` or ``"60 GiB"`` as bytes; InputError names ``what``."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= LARGEST:
        return int(value)
    match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([A-Za-z]*)\s*", str(value))
    try:
        size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    except (KeyError, ValueError, OverflowError):
        size = 0
    if not 0 < size <= LARGEST:
        raise InputError(f'{what} is {value!r}; write a size such as "12 GB" or "11.25 GiB"')
    return size


def format_bytes(size: float) -> str:
    """Write a number of bytes in GB, MB or kB, to one decimal; below 100 as it is."""
    return _prefixed(size, "B")


def format_flop(work: float) -> str:
    """Write a number of floating-point operations in GFLOP, MFLOP or kFLOP, likewise."""
    return _prefixed(work, "FLOP")


def format_count(count: int, what: str) -> str:
    """Write how many there are of ``what``, a noun whose plural takes an s."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _prefixed(value: float, unit: str) -> str:
    for prefix, worth in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= worth / 10:
            return f"{value / worth:,.1f} {prefix}{unit}"
    return f"{value:.0f} {unit}"
