"""The border to the Rust kernels, one section a room."""

import builtins
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypedDict

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

class FileState(TypedDict):
    """What a checkpoint keeps of a file."""

    path: str
    len: int
    crc: int

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

class Merged(TypedDict):
    """What a merge made: the new Z and its size, the A it merged, and which rows are fresh."""

    z: FileState
    known: int
    log: FileState
    fresh: FileState
    count: int

class SieveBuffer:
    """The memory of a Mercator sieve, and its merge with what is on disk."""

    def __init__(
        self, files: Files, log: str, *, key: int, memory: int, state: FileState | None = None
    ) -> None: ...
    def offer(self, batch: ArrowBatch, start: int = 0) -> int:
        """Take rows from `start` on until full; returns the first row not taken."""

    def merge(self, old: str | None, *, new: str, fresh: str, log: str) -> Merged:
        """Merge with the file `old`, and go on, empty, with a new log; old files stay."""

    def flush_log(self) -> FileState: ...
    def holds(self, url: str) -> bool:
        """Whether the URL was offered since the last merge; reads all of the memory."""

    @property
    def pending(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    @property
    def full(self) -> bool: ...
    @property
    def dropped(self) -> int:
        """Offers that the cache of recent URLs saved."""

    @property
    def memory_bytes(self) -> int: ...

class FreshReader:
    """Reads the fresh rows of a merged log, in order."""

    def __init__(
        self, files: Files, log: FileState, fresh: str, *, key: int, row: int = 0
    ) -> None: ...
    def next_batch(self, max_rows: int) -> Batch | None: ...
    @property
    def row(self) -> int:
        """Rows of the log dealt with."""

def count_signatures(files: Files, path: str, *, key: int) -> int: ...
def find_signature(files: Files, path: str, url: str, *, key: int) -> bool: ...
def offer_rows(urls: Sequence[str]) -> Batch:
    """Offers of URLs that come from no page, taken as they are."""

# --- frontier ------------------------------------------------------------------------------

class Frontier:
    """The frontier's mechanism; `crivello.frontier.DiskFrontier` says when to do what."""

    def __init__(
        self,
        files: Files,
        dir: str,
        *,
        delay_us: int,
        ip_delay_us: int,
        local_ip_delay_us: int,
        ratio: float | None,
        burst: int,
        burst_us: int,
        backoff_us: int,
        agent: int,
        segment_bytes: int,
        state: dict[str, Any] | None,
    ) -> None: ...
    def push(self, urls: ArrowBatch) -> None: ...
    def lease(self, room: int, now: int) -> Batch: ...
    def settle(self, ends: ArrowBatch) -> None: ...
    def stored(self, visits: ArrowBatch) -> None: ...
    def retry(self, visits: ArrowBatch, not_before: int) -> None: ...
    def set_host(
        self, host: str, *, delay_us: int | None = None, hold_until: int | None = None
    ) -> None: ...
    def set_ip(self, ip: str, delay_us: int) -> None: ...
    def retire(self, host: str, limit: int) -> Batch: ...
    def restore_clocks(self, rows: ArrowBatch) -> None: ...
    def failures(self, host: str) -> int: ...
    def next_ready(self) -> int | None: ...
    def spill(self, target: int, chunk: int) -> None:
        """Move queues to disk until `target` bytes are in memory; read back by `chunk` bytes."""

    def compact(self) -> None:
        """Write what lives in mostly dead segments of the queue log anew."""

    def checkpoint(self, snapshot: bool) -> dict[str, Any]: ...
    def reclaim(self) -> None: ...
    @property
    def queued(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def hosts(self) -> int: ...
    @property
    def active(self) -> int: ...
    @property
    def memory_bytes(self) -> int:
        """Bytes of memory held: buffers of queues, URLs in flight, hosts and IPs."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes of memory that `spill` can move to disk."""

    @property
    def disk_bytes(self) -> tuple[int, int]:
        """Bytes of the queue log, and those of them that are still to be read."""

    @property
    def log_bytes(self) -> tuple[int, int]:
        """Bytes of the state log, and those that its snapshot takes."""

# --- visits --------------------------------------------------------------------------------

# --- ledger --------------------------------------------------------------------------------

# --- page ----------------------------------------------------------------------------------

# --- near ----------------------------------------------------------------------------------

# --- warc ----------------------------------------------------------------------------------

# --- workers -------------------------------------------------------------------------------

# --- simweb --------------------------------------------------------------------------------
