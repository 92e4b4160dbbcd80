"""What the commands share in printing."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def say(message: str) -> None:
    """Tell a person something, beside the output."""
    print(f"crivello: {message}", file=sys.stderr)


def harmless(text: str) -> str:
    """Text of somebody's page without characters that command a terminal."""
    return _CONTROLS.sub(" ", text)


def print_json(facts: Mapping[str, Any]) -> None:
    """Facts as one JSON object."""
    print(json.dumps(facts, ensure_ascii=False))


def moment(microseconds: int | None) -> str:
    """A time of day for reading, in UTC."""
    if microseconds is None:
        return "never"
    return clock(datetime.fromtimestamp(microseconds / 1e6, UTC))


def clock(when: datetime) -> str:
    """A time for reading, in UTC."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
