"""One page of a crawl: what the tables say of it, and its record in the archive.

A capture is a row of `pages`: a URL at an instant. The bytes are read from the WARC file where
the row says; nothing else of the archive is touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crivello._native import WarcReader, decode_content
from crivello.errors import Error, UsageError
from crivello.url import normalise, url_hash

if TYPE_CHECKING:
    from crivello.store.reader import Snapshot

MAX_DECODED = 256 << 20


@dataclass(frozen=True)
class Capture:
    """A page as it was fetched.

    >>> page = crivello.open("docs.crivello").get("http://localhost:8000/")  # doctest: +SKIP
    >>> page.status, page.title                                            # doctest: +SKIP
    (200, 'Welcome')
    >>> page.body()[:15]                                                   # doctest: +SKIP
    b'<!DOCTYPE html>'
    """

    directory: Path
    row: pa.RecordBatch
    """The one row of the table `pages`, with all its columns."""

    def __getitem__(self, column: str) -> Any:  # noqa: ANN401 - the table's columns
        """The value of a column of `pages`."""
        return self.row[column][0].as_py()

    @property
    def url(self) -> str:
        """Its URL."""
        return str(self["url"])

    @property
    def fetched_at(self) -> datetime:
        """When it was asked for."""
        when: datetime = self["fetched_at"]
        return when

    @property
    def status(self) -> int | None:
        """The HTTP status; None when there was no answer."""
        status: int | None = self["status"]
        return status

    @property
    def error(self) -> str | None:
        """Why it failed, in a word."""
        error: str | None = self["error"]
        return error

    @property
    def title(self) -> str | None:
        """Its title."""
        title: str | None = self["title"]
        return title

    @property
    def text(self) -> str | None:
        """Its visible text; None when texts are not kept."""
        text: str | None = self["text"]
        return text

    @property
    def warc_path(self) -> Path:
        """The file that holds its record."""
        if self["warc_file"] is None:
            why = f"the visit failed ({self.error})" if self.status is None else "none was kept"
            raise Error(f"{self.url}: has no archive record: {why}")
        agent = int(self["visit"]) >> 48
        return self.directory / "agents" / str(agent) / "warc" / str(self["warc_file"])

    def member(self) -> bytes:
        """The record as it stands in the file, compressed."""
        path = self.warc_path
        try:
            with path.open("rb") as file:
                file.seek(self["warc_offset"])
                data = file.read(self["warc_length"])
        except OSError as error:
            raise Error(f"{path}: cannot be read: {error.strerror}") from None
        if len(data) < self["warc_length"]:
            raise Error(f"{path}: ends before the record of {self.url}; restore it from a copy")
        return data

    def record(self) -> bytes:
        """The WARC record: its own head, the HTTP head, the body as it was sent."""
        codec = "zstd" if self.warc_path.suffix == ".zst" else "gzip"
        try:
            with pa.CompressedInputStream(pa.BufferReader(self.member()), codec) as record:
                return bytes(record.read())
        except OSError:
            raise self._damaged() from None

    def headers(self) -> bytes:
        """The HTTP head, with the empty line that ends it."""
        return self.message()[0]

    def body(self) -> bytes:
        """The body, its content-coding removed."""
        return self.message()[1]

    def message(self) -> tuple[bytes, bytes]:
        """Head and body, read once."""
        batch = WarcReader(self.member(), max_block=1 << 30).next_batch(1)
        if batch is None:
            raise self._damaged()
        record = pa.record_batch(batch)
        if record["url"][0].as_py() != self.url:
            raise self._damaged()
        head, body = record["head"][0].as_py(), record["body"][0].as_py()
        codings = ",".join(header(head, "content-encoding"))
        return head, decode_content(codings, body, limit=MAX_DECODED)[0]

    def _damaged(self) -> Error:
        return Error(
            f"{self.warc_path}: holds no record of {self.url} at byte {self['warc_offset']};"
            " restore it from a copy"
        )


def header(head: bytes, name: str) -> list[str]:
    """The values of the fields of that name in an HTTP head."""
    start = f"{name.lower()}:".encode()
    lines = [line for line in head.splitlines() if line.lower().startswith(start)]
    return [line[len(start) :].strip().decode("latin-1") for line in lines]


def checked(url: str) -> str:
    """The URL in normal form; an error in one line when it is none."""
    try:
        return normalise(url)
    except ValueError as error:
        raise UsageError(f"{url!r}: {error}") from None


def find(snapshot: Snapshot, url: str) -> Capture | None:
    """The latest capture of a URL."""
    rows = snapshot.sql(
        f"select * from pages where url_hash = {url_hash(url)}"
        " order by fetched_at desc, visit desc limit 1"
    ).to_arrow()
    if rows.num_rows == 0:
        return None
    return Capture(snapshot.directory, rows.combine_chunks().to_batches()[0])
