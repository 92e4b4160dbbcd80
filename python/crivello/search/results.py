"""What a search finds."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A page that matches."""

    url: str
    title: str | None
    score: float
    snippet: str
    """The passage of the text that tells most of what was looked for, as plain text."""
    highlights: list[tuple[int, int]]
    """Where in the snippet the words stand: (start, end) in characters."""
    fetched_at: datetime
    lang: str | None
    url_hash: int

    def marked(self, before: str = "<mark>", after: str = "</mark>") -> str:
        """The snippet as HTML, escaped, with the words that were looked for between marks.

        >>> now = datetime(2026, 1, 1)
        >>> hit = Hit(
        ...     url="",
        ...     title=None,
        ...     score=1,
        ...     snippet="a < b",
        ...     highlights=[(4, 5)],
        ...     fetched_at=now,
        ...     lang=None,
        ...     url_hash=0,
        ... )
        >>> hit.marked()
        'a &lt; <mark>b</mark>'
        """
        return "".join(
            f"{before}{html.escape(text)}{after}" if marked else html.escape(text)
            for text, marked in self.pieces()
        )

    def pieces(self) -> Iterator[tuple[str, bool]]:
        """The snippet in pieces, and of each whether it is to be highlighted."""
        at = 0
        for start, end in self.highlights:
            if at < start:
                yield self.snippet[at:start], False
            yield self.snippet[start:end], True
            at = end
        if at < len(self.snippet):
            yield self.snippet[at:], False

    def as_json(self) -> dict[str, Any]:
        """The hit as `crivello search --json` prints it."""
        return {
            "url": self.url,
            "title": self.title,
            "score": self.score,
            "snippet": self.snippet,
            "fetched_at": self.fetched_at.isoformat().replace("+00:00", "Z"),
            "lang": self.lang,
        }


@dataclass(frozen=True, kw_only=True)
class Results:
    """The hits of a page of results, best first, and how many there are in all."""

    query: str
    total: int
    took_ms: float
    hits: list[Hit]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def as_json(self) -> dict[str, Any]:
        """The results as `crivello search --json` prints them."""
        return {
            "query": self.query,
            "total": self.total,
            "took_ms": self.took_ms,
            "hits": [hit.as_json() for hit in self.hits],
        }
