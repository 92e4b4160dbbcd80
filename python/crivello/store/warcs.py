"""The archive: WARC files, and their capture indexes (CDXJ).

Files are `agents/<id>/warc/crivello-<id>-<n>.warc.gz`, each a `warcinfo` record and then records
as the page workers compressed them. The one that grows has beside it `…-<n>.cdxj.part`, its
index lines as they come; when it reaches its limit, or a run ends, the lines are sorted into
`…-<n>.cdxj`. A checkpoint names the growing pair with lengths and crcs; recovery cuts both back
to it and removes everything of a later number.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crivello import __version__
from crivello._native import WarcRecords, cdxj_line

if TYPE_CHECKING:
    from crivello._native import Appender, Files

LIMIT = 1 << 30


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
        limit: int = LIMIT,
    ) -> None:
        self._files = files
        self._folder = f"agents/{agent}/warc"
        self._stem = f"crivello-{agent}-"
        self._limit = limit
        self._number = 0 if state is None else int(state["number"])
        self._warc: Appender | None = None
        self._lines: Appender | None = None
        self._pending: list[str] = []
        self._sorted: list[str] = []
        self._roll_back(state is not None and state["open"] is not None)
        if state is not None and state["open"] is not None:
            self._warc = files.resume(self._path(".warc.gz"), *state["open"]["warc"])
            self._lines = files.resume(self._path(".cdxj.part"), *state["open"]["lines"])

    def _path(self, suffix: str, *, after: int = 0) -> str:
        return f"{self._folder}/{self._stem}{self._number + after:06}{suffix}"

    def _roll_back(self, growing: bool) -> None:
        """Remove what the checkpoint does not know: later numbers, and a pair's other files."""
        for name in self._files.list(self._folder):
            if not name.startswith(self._stem):
                continue
            number, _, suffix = name.removeprefix(self._stem).partition(".")
            kept = {"warc.gz", "cdxj.part"} if growing else {"warc.gz", "cdxj"}
            if int(number) > self._number or (
                suffix not in ({"warc.gz", "cdxj"} if int(number) < self._number else kept)
            ):
                self._files.remove(f"{self._folder}/{name}")

    def append(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """Append the records in the column `warc_record`; the pages with where they are now.

        `warc_file`, `warc_offset` and `warc_length` are null where there is no record. On an
        `OSError` (a full disk) nothing was added, and the call may be made again.
        """
        records = pages["warc_record"].to_pylist()
        offset = self._write([record for record in records if record]) if any(records) else 0
        name = self._path(".warc.gz").rpartition("/")[2]
        offsets: list[int | None] = []
        for record in records:
            offsets.append(offset if record else None)
            offset += len(record or b"")
        lengths = [len(record) if record else None for record in records]
        self._index(pages, records, offsets, name)
        names = [name if record else None for record in records]
        for column, values in (
            ("warc_file", pa.array(names, pa.string())),
            ("warc_offset", pa.array(offsets, pa.uint64())),
            ("warc_length", pa.array(lengths, pa.uint64())),
        ):
            pages = pages.append_column(column, values)
        return pages.drop_columns(["warc_record", "warc_digest"])

    def _write(self, records: list[bytes]) -> int:
        """Append records to the growing file; the offset of the first."""
        if self._warc is not None and len(self._warc) >= self._limit:
            self._close()
        if self._warc is None:
            lines = self._files.appender(self._path(".cdxj.part", after=1))
            self._warc = self._files.appender(self._path(".warc.gz", after=1))
            self._lines = lines
            self._number += 1
        if not len(self._warc):
            self._warc.append(self._warcinfo())
        return self._warc.append(b"".join(records))

    def _warcinfo(self) -> bytes:
        fields = {
            "software": f"crivello/{__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        }
        name = self._path(".warc.gz").rpartition("/")[2]
        return WarcRecords().warcinfo(fields, filename=name, date_us=time.time_ns() // 1000)

    def _index(
        self,
        pages: pa.RecordBatch,
        records: list[bytes | None],
        offsets: list[int | None],
        name: str,
    ) -> None:
        columns = [pages[column].to_pylist() for column in ("url", "status", "mime", "warc_digest")]
        dates = pages["fetched_at"].cast(pa.int64()).to_pylist()
        rows = zip(records, offsets, dates, *columns, strict=True)
        for record, offset, date, url, status, mime, digest in rows:
            if record is not None and offset is not None:
                self._pending.append(
                    cdxj_line(
                        url,
                        date,
                        status=status or 0,
                        mime=mime or "unk",
                        digest=digest or "-",
                        filename=name,
                        offset=offset,
                        length=len(record),
                    )
                )

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
            self._lines.append("".join(f"{line}\n" for line in self._pending).encode())
            self._pending = []

    def checkpoint(self) -> dict[str, Any]:
        """Flush, and describe the growing file."""
        if self._warc is None or self._lines is None:
            return {"number": self._number, "open": None}
        self._flush_lines()
        return {
            "number": self._number,
            "open": {"warc": list(self._warc.flush()), "lines": list(self._lines.flush())},
        }

    def reclaim(self) -> None:
        """The last `checkpoint` is in `checkpoint.json`: remove the lines that were sorted."""
        while self._sorted:
            self._files.remove(self._sorted[0])
            del self._sorted[0]

    def finish(self) -> None:
        """Close the growing file with its index, at the end of a run."""
        self._close()
