"""Files that may be packed."""

from __future__ import annotations

import gzip
import lzma
import zlib
from pathlib import Path

from suite.core.errors import InputError


def unpacked(path: Path) -> bytes:
    """The content of a file, unpacked if it is of gzip or xz; InputError if it cannot be."""
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            return gzip.decompress(data)
        return lzma.decompress(data) if data[:6] == b"\xfd7zXZ\x00" else data
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"{path} cannot be unpacked ({error}); write it again") from None
