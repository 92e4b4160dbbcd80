"""The border to the Rust kernels, one section a room."""

import builtins
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

PathLike: TypeAlias = str | os.PathLike[str]

class ArrowBatch(Protocol):
    """Anything that hands over a record batch by the Arrow PyCapsule interface."""

    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

class Batch:
    """A record batch made by a kernel; `pyarrow.record_batch(batch)` takes it without a copy."""

    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
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

def normalise(url: str, base: str | None = None) -> str: ...
def url_hash(url: str) -> int: ...
def url_parts(url: str) -> tuple[str, str, str, int, str]:
    """Scheme, host, authority, port, path and query."""

def domain(host: str) -> str: ...
def normalise_batch(links: ArrowBatch, base: str | None = None) -> Batch:
    """Column `url` in; columns `url` and `url_hash` out, null where there is no http(s) URL."""

# --- scope ---------------------------------------------------------------------------------

class Scope:
    """Which URLs a crawl may admit; shared by all kernels that are given it."""

    def __new__(cls, kind: str, seeds: Sequence[str]) -> Scope: ...
    @property
    def kind(self) -> str: ...
    def contains(self, url: str) -> bool: ...
    def add(self, url: str) -> bool:
        """Widens the scope by a seed, or what one redirects to; false when it was inside."""

# --- robots --------------------------------------------------------------------------------

ROBOTS_MAX_BYTES: int

class Robots:
    """A parsed robots.txt; `crivello.fetch.robots.Robots` is its public face."""

    @staticmethod
    def parse(body: bytes) -> Robots: ...
    @staticmethod
    def for_status(status: int | None, body: bytes | None = None) -> Robots: ...
    def allowed(self, agent: str, url: str) -> bool: ...
    def allowed_paths(self, agent: str, paths: Sequence[str]) -> list[bool]: ...
    def crawl_delay(self, agent: str) -> float | None: ...
    def request_rate(self, agent: str) -> tuple[int, int, tuple[int, int] | None] | None: ...
    def visit_time(self, agent: str) -> tuple[int, int] | None: ...
    @property
    def sitemaps(self) -> list[str]: ...

def robots_lines(body: bytes) -> list[tuple[str, str, str, bool, bool, bool]]:
    """Each line's kind ("" when nothing is obeyed), key, value, typo, no colon, comment."""

# --- sieve ---------------------------------------------------------------------------------

# --- frontier ------------------------------------------------------------------------------

# --- visits --------------------------------------------------------------------------------

class Visits:
    """The fetching half of an agent: leases in; page workers take what comes out.

    Times are seconds, sizes bytes. `resolve` rules read "PATTERN=ADDR[:PORT]", PATTERN being a
    host, "*.suffix" or "*". `local_hosts` (seeds that are local) may have private addresses;
    public ones need `identified`: the agent's name and contact are in `agent`.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        agent: str,
        token: str,
        resolve: Sequence[str] = (),
        allow_private: bool = False,
        local_hosts: Sequence[str] = (),
        identified: bool = False,
        visits: int = 256,
        max_body: int = ...,
        max_head: int = ...,
        connect_timeout: float = 10.0,
        first_byte_timeout: float = 20.0,
        total_timeout: float = 120.0,
        idle_timeout: float = 10.0,
        body_budget: int = ...,
        obey_robots: bool = True,
        robots_ttl: float = 86_400.0,
        robots_budget: int = ...,
    ) -> None: ...
    def room(self) -> int:
        """Leases that may still start."""

    def start(self, leases: ArrowBatch) -> None:
        """Start a batch of leases, all or none; OSError when the ledger cannot be written."""

    def seed_robots(self, origin: str, status: int | None, body: bytes, expires: int) -> None:
        """Restore what an origin's robots.txt said, until a time in microseconds."""

    def stop(self) -> None:
        """Send no more requests; visits under way are abandoned and their leases end."""

    def stats(self) -> dict[str, int]:
        """requests, bytes, connections, reused, handshakes, lookups, retries, in_flight."""

# --- ledger --------------------------------------------------------------------------------

class Ledger:
    """The politeness ledger: every request, with the operating system before it leaves.

    Opening begins a new segment in `dir`, a directory of `files`. Times are microseconds.
    """

    def __init__(self, files: Files, dir: str = "ledger") -> None: ...
    def intent(
        self, host: str, ip: str | None, at: int, *, delay_us: int, ip_delay_us: int
    ) -> None: ...
    def end(
        self, host: str, ip: str | None, at: int, *, status: int, hold_until: int = 0
    ) -> None: ...
    def flush(self) -> None: ...

def replay_ledger(path: PathLike, *, since: int = ...) -> Batch:
    """Requests as they left: host, ip, intent_at, ended_at, status, delay_us, ip_delay_us,
    hold_until. `ended_at` is null when the process died meanwhile; status 0 is no answer."""

def last_by_host(path: PathLike, *, since: int = ...) -> Batch:
    """One row a host (`ip` null) and one an address (`host` null): the last intent_at, the
    delay_us then in force, the latest hold_until. `since` is the time of the checkpoint:
    older requests come only as far as they may still bind."""

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
