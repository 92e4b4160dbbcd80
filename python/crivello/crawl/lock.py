"""One process at a time writes a crawl."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from crivello.errors import Error


class CrawlLock:
    """An advisory lock on a file: the kernel lets it go when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1

    def __enter__(self) -> Self:
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise _taken(self._path) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def refuse_if_held(path: Path) -> None:
    """Raise what taking the lock would raise, before anything of the crawl is changed."""
    if is_held(path):
        raise _taken(path)


def _taken(path: Path) -> Error:
    holder = path.read_text("utf-8", errors="replace").strip()
    return Error(
        f"{path.parent}: process {holder or '?'} is crawling into this directory;"
        " stop it first (Ctrl-C there), or choose another directory"
    )


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
