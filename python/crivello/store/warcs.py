"""The archive: WARC files, and their capture indexes (CDXJ).

Files are `agents/<id>/warc/crivello-<id>-<n>.warc.gz` or `.warc.zst`, each a `warcinfo` record
and then records as the page workers compressed them. The one that grows has beside it
`…-<n>.cdxj.part`, its index lines as they come; when it reaches its limit, or a run ends, the
lines are sorted into `…-<n>.cdxj`. A checkpoint names the growing pair with lengths and crcs;
recovery cuts both back to it and removes everything of a later number.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from crivello import __version__
from crivello._native import WarcRecords, cdxj_lines

if TYPE_CHECKING:
    from crivello._native import Appender, Files

LIMIT = 1 << 30

Compression = Literal["gzip", "zstd"]

_NOTHING = pa.scalar(0, pa.uint64())
_NOWHERE = pa.scalar(None, pa.string())
# Columns that the index is made of.
_INDEXED = [
    "url", "fetched_at", "status", "mime", "warc_digest", "warc_file", "warc_offset", "warc_length",
]  # fmt: skip
_SUFFIXES: Mapping[Compression, str] = {"gzip": ".warc.gz", "zstd": ".warc.zst"}


class Warcs:
    """The WARC files of one agent.

    `state` is what `checkpoint` returned for the checkpoint to go on from (None: a new crawl).
    """

    def __init__(
        self,
        files: Files,
        agent: int,
        state: Mapping[str, Any] | None = None,
        *,
        compression: Compression = "gzip",
        limit: int = LIMIT,
    ) -> None:
        self._files = files
        self._folder = f"agents/{agent}/warc"
        self._stem = f"crivello-{agent}-"
        self._limit = limit
        self._number = 0 if state is None else int(state["number"])
        self._warc: Appender | None = None
        self._lines: Appender | None = None
        self._pending: list[bytes] = []
        self._sorted: list[str] = []
        self.compression: Compression = compression
        growing = state["open"] if state is not None else None
        self._roll_back(growing is not None)
        if growing is not None:
            self._suffix = _SUFFIXES[growing["compression"]]
            self._warc = files.resume(self._path(self._suffix), *growing["warc"])
            self._lines = files.resume(self._path(".cdxj.part"), *growing["lines"])
            if growing["compression"] != compression:
                self._close()
        self._suffix = _SUFFIXES[compression]

    def _path(self, suffix: str, *, after: int = 0) -> str:
        return f"{self._folder}/{self._stem}{self._number + after:06}{suffix}"

    def _roll_back(self, growing: bool) -> None:
        """Remove what the checkpoint does not know: later numbers, and a pair's other files."""
        for name in self._files.list(self._folder):
            if not name.startswith(self._stem):
                continue
            number, _, suffix = name.removeprefix(self._stem).partition(".")
            index = "cdxj.part" if growing and int(number) == self._number else "cdxj"
            if int(number) > self._number or suffix not in {"warc.gz", "warc.zst", index}:
                self._files.remove(f"{self._folder}/{name}")

    def append(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """Append the records in the column `warc_record`; the pages with where they are now.

        `warc_file`, `warc_offset` and `warc_length` are null where there is no record. On an
        `OSError` (a full disk) nothing was added, and the call may be made again.
        """
        records = pages["warc_record"]
        first = self._write(records) if records.null_count < len(records) else 0
        lengths = pc.binary_length(records).cast(pa.uint64())
        ends = pc.cumulative_sum(
            pc.fill_null(lengths, _NOTHING), start=pa.scalar(first, pa.uint64())
        )
        name = pa.scalar(self._path(self._suffix).rpartition("/")[2], pa.string())
        for column, values in (
            ("warc_file", pc.if_else(pc.is_valid(records), name, _NOWHERE)),
            ("warc_offset", pc.subtract(ends, lengths)),
            ("warc_length", lengths),
        ):
            pages = pages.append_column(column, values)
        index = {column: pages[column] for column in _INDEXED}
        index["fetched_at"] = index["fetched_at"].cast(pa.int64())
        self._pending.append(cdxj_lines(pa.record_batch(index)))
        return pages.drop_columns(["warc_record", "warc_digest"])

    def _write(self, records: pa.BinaryArray) -> int:
        """Append records to the growing file; the offset of the first."""
        if self._warc is not None and len(self._warc) >= self._limit:
            self._close()
        if self._warc is None:
            lines = self._files.appender(self._path(".cdxj.part", after=1))
            self._warc = self._files.appender(self._path(self._suffix, after=1))
            self._lines = lines
            self._number += 1
        if not len(self._warc):
            self._warc.append(self._warcinfo())
        return self._warc.append_values(pa.record_batch([records], names=["records"]))

    def _warcinfo(self) -> bytes:
        fields = {
            "software": f"crivello/{__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        }
        name = self._path(self._suffix).rpartition("/")[2]
        records = WarcRecords(compression=self.compression)
        return records.warcinfo(fields, filename=name, date_us=time.time_ns() // 1000)

    def _close(self) -> None:
        """Sort the index of the growing file; the next record begins another."""
        if self._warc is None or self._lines is None:
            return
        self._flush_lines()
        self._warc.flush()
        self._lines.flush()
        part = self._path(".cdxj.part")
        lines = sorted(self._files.read(part).splitlines(keepends=True))
        self._files.write_atomic(self._path(".cdxj"), b"".join(lines))
        self._sorted.append(part)
        self._warc = self._lines = None

    def _flush_lines(self) -> None:
        if self._pending and self._lines is not None:
            self._lines.append(b"".join(self._pending))
            self._pending = []

    def checkpoint(self) -> dict[str, Any]:
        """Flush, and describe the growing file."""
        if self._warc is None or self._lines is None:
            return {"number": self._number, "open": None}
        self._flush_lines()
        return {
            "number": self._number,
            "open": {
                "compression": self.compression,
                "warc": list(self._warc.flush()),
                "lines": list(self._lines.flush()),
            },
        }

    def reclaim(self) -> None:
        """The last `checkpoint` is in `checkpoint.json`: remove the lines that were sorted."""
        while self._sorted:
            self._files.remove(self._sorted[0])
            del self._sorted[0]

    def finish(self) -> None:
        """Close the growing file with its index, at the end of a run."""
        self._close()
