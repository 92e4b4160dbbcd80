"""The manifest of a table: which Parquet files are its sealed rows.

`tables/<table>/manifest.log` (agent n > 0: `manifest-<n>.log`) is JSON lines, append-only:

    {"n":1,"op":"seal","file":"0-000001.parquet","rows":8100,"len":1310720,"crc":77,"segment":"pages-000001.spool"}

`n` counts from 1 without gaps, so that who follows the log remembers one number. Lines beyond
the length in `checkpoint.json` do not exist. A file that no line names is not of the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from crivello.errors import Error

if TYPE_CHECKING:
    from crivello._native import Appender, Files

SEALING = ".sealing"


@dataclass(frozen=True)
class Seal:
    """A sealed file: where it is, what it holds, and the spool segment that it replaces."""

    file: str
    rows: int
    len: int
    crc: int
    segment: str

    @property
    def agent(self) -> int:
        """Whose file it is."""
        return int(self.file.partition("-")[0])

    @property
    def number(self) -> int:
        """The number shared by the file and its segment."""
        return int(self.file.removesuffix(".parquet").rpartition("-")[2])


def path(table: str, agent: int) -> str:
    """The path of an agent's manifest of a table, under the crawl's directory."""
    return f"tables/{table}/manifest{f'-{agent}' if agent else ''}.log"


def parse(data: bytes, name: str) -> list[Seal]:
    """The entries of a manifest's bytes."""
    entries = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            entry = json.loads(line)
            if entry.pop("n") != number or entry.pop("op") != "seal":
                raise ValueError("out of order")
            entries.append(Seal(**entry))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Error(f"{name}: line {number} is not an entry of a manifest") from None
    return entries


class Manifest:
    """An agent's manifest of a table, rolled back to a checkpoint's length and then extended."""

    def __init__(self, files: Files, table: str, agent: int, state: Any = None) -> None:  # noqa: ANN401 - parsed JSON
        self._files = files
        self._path = path(table, agent)
        self._appender: Appender | None = None
        self._state = {"len": 0, "crc": 0} if state is None else dict(state)
        self.entries: list[Seal] = []
        if not self._state["len"]:
            if files.exists(self._path):
                files.remove(self._path)
            return
        self._appender = files.resume(self._path, self._state["len"], self._state["crc"])
        self.entries = parse(files.read(self._path), str(files.path(self._path)))

    def extend(self, seals: Iterable[Seal]) -> None:
        """Append entries, to become true with the next checkpoint."""
        for seal in seals:
            if self._appender is None:
                self._appender = self._files.appender(self._path)
            line = {"n": len(self.entries) + 1, "op": "seal", **asdict(seal)}
            self._appender.append(json.dumps(line, separators=(",", ":")).encode() + b"\n")
            self.entries.append(seal)

    def checkpoint(self) -> dict[str, int]:
        """Flush; the length and crc that make the entries true."""
        if self._appender is not None:
            length, crc = self._appender.flush()
            self._state = {"len": length, "crc": crc}
        return dict(self._state)
