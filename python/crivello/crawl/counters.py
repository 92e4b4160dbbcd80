"""What a crawl counts, for its status, its limits and its next start."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import pyarrow.compute as pc

from crivello.crawl.rows import OK

if TYPE_CHECKING:
    import pyarrow as pa

RATE_WINDOW = 10.0


@dataclass
class Counters:
    """Counts of the whole crawl; they roll back with the checkpoint that carries them."""

    urls_known: int = 0
    pages_stored: int = 0
    visits: int = 0
    bytes: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    duplicates: Counter[str] = field(default_factory=lambda: Counter(exact=0, near=0))
    moved_seeds: list[str] = field(default_factory=list)
    imported: int = 0
    """Pages that came from archives."""
    outlinks_of: str = ""
    """For which imports and bounds the links of imported pages have been offered."""
    _recent: deque[tuple[float, int]] = field(default_factory=deque, repr=False)

    def count_pages(self, pages: pa.RecordBatch) -> None:
        """Count rows of the table `pages`."""
        stored = pc.sum(pc.equal(pages["status"], OK)).as_py() or 0
        self.pages_stored += stored
        self.visits += pages.num_rows
        if "bytes" in pages.schema.names:
            self.bytes += pc.sum(pages["bytes"]).as_py() or 0
        for row in pc.value_counts(pages["error"].drop_null()):
            self.failures[row["values"].as_py()] += row["counts"].as_py()
        self._recent.append((time.monotonic(), stored))

    def count_duplicates(self, clusters: pa.RecordBatch) -> None:
        """Count rows of the table `clusters`."""
        for row in pc.value_counts(clusters["kind"]):
            self.duplicates[row["values"].as_py()] += row["counts"].as_py()

    def pages_per_second(self) -> float:
        """Pages stored a second, over the last ten."""
        now = time.monotonic()
        while self._recent and self._recent[0][0] < now - RATE_WINDOW:
            self._recent.popleft()
        if not self._recent:
            return 0.0
        span = max(now - self._recent[0][0], 0.5)
        return sum(count for _, count in self._recent) / span

    def checkpoint(self) -> dict[str, Any]:
        """The counts as the checkpoint keeps them."""
        return {
            "urls_known": self.urls_known,
            "pages_stored": self.pages_stored,
            "visits": self.visits,
            "bytes": self.bytes,
            "failures": dict(self.failures),
            "duplicates": dict(self.duplicates),
            "moved_seeds": self.moved_seeds,
            "imported": self.imported,
            "outlinks_of": self.outlinks_of,
        }

    @classmethod
    def restore(cls, state: dict[str, Any] | None) -> Self:
        """The counts of a checkpoint; from nothing, zeros."""
        counters = cls()
        if state is not None:
            counters.urls_known = state["urls_known"]
            counters.pages_stored = state["pages_stored"]
            counters.visits = state["visits"]
            counters.bytes = state["bytes"]
            counters.failures.update(state["failures"])
            counters.duplicates.update(state["duplicates"])
            counters.moved_seeds.extend(state["moved_seeds"])
            counters.imported = state.get("imported", 0)
            counters.outlinks_of = state.get("outlinks_of", "")
        return counters
