"""The file `checkpoint.json`: the point that a crash falls back to, sealed with a checksum.

One JSON object. `crc` is the CRC-32 of all its other keys, written without spaces and with keys
in order, so that a file in which anything was changed is refused whole: to go on from half a
checkpoint would throw away what the other half held.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crivello.errors import Error

NAME = "checkpoint.json"
VERSION = 1


def encode(state: Mapping[str, Any]) -> bytes:
    """The bytes of the file, for readers as well as for people."""
    sealed = {"version": VERSION, **state}
    return json.dumps({**sealed, "crc": _crc(sealed)}, indent=1).encode()


def decode(data: bytes, path: Path) -> dict[str, Any]:
    """What `encode` was given; an error that names the file when it is anything else."""
    try:
        state: dict[str, Any] = json.loads(data)
        version, crc = state["version"], state.pop("crc", None)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Error(f"{path}: is damaged; restore it from a copy") from None
    if version != VERSION:
        raise Error(
            f"{path}: is of format {version}, this crivello reads {VERSION};"
            " use the crivello that wrote it"
        )
    if crc != _crc(state):
        raise Error(f"{path}: is damaged (its checksum is wrong); restore it from a copy")
    return state


def _crc(state: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(state, sort_keys=True, separators=(",", ":")).encode())
