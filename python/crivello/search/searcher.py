"""Searching the index of a crawl, while it grows or not."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pyarrow as pa

from crivello import _native
from crivello.errors import Error, UsageError
from crivello.index import state
from crivello.search.language import Query, parse
from crivello.search.results import Hit, Results
from crivello.store.reader import crawl_directory

if TYPE_CHECKING:
    from crivello._native import Leaf

SNIPPET_WIDTH = 240
_T = TypeVar("_T")


class Searcher:
    """Searches a crawl. It may be kept and shared by threads: each search is of the index as it
    is then, because a newer `index.json` is noticed and opened.

    >>> searcher = Searcher.open("docs.crivello")                              # doctest: +SKIP
    >>> for hit in searcher.search('"static function" OR sieve -java', k=3):   # doctest: +SKIP
    ...     print(hit.url, hit.snippet)
    """

    def __init__(self, root: Path) -> None:
        """Of a directory that is known to hold a crawl; `Searcher.open` looks."""
        self._root = root
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] = ()
        self._segments: _native.Searcher | None = None

    @classmethod
    def open(cls, directory: str | Path) -> Self:
        """The searcher of the crawl in `directory`; an error when it has no index."""
        searcher = cls(crawl_directory(directory))
        searcher._current()
        return searcher

    def search(
        self,
        query: str | Query,
        k: int = 10,
        *,
        offset: int = 0,
        k1: float = 1.2,
        b: float = 0.75,
    ) -> Results:
        """The `k` best pages for a query, after the `offset` best ones."""
        if k < 1 or offset < 0:
            raise UsageError(f"k = {k}, offset = {offset}: allowed are k ≥ 1 and offset ≥ 0")
        started = time.perf_counter()
        read = parse(query) if isinstance(query, str) else query
        segments = self._current()

        def find() -> tuple[int, list[Hit]]:
            most = min(offset + k, segments.documents_total)
            best = pa.record_batch(segments.search(read.tree, most, k1=k1, b=b))
            page = best.slice(offset)
            rows = pa.record_batch(segments.documents(page)).to_pylist()
            scores = page["score"].to_pylist()
            hits = [_hit(read, *pair) for pair in zip(rows, scores, strict=True)]
            return segments.count(read.tree), hits

        total, hits = self._told(find)
        took = round((time.perf_counter() - started) * 1000, 3)
        return Results(query=read.text, total=total, took_ms=took, hits=hits)

    def explain(self, query: str | Query) -> list[tuple[Leaf, int]]:
        """What a query scores, from left to right, and how many pages match each part."""
        read = parse(query) if isinstance(query, str) else query
        segments = self._current()
        return self._told(lambda: [(leaf, segments.count(leaf)) for leaf in read.leaves])

    @property
    def documents(self) -> int:
        """How many pages can be found."""
        return self._current().live_total

    def _current(self) -> _native.Searcher:
        """The segments of the index as it is now."""
        with self._lock:
            stamp = _stamp(self._root / state.NAME)
            if self._segments is None or stamp != self._stamp:
                self._segments = self._opened()
                self._stamp = stamp
            return self._segments

    def _opened(self) -> _native.Searcher:
        index = state.read(self._root)
        while index is not None:
            paths = [self._root / segment.path for segment in index.segments]
            if all(path.exists() for path in paths):
                with suppress(FileNotFoundError):
                    return self._told(partial(_native.Searcher, paths))
            newer = state.read(self._root)  # merged since: then there is a newer index
            if newer == index:
                gone = next((path for path in paths if not path.exists()), paths[0])
                raise Error(f"{gone}: is gone; {state.rebuild(self._root)}")
            index = newer
        raise state.none_yet(self._root)

    def _told(self, call: Callable[[], _T]) -> _T:
        """What `call` gives; damage that it meets is told with what to do about it."""
        try:
            return call()
        except ValueError as error:
            raise Error(f"{error}; {state.rebuild(self._root)}") from None


def _stamp(path: Path) -> tuple[int, ...]:
    """What tells one `index.json` from the next; empty when there is none."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - asked at every search
    except FileNotFoundError:
        return ()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _hit(query: Query, row: dict[str, Any], score: float) -> Hit:
    snippet, highlights = _native.snippet(row["text"] or "", query.tree, width=SNIPPET_WIDTH)
    return Hit(
        url=row["url"],
        title=row["title"],
        score=score,
        snippet=snippet,
        highlights=highlights,
        fetched_at=row["fetched_at"],
        lang=row["lang"],
        url_hash=row["url_hash"],
    )
