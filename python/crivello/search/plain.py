"""Segments in plain Python: the rows of `pages`, searched by the reference.

It answers as the index will, from the table itself and slowly, as long as there is no index.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from crivello._native import analyse
from crivello.search.language import Query
from crivello.search.reference import Reference
from crivello.store import Snapshot

if TYPE_CHECKING:
    from crivello._native import Query as Tree

COLUMNS = ["url", "url_hash", "visit", "fetched_at", "lang", "title", "text", "status"]


class PlainSegments:
    """One segment: all pages of a crawl with text."""

    def __init__(self, root: Path) -> None:
        with Snapshot.open(root) as snapshot:
            pages = snapshot.table("pages", columns=COLUMNS)
        keep = pc.and_kleene(pc.equal(pages["status"], 200), pc.is_valid(pages["text"]))
        self._pages = pages.filter(keep)
        self._reference = Reference([self._pages])

    def search(self, tree: Tree, k: int, *, k1: float, b: float) -> pa.RecordBatch:
        """The k best pages: segment, document, score."""
        found = self._reference.search(tree, k, k1=k1, b=b)
        return pa.RecordBatch.from_pydict(
            {
                "segment": pa.array([each.segment for each in found], pa.uint32()),
                "document": pa.array([each.document for each in found], pa.uint32()),
                "score": pa.array([each.score for each in found], pa.float64()),
            }
        )

    def documents(self, hits: pa.RecordBatch) -> list[dict[str, Any]]:
        """The rows of hits."""
        rows: list[dict[str, Any]] = self._pages.take(hits["document"]).to_pylist()
        return rows

    def count(self, tree: Tree) -> int:
        """How many pages match."""
        return self._reference.count(tree)


def snippet(text: str, tree: Tree, *, width: int) -> tuple[str, list[tuple[int, int]]]:
    """The text around the first word that is looked for, with all of them to highlight."""
    words: set[str] = set()
    for leaf in Query("", tree).leaves:
        inner = leaf[1] if leaf[0] == "title" else leaf
        if inner[0] == "term":
            words.add(inner[1])
        elif inner[0] == "phrase":
            words.update(inner[1])
    text = " ".join(text.split())
    first = next((start for term, start, _ in analyse(text) if term in words), 0)
    begin = max(0, first - width // 3)
    begin = text.rfind(" ", 0, begin) + 1 if begin else 0
    part = text[begin : begin + width]
    part = part if begin + width >= len(text) else part.rpartition(" ")[0] or part
    return part, [(start, end) for term, start, end in analyse(part) if term in words]
