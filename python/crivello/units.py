"""Times and sizes as people write them: "90s", "10m", "1GiB"."""

from __future__ import annotations

import math
import re

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BINARY = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.IGNORECASE)


def parse_duration(value: object) -> object:
    """Seconds from a number, "1.5", "90s", "1h30m"; what is not text passes unchanged.

    >>> parse_duration("1h30m"), parse_duration("250ms")
    (5400.0, 0.25)
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    try:
        seconds = float(text)
    except ValueError:
        parts = _PART.findall(text)
        if not parts or re.sub(r"\s", "", _PART.sub("", text)):
            raise ValueError("not a duration") from None
        seconds = sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts)
    if not math.isfinite(seconds):
        raise ValueError("not a duration")
    return seconds


def parse_size(value: object) -> object:
    """Bytes from a number, "64KiB", "1GB" (decimal), "512M" (binary, as most tools read it).

    >>> parse_size("1GiB"), parse_size("1.5 MB"), parse_size("64k")
    (1073741824, 1500000, 65536)
    """
    if not isinstance(value, str):
        return value
    match = _SIZE.fullmatch(value.strip())
    if match is None or (match[3] and not match[2]):
        raise ValueError("not a size")
    number, prefix, binary, byte = match.groups()
    power = _BINARY[prefix.lower()]
    unit = 1000 ** (power // 10) if byte and not binary else 1 << power
    return round(float(number) * unit)


def format_size(size: int) -> str:
    """A size by name when it is a whole number of a binary unit, else the number of bytes.

    >>> format_size(1 << 30), format_size(1000)
    ('1GiB', '1000')
    """
    for name, power in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size and size % (1 << power) == 0:
            return f"{size >> power}{name}"
    return str(size)


def human_size(size: float) -> str:
    """A size for reading: three figures and a unit."""
    for name in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {name}" if name == "B" else f"{size:.1f} {name}"
        size /= 1024
    return f"{size:.1f} TiB"


def human_time(seconds: float) -> str:
    """A time span for reading: 0.4 s, 12 s, 3m05, 2h07."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)}m{int(seconds % 60):02d}"
    return f"{int(seconds // 3600)}h{int(seconds % 3600 // 60):02d}"
