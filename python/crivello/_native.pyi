"""The border to the Rust kernels, one section a room."""

from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

class ArrowBatch(Protocol):
    """Anything that hands over a record batch by the Arrow PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class Batch:
    """A record batch made by a kernel; `pyarrow.record_batch(batch)` takes it without a copy."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...

# --- files ---------------------------------------------------------------------------------

# --- budget --------------------------------------------------------------------------------

# --- url -----------------------------------------------------------------------------------

# --- scope ---------------------------------------------------------------------------------

# --- robots --------------------------------------------------------------------------------

# --- sieve ---------------------------------------------------------------------------------

# --- frontier ------------------------------------------------------------------------------

# --- visits --------------------------------------------------------------------------------

# --- ledger --------------------------------------------------------------------------------

# --- page ----------------------------------------------------------------------------------

# --- near ----------------------------------------------------------------------------------

class Duplicates:
    """Marks pages whose text repeats, exactly or nearly, that of an earlier page.

    `memory` is a budget in bytes: every one of the latest `window` pages (memory / 160 at k = 3)
    is compared with; `k` is the greatest Hamming distance of simhashes, 0 to 3.
    """

    def __new__(cls, memory: int, *, k: int = 3) -> Duplicates: ...
    def mark(self, pages: ArrowBatch) -> Batch:
        """Marks pages in row order and remembers them.

        Takes text_digest (fixed_size_binary 16), simhash, url_hash (uint64) and text_len
        (uint32; a page without text, 0 or null, repeats nothing). Gives, row by row, kind
        ("exact", "near" or null), duplicate_of (uint64) and distance (uint8).
        """

    @property
    def window(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...
    def __len__(self) -> int:
        """Pages with text marked so far."""

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
