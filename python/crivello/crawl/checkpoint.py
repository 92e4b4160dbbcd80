"""Checkpoints: the common point that a crash falls back to.

A checkpoint is a line drawn between two turns of the loop. Every part flushes to it and
returns what it has on disk (files with lengths and checksums, counters); `checkpoint.json`
lists all of it and is put in place by one rename. A part may keep files that an older
checkpoint needs; it is told to reclaim them only after the rename.

On start everything is cut back to what the checkpoint lists. The politeness ledger alone is
never rolled back: what has been asked has been asked.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Protocol

from crivello.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crivello._native import Files

VERSION = 1


class Durable(Protocol):
    """A part of the crawl whose state is on disk."""

    def checkpoint(self) -> dict[str, Any]:
        """Flush, and say what is there."""
        ...

    def reclaim(self) -> None:
        """Forget what only older checkpoints needed."""
        ...


class Checkpointer:
    """Takes checkpoints of an agent's parts, every few seconds."""

    def __init__(
        self,
        files: Files,
        path: str,
        parts: Mapping[str, Durable],
        *,
        every: float,
        epoch: int,
        extra: Callable[[], dict[str, Any]],
        now: Callable[[], int],
    ) -> None:
        self._files = files
        self._path = path
        self._parts = parts
        self._every = every
        self._extra = extra
        self._now = now
        self._due = time.monotonic() + every
        self.epoch = epoch
        self.taken_at: int | None = None
        self.longest_pause = 0.0

    def maybe(self) -> bool:
        """Take a checkpoint if one is due."""
        if time.monotonic() < self._due:
            return False
        self.take()
        return True

    def take(self) -> None:
        """Take a checkpoint now."""
        started = time.monotonic()
        at = self._now()
        state: dict[str, Any] = {"version": VERSION, "epoch": self.epoch + 1, "at": at}
        state.update({name: part.checkpoint() for name, part in self._parts.items()})
        state.update(self._extra())
        self._files.write_atomic(self._path, json.dumps(state, indent=1).encode())
        for part in self._parts.values():
            part.reclaim()
        self.epoch += 1
        self.taken_at = at
        self.longest_pause = max(self.longest_pause, time.monotonic() - started)
        self._due = time.monotonic() + self._every


def read(files: Files, path: str) -> dict[str, Any] | None:
    """The last checkpoint at `path`; None when there is none yet."""
    if not files.exists(path):
        return None
    try:
        state = json.loads(files.read(path))
    except ValueError as error:
        raise Error(
            f"{path}: the checkpoint is damaged ({error}); restore it from a copy"
        ) from None
    if state.get("version") != VERSION:
        raise Error(
            f"{path}: written by another version of crivello (format {state.get('version')},"
            f" this one reads {VERSION})"
        )
    return dict(state)
