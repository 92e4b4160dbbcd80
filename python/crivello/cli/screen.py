"""What the commands share in printing."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def say(message: str) -> None:
    """Tell a person something, beside the output."""
    print(f"crivello: {message}", file=sys.stderr)


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
