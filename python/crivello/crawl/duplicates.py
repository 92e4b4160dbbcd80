"""Duplicates found as pages come in: rows of the side table `clusters`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from crivello._native import Duplicates

if TYPE_CHECKING:
    from collections.abc import Iterable

COLUMNS = ["text_digest", "simhash", "url_hash", "text_len"]


class DuplicateMarker:
    """Marks pages whose text was seen before, exactly or nearly.

    Memory is a budget: duplicates are found among the latest pages that fit it (two
    generations; see `Duplicates`). A crawl that resumes feeds the latest rows of its table
    through `remember`, so that marking goes on where it was.
    """

    def __init__(self, memory: int, *, k: int) -> None:
        self._seen = Duplicates(memory, k=k)

    @property
    def memory_bytes(self) -> int:
        """Bytes in use."""
        return self._seen.memory_bytes

    def mark(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of `clusters` that a batch of fetched pages gives."""
        stored = pages.filter(pc.fill_null(pc.equal(pages["status"], 200), fill_value=False))
        marks = pa.record_batch(self._seen.mark(stored.select(COLUMNS)))
        rows = pa.RecordBatch.from_arrays(
            [stored["url_hash"], *(marks[name] for name in ("duplicate_of", "kind", "distance"))],
            names=["url_hash", "duplicate_of", "kind", "distance"],
        )
        return rows.filter(pc.is_valid(rows["kind"]))

    def remember(self, pages: Iterable[pa.RecordBatch]) -> None:
        """Enter pages of an earlier run, oldest first."""
        for batch in pages:
            self._seen.mark(batch.select(COLUMNS))
