"""A `crivello` that dies on purpose: `python child.py [--fault PLAN] [--die PLACE] COMMAND…`.

`--fault` breaks the N-th durable operation ("kill:N", "torn:N", "full:N", "error:N"), `--die`
ends the process at a place that has a name below, `--operations FILE` writes down how many durable
operations there were, and `--tight yes` leaves sieve and frontier so little memory that a small
crawl flushes and spills as a large one does.
"""

from __future__ import annotations

import argparse
import functools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import crivello.crawl
import crivello.index
from crivello._native import Files
from crivello.cli import main
from crivello.crawl import compose, crawl
from crivello.crawl.checkpoint import Checkpointer
from crivello.index import indexer, state
from crivello.index.indexer import _Run
from crivello.store import tables
from crivello.store.tables import Tables
from crivello.store.warcs import Warcs


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()
    raise AssertionError


def before(owner: Any, name: str, call: int = 1) -> None:
    """Die instead of the `call`-th call of `owner.name`."""
    _replace(owner, name, call, lambda original, args, kwargs: die())


def after(owner: Any, name: str, call: int = 1) -> None:
    """Die at the end of the `call`-th call of `owner.name`."""

    def run(original: Callable[..., Any], args: Any, kwargs: Any) -> None:
        original(*args, **kwargs)
        die()

    _replace(owner, name, call, run)


def _replace(owner: Any, name: str, call: int, last: Callable[..., Any]) -> None:
    original = getattr(owner, name)
    calls = 0

    @functools.wraps(original)
    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        return last(original, args, kwargs) if calls == call else original(*args, **kwargs)

    setattr(owner, name, counted)


class DyingFiles:
    """The files of a checkpointer, with death around the rename of `checkpoint.json`."""

    def __init__(self, files: Any, *, renamed: bool, call: int) -> None:
        self._files, self._renamed, self._left = files, renamed, call

    def write_atomic(self, path: str, data: bytes) -> None:
        self._left -= 1
        if self._left == 0:
            if self._renamed:
                self._files.write_atomic(path, data)
            else:
                self._files.path(path + ".tmp").write_bytes(data[: len(data) // 2])
            die()
        self._files.write_atomic(path, data)


def around_rename(*, renamed: bool, call: int) -> None:
    original = Checkpointer.__init__

    def init(self: Checkpointer, files: Any, *args: Any, **kwargs: Any) -> None:
        original(self, DyingFiles(files, renamed=renamed, call=call), *args, **kwargs)

    Checkpointer.__init__ = init  # type: ignore[method-assign,assignment]


def at_last_reclaim() -> None:
    """Die when, at the end of the run, the second table is to give its files their names."""
    original = Tables.finish

    def finish(self: Tables) -> None:
        original(self)
        before(tables._Table, "reclaim", 3)

    Tables.finish = finish  # type: ignore[method-assign]


def in_sealing() -> None:
    """Die in the thread that seals, when it has written the third file."""
    after(tables, "seal", 3)


def around_naming(*, call: int) -> None:
    """Die with the `call`-th `index.json` half written."""

    def run(original: Callable[..., Any], args: Any, kwargs: Any) -> None:
        files, index = args
        original(Files(files.root / "elsewhere"), index)
        data = (files.root / "elsewhere" / state.NAME).read_bytes()
        files.path(state.NAME + ".tmp").write_bytes(data[: len(data) // 2])
        die()

    _replace(state, "write", call, run)


def merge_early() -> None:
    """A small crawl merges as a large one does."""
    indexer.MOST_SEGMENTS = indexer.MERGED_AT_ONCE = 2


def after_merge() -> None:
    merge_early()
    after(_Run, "_merged")


def in_merge() -> None:
    """Die when what the first merge has replaced is to be removed."""
    merge_early()
    original = _Run._merged

    def merged(self: _Run, parts: Any) -> Any:
        before(_Run, "sweep")
        return original(self, parts)

    _Run._merged = merged  # type: ignore[method-assign]


def after_pages(pages: int) -> None:
    """Die after the first checkpoint that holds so many pages."""
    original = Checkpointer.take

    def take(self: Checkpointer) -> None:
        original(self)
        if self._extra()["counters"]["pages_stored"] >= pages:
            die()

    Checkpointer.take = take  # type: ignore[method-assign]


PLACES: dict[str, Callable[[], None]] = {
    "before the first checkpoint": lambda: before(Checkpointer, "take"),
    "with every part flushed and checkpoint.json half written": lambda: around_rename(
        renamed=False, call=3
    ),
    "between the rename of checkpoint.json and the first reclaim": lambda: around_rename(
        renamed=True, call=3
    ),
    "after the tables have reclaimed and before the others": lambda: after(Tables, "reclaim", 3),
    "with half of the pages stored": lambda: after_pages(200),
    "before the last rows are sealed": lambda: before(Tables, "finish"),
    "with some segments sealed": in_sealing,
    "with the tables sealed and the archive open": lambda: after(Tables, "finish"),
    "with the archive closed": lambda: after(Warcs, "finish"),
    "with all sealed and some files named": at_last_reclaim,
    "after the last checkpoint": lambda: before(Tables, "close"),
    "with documents read and no segment written": lambda: before(_Run, "_finish", 2),
    "with a segment written and not named": lambda: before(_Run, "publish", 2),
    "with index.json half written": lambda: around_naming(call=2),
    "with a segment named": lambda: before(_Run, "sweep", 4),
    "with a merged segment written and not named": after_merge,
    "with a merged segment named and its parts there": in_merge,
}


def count_operations(file: Path) -> None:
    """Write down how many durable operations there were, at the end of the run."""
    opened = []
    files = compose.Files

    def remember(*args: Any, **kwargs: Any) -> Any:
        opened.append(files(*args, **kwargs))
        return opened[-1]

    def telling(run: Callable[..., Any]) -> Callable[..., Any]:
        def run_and_tell(*args: Any, **kwargs: Any) -> Any:
            try:
                return run(*args, **kwargs)
            finally:
                file.write_text(str(opened[0].operations))

        return run_and_tell

    compose.Files = remember  # type: ignore[misc,assignment]
    compose.run = telling(compose.run)
    compose.import_ = telling(compose.import_)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault")
    parser.add_argument("--die", choices=PLACES)
    parser.add_argument("--operations", type=Path)
    parser.add_argument("--tight", choices=["yes"])
    options, arguments = parser.parse_known_args()
    if options.tight:
        compose.SHARES |= {"sieve": (1 << 20) / (256 << 20), "frontier": (8 << 10) / (256 << 20)}
    if options.die:
        PLACES[options.die]()
    if options.operations:
        count_operations(options.operations)
    if options.fault:
        broken = functools.partial(crivello.crawl.Crawl, fault=options.fault)
        crivello.crawl.Crawl = broken  # type: ignore[misc,assignment]
        crawl.Crawl = broken  # type: ignore[misc,assignment]
        if "index" in arguments:
            crivello.index.Indexer = functools.partial(  # type: ignore[misc,assignment]
                crivello.index.Indexer, fault=options.fault
            )
    main(arguments)
