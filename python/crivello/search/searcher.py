"""Searching the index of a crawl, while it grows or not."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from crivello.errors import UsageError
from crivello.search.language import Query, parse
from crivello.search.plain import PlainSegments, snippet
from crivello.search.results import Hit, Results
from crivello.store.reader import crawl_directory

if TYPE_CHECKING:
    from crivello._native import Leaf

SNIPPET_WIDTH = 240


class Searcher:
    """Searches a crawl. It may be kept and shared by threads: each search is of the index as it
    is then.

    >>> searcher = Searcher.open("docs.crivello")                              # doctest: +SKIP
    >>> for hit in searcher.search('"static function" OR sieve -java', k=3):   # doctest: +SKIP
    ...     print(hit.url, hit.snippet)
    """

    def __init__(self, root: Path) -> None:
        """Of a directory that is known to hold a crawl; `Searcher.open` looks."""
        self._root = root
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] = ()
        self._segments: PlainSegments | None = None

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

        page = segments.search(read.tree, offset + k, k1=k1, b=b).slice(offset)
        pairs = zip(segments.documents(page), page["score"].to_pylist(), strict=True)
        hits = [_hit(read, *pair) for pair in pairs]
        total = segments.count(read.tree)
        took = round((time.perf_counter() - started) * 1000, 3)
        return Results(query=read.text, total=total, took_ms=took, hits=hits)

    def explain(self, query: str | Query) -> list[tuple[Leaf, int]]:
        """What a query scores, from left to right, and how many pages match each part."""
        read = parse(query) if isinstance(query, str) else query
        segments = self._current()
        return [(leaf, segments.count(leaf)) for leaf in read.leaves]

    def _current(self) -> PlainSegments:
        """The pages of the crawl, as its table holds them now."""
        with self._lock:
            stamp = _stamp(self._root / "agents/0/checkpoint.json")
            if self._segments is None or stamp != self._stamp:
                self._segments = PlainSegments(self._root)
                self._stamp = stamp
            return self._segments


def _stamp(path: Path) -> tuple[int, ...]:
    """What tells one version of a file from the next; empty when there is none."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - asked at every search
    except FileNotFoundError:
        return ()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _hit(query: Query, row: dict[str, Any], score: float) -> Hit:
    passage, highlights = snippet(row["text"] or "", query.tree, width=SNIPPET_WIDTH)
    return Hit(
        url=row["url"],
        title=row["title"],
        score=score,
        snippet=passage,
        highlights=highlights,
        fetched_at=row["fetched_at"],
        lang=row["lang"],
        url_hash=row["url_hash"],
    )
