"""Duplicates found as pages come in: rows of the side table `clusters`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from crivello._native import Duplicates
from crivello.crawl.rows import OK

if TYPE_CHECKING:
    from crivello.store import Snapshot

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
        stored = pages.filter(pc.equal(pages["status"], OK))
        marks = pa.record_batch(self._seen.mark(stored.select(COLUMNS)))
        rows = pa.RecordBatch.from_arrays(
            [stored["url_hash"], *(marks[name] for name in ("duplicate_of", "kind", "distance"))],
            names=["url_hash", "duplicate_of", "kind", "distance"],
        )
        return rows.filter(pc.is_valid(rows["kind"]))

    def remember(self, snapshot: Snapshot) -> None:
        """Enter the pages of earlier runs, in the order of their visits."""
        columns = {name: ds.field(name) for name in ("visit", "text_digest", "simhash", "url_hash")}
        columns["text_len"] = pc.binary_length(ds.field("text")).cast(pa.uint32())
        pages = snapshot.dataset("pages").to_table(
            columns=columns, filter=ds.field("status") == 200
        )
        for batch in pages.sort_by("visit").to_batches(max_chunksize=1024):
            self._seen.mark(batch.select(COLUMNS))
