"""The spool of a table: its newest rows, append-only, until they are sealed.

A segment `agents/<id>/spool/<table>-<n>.spool` is a sequence of frames

    length u32 · crc32 u32 · payload          (little endian; payload a multiple of 8 bytes)

The first payload is the schema, the others record batches, each as an Arrow IPC message. A
checkpoint names the live segments with their lengths and crcs: bytes after that length do not
exist, and recovery cuts them off. Only the last segment grows; a closed one waits to be sealed.
"""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from crivello.errors import Error

if TYPE_CHECKING:
    from crivello._native import Appender, Files

_FRAME = struct.Struct("<II")
_SUFFIX = ".spool"


@dataclass(frozen=True)
class Segment:
    """A segment as a checkpoint knows it."""

    name: str
    length: int
    crc: int

    @property
    def number(self) -> int:
        """Its number, which its Parquet file takes over."""
        return int(self.name.removesuffix(_SUFFIX).rpartition("-")[2])


class Spool:
    """The live segments of one table. At most the last is open; it is opened by its first row."""

    def __init__(
        self,
        files: Files,
        folder: str,
        table: str,
        schema: pa.Schema,
        *,
        segments: Sequence[Segment] = (),
        sealed: int = 0,
        seal_bytes: int,
        seal_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Roll back to `segments`, a checkpoint's; numbers up to `sealed` are used up."""
        self._files = files
        self._folder = folder
        self._table = table
        self._schema = schema
        self.seal_bytes = seal_bytes
        self.seal_seconds = seal_seconds
        self._clock = clock
        self._appender: Appender | None = None
        self._open = ""
        self._opened = 0.0
        self.closed: list[Segment] = list(segments)
        self._next = 1 + max([sealed, *(segment.number for segment in segments)])
        self._roll_back(segments)

    def _roll_back(self, segments: Sequence[Segment]) -> None:
        kept = {segment.name for segment in segments}
        for name in self._files.list(self._folder):
            mine = name.startswith(f"{self._table}-") and name.endswith(_SUFFIX)
            if mine and name not in kept:
                self._files.remove(self.path(name))
        if segments and segments[-1].length < self.seal_bytes:
            last = self.closed.pop()
            path = self.path(last.name)
            self._start(last.name, self._files.resume(path, last.length, last.crc))
        for segment in self.closed:
            self._files.restore(self.path(segment.name), segment.length, segment.crc)

    def path(self, name: str) -> str:
        """A segment's path under the crawl's directory."""
        return f"{self._folder}/{name}"

    def _start(self, name: str, appender: Appender) -> None:
        self._open = name
        self._appender = appender
        self._opened = self._clock()

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch of the table's schema, after closing a segment that is full.

        On an `OSError` (a full disk) nothing was added, and the call may be made again.
        """
        if self._appender is not None and len(self._appender) >= self.seal_bytes:
            self.rotate()
        if self._appender is None:
            name = f"{self._table}-{self._next:06}{_SUFFIX}"
            self._start(name, self._files.appender(self.path(name)))
            self._next += 1
        assert self._appender is not None
        if not len(self._appender):
            self._appender.append_frame(_column(self._schema.serialize()))
        self._appender.append_frame(_column(batch.serialize()))

    def rotate(self) -> None:
        """Close the open segment, if there is one."""
        if self._appender is None:
            return
        length, crc = self._appender.flush()
        self.closed.append(Segment(self._open, length, crc))
        self._appender = None

    def checkpoint(self) -> list[Segment]:
        """Flush, and list the live segments; one that is full or old is closed."""
        if self._appender is not None and (
            len(self._appender) >= self.seal_bytes
            or self._clock() - self._opened >= self.seal_seconds
        ):
            self.rotate()
        if self._appender is None:
            return list(self.closed)
        length, crc = self._appender.flush()
        return [*self.closed, Segment(self._open, length, crc)]

    def sealed(self, name: str) -> None:
        """A closed segment's rows are in Parquet: no later checkpoint lists it."""
        self.closed = [segment for segment in self.closed if segment.name != name]


def _column(payload: pa.Buffer) -> pa.RecordBatch:
    """A payload as a binary column of one row, which crosses into the kernel without a copy."""
    ends = pa.py_buffer(struct.pack("<ii", 0, payload.size))
    return pa.record_batch(
        [pa.Array.from_buffers(pa.binary(), 1, [None, ends, payload])], names=["frame"]
    )


def read(data: bytes, name: str) -> pa.Table:
    """The rows of a segment's bytes; a damaged frame is an error that says where."""
    whole = pa.py_buffer(data)
    schema: pa.Schema | None = None
    batches = []
    at = 0
    while at < len(data):
        end = at + _FRAME.size
        if end > len(data):
            raise Error(f"{name}: a frame is cut short at byte {at}")
        length, crc = _FRAME.unpack_from(data, at)
        payload = whole.slice(end, length) if end + length <= len(data) else None
        if payload is None or zlib.crc32(payload) != crc:
            raise Error(f"{name}: a frame is damaged at byte {at}")
        if schema is None:
            schema = pa.ipc.read_schema(payload)
        else:
            batches.append(pa.ipc.read_record_batch(payload, schema))
        at = end + length
    if schema is None:
        raise Error(f"{name}: holds no schema")
    return pa.Table.from_batches(batches, schema)
