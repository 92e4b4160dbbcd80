"""Checkpoints: the common point that a crash falls back to.

A checkpoint is a line drawn between two turns of the loop. Every part flushes to it and
returns what it has on disk (files with lengths and checksums, counters); `checkpoint.json`
lists all of it and is put in place by one rename. A part may keep files that an older
checkpoint needs; it is told to reclaim them only after the rename.

On start everything is cut back to what the checkpoint lists. The politeness ledger alone is
never rolled back: what has been asked has been asked.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

from crivello.errors import Error
from crivello.store import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crivello._native import Files


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
        taken_at: int | None,
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
        self.taken_at = taken_at
        self.longest_pause = 0.0

    def maybe(self) -> bool:
        """Take a checkpoint if one is due."""
        if not self.due:
            return False
        self.take()
        return True

    @property
    def due(self) -> bool:
        """Whether the last one is old enough."""
        return time.monotonic() >= self._due

    def take(self) -> None:
        """Take a checkpoint now."""
        started = time.monotonic()
        at = self._now()
        state: dict[str, Any] = {"epoch": self.epoch + 1, "at": at}
        state.update({name: part.checkpoint() for name, part in self._parts.items()})
        state.update(self._extra())
        self._files.write_atomic(self._path, checkpoint.encode(state))
        for part in self._parts.values():
            part.reclaim()
        self.epoch += 1
        self.taken_at = at
        self.longest_pause = max(self.longest_pause, time.monotonic() - started)
        self._due = time.monotonic() + self._every


def read(files: Files, path: str) -> dict[str, Any] | None:
    """The last checkpoint at `path`; None when there is none yet.

    A crawl without one begins anew and removes what it finds. Sealed files are a sign that
    there was one, because they get their names after it: then nothing is touched.
    """
    if files.exists(path):
        return checkpoint.decode(files.read(path), files.path(path))
    sealed = next(files.root.glob("tables/*/*.parquet"), None)
    if sealed is not None:
        raise Error(
            f"{files.path(path)}: is gone, though there are sealed rows ({sealed.name});"
            " restore it from a copy"
        )
    return None
