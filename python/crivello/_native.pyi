"""The border to the Rust kernels, one section a room."""

import builtins
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

PathLike: TypeAlias = str | os.PathLike[str]

class ArrowBatch(Protocol):
    """Anything that hands over a record batch by the Arrow PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class Batch:
    """A record batch made by a kernel; `pyarrow.record_batch(batch)` takes it without a copy."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...

# --- files ---------------------------------------------------------------------------------

class Files:
    """A directory of durable files: the one door to bytes that must survive a crash.

    Paths are relative to the root and stay below it; parents are created. `fault` breaks the
    N-th durable operation, for crash tests: "kill:N", "torn:N", "full:N" or "error:N".
    """

    def __init__(
        self, root: PathLike, *, fsync: bool = False, fault: str | None = None
    ) -> None: ...
    @property
    def root(self) -> Path: ...
    @property
    def fsync(self) -> bool: ...
    @property
    def operations(self) -> int:
        """Durable operations so far: what the N of a fault plan counts."""

    def appender(self, path: PathLike) -> Appender:
        """Open a file for appending at its end; its content is read once for the checksum."""

    def resume(self, path: PathLike, len: int, crc: int) -> Appender:
        """`restore` the file and go on appending to it."""

    def restore(self, path: PathLike, len: int, crc: int) -> None:
        """Cut a file back to its checkpoint; OSError when it is shorter or other bytes."""

    def write_atomic(self, path: PathLike, data: bytes) -> None:
        """Replace a file by other content, whole or not at all."""

    def rename(self, old: PathLike, new: PathLike) -> None: ...
    def remove(self, path: PathLike) -> None:
        """Remove a file; one that is already gone is no error."""

    def truncate(self, path: PathLike, len: int) -> None:
        """Cut a file to a length that it has or exceeds."""

    def read(self, path: PathLike) -> bytes: ...
    def exists(self, path: PathLike) -> bool: ...
    def len(self, path: PathLike) -> int: ...
    def list(self, dir: PathLike = "") -> builtins.list[str]:
        """Names in a directory, sorted; none when there is no such directory."""

    def path(self, path: PathLike) -> Path:
        """Whole path of a file."""

class Appender:
    """A file that only grows; bytes count once `flush` has returned, and are dropped without."""

    def append(self, data: bytes) -> int:
        """Add bytes; returns the offset at which they stand."""

    def flush(self) -> tuple[int, int]:
        """Hand everything to the operating system; returns the file's length and CRC-32."""

    def __len__(self) -> int: ...

# --- budget --------------------------------------------------------------------------------

class Budget:
    """Memory as a budget in bytes, drawn by named accounts."""

    def __init__(self, total: int) -> None: ...
    def account(self, name: str, limit: int) -> Account:
        """The account of that name, opened if it is new; the limit given last holds."""

    def report(self) -> dict[str, int]:
        """Bytes held, by account."""

    @property
    def total(self) -> int: ...
    @property
    def used(self) -> int: ...
    @property
    def over(self) -> bool: ...

class Account:
    """What one structure says it holds; it spills when `over`."""

    def set(self, bytes: int) -> None: ...
    def add(self, bytes: int) -> None: ...
    def sub(self, bytes: int) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def used(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def over(self) -> bool: ...

def parse_size(text: str) -> int:
    """Bytes of a size: "1GiB", "64k" (powers of 1024), "10MB" (of 1000), "4096"."""

# --- url -----------------------------------------------------------------------------------

# --- scope ---------------------------------------------------------------------------------

# --- robots --------------------------------------------------------------------------------

# --- sieve ---------------------------------------------------------------------------------

# --- frontier ------------------------------------------------------------------------------

# --- visits --------------------------------------------------------------------------------

# --- ledger --------------------------------------------------------------------------------

# --- page ----------------------------------------------------------------------------------

# --- near ----------------------------------------------------------------------------------

# --- warc ----------------------------------------------------------------------------------

class WarcRecords:
    """Makes WARC/1.1 records, each a compressed member of its own, ready to append.

    A record depends only on its arguments and `key`, its id too: writing a visit again after a
    crash gives the same bytes. `level` is 0 to 12 for gzip (default 1), -7 to 22 for zstd
    (default 3). Not for use by two threads at once.
    """

    def __new__(
        cls,
        *,
        key: int = 0,
        compression: Literal["gzip", "zstd"] = "gzip",
        level: int | None = None,
    ) -> WarcRecords: ...
    @property
    def extension(self) -> str:
        """What files of these records are called: `warc.gz` or `warc.zst`."""

    def response(
        self,
        url: str,
        date_us: int,
        ip: str | None,
        head: bytes,
        body: bytes,
        truncated: str | None = None,
        visit: int = 0,
    ) -> bytes:
        """The body is stored with its content-coding and without its transfer-coding."""

    def request(
        self,
        url: str,
        date_us: int,
        ip: str | None,
        head: bytes,
        body: bytes = b"",
        visit: int = 0,
    ) -> bytes:
        """What was sent, byte for byte; refers to the response of the same visit."""

    def revisit(
        self,
        url: str,
        date_us: int,
        ip: str | None,
        head: bytes,
        body: bytes,
        *,
        original_url: str,
        original_date_us: int,
        visit: int = 0,
    ) -> bytes:
        """The body is digested, not stored: it is the original's."""

    def warcinfo(self, fields: dict[str, str], *, filename: str, date_us: int) -> bytes:
        """The record that opens a file."""

def cdxj_line(
    url: str,
    date_us: int,
    *,
    status: int,
    mime: str,
    digest: str,
    filename: str,
    offset: int,
    length: int,
) -> str:
    """One line of a capture index, without a line end; sorted bytewise they are the index."""

def surt(url: str) -> str:
    """The key under which a capture index files a URL: `org,example)/path?a&b`."""

def decode_content(
    content_encoding: str, body: bytes, *, limit: int
) -> tuple[bytes, bool, str | None]:
    """Takes content codings off a body: at most `limit` bytes, truncated, class of error."""

# --- workers -------------------------------------------------------------------------------

# --- simweb --------------------------------------------------------------------------------
