"""One process at a time writes a crawl, and one its index."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from crivello.errors import Error

CRAWLING = (
    "is crawling into this directory; stop it first (Ctrl-C there), or choose another directory"
)


class LockedError(Error):
    """Another process holds the lock."""


class CrawlLock:
    """An advisory lock on a file: the kernel lets it go when the process ends, however it ends.

    `taken` is what another process is told to do that holds it.
    """

    def __init__(self, path: Path, *, taken: str = CRAWLING) -> None:
        self._path = path
        self._said = taken
        self._fd = -1

    def __enter__(self) -> Self:
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise _taken(self._path, self._said) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def refuse_if_held(path: Path) -> None:
    """Raise what taking the lock would raise, before anything of the crawl is changed."""
    if is_held(path):
        raise _taken(path, CRAWLING)


def _taken(path: Path, said: str) -> LockedError:
    holder = path.read_text("utf-8", errors="replace").strip()
    return LockedError(f"{path.parent}: process {holder or '?'} {said}")


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # nobody has made it, or can
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
