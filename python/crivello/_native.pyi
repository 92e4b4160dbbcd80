"""The border to the Rust kernels, one section a room."""

import builtins
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

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

def now_us() -> int:
    """Microseconds of UTC since 1970, never running backwards inside a process."""

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

    def append_values(self, column: ArrowBatch) -> int:
        """Add the values of a binary column, one after another; the offset of the first."""

    def append_frame(self, column: ArrowBatch) -> int:
        """Add the value of a binary column as a frame: length, CRC-32, bytes; its offset."""

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
    def deciding(self, agent: str, url: str) -> tuple[int, bool] | None:
        """The line of the rule that decides, and whether it allows; None when none matches."""

    def allowed_paths(self, agent: str, paths: Sequence[str]) -> list[bool]: ...
    def crawl_delay(self, agent: str) -> float | None: ...
    def request_rate(self, agent: str) -> tuple[int, int, tuple[int, int] | None] | None: ...
    def visit_time(self, agent: str) -> tuple[int, int] | None: ...
    @property
    def sitemaps(self) -> list[str]: ...

def robots_lines(body: bytes) -> list[tuple[str, str, str, bool, bool, bool]]:
    """Each line's kind ("" when nothing is obeyed), key, value, typo, no colon, comment."""

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
    def reserve(self, count: int) -> int:
        """Numbers for visits made elsewhere; returns the first."""

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

class Link:
    """A link as the page states it: `href` is raw, `kind` says where it was found."""

    href: str
    kind: str
    rel: str
    anchor: str

class Page:
    """What a body says; `robots_flags` is a bit set (1 noindex, 2 nofollow, 4 noarchive,
    8 nosnippet, 16 noimageindex, 32 notranslate, 64 nocache)."""

    mime: str
    charset: str
    title: str
    description: str
    canonical: str | None
    base: str | None
    lang: str | None
    robots_flags: int
    noindex: bool
    nofollow: bool
    text: str
    links: list[Link]
    text_digest: bytes
    simhash: int

def parse_page(body: bytes, content_type: str | None = None, agent: str = "crivello") -> Page: ...
def to_markdown(body: bytes, url: str, content_type: str | None = None) -> str:
    """A body, its content-coding removed, as Markdown; links are absolute."""

def tokenise(
    html: str, state: str = "data", last_start_tag: str = ""
) -> list[tuple[object, ...]]: ...
def prescan(body: bytes) -> str | None: ...
def simhash(text: str) -> int: ...
def text_digest(text: str) -> bytes: ...

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

# --- index ---------------------------------------------------------------------------------

Leaf: TypeAlias = (
    tuple[Literal["term"], str]
    | tuple[Literal["phrase"], Sequence[str]]
    | tuple[Literal["title"], "Leaf"]
)
Query: TypeAlias = (
    Leaf
    | tuple[Literal["all", "any"], Sequence["Query"]]
    | tuple[Literal["without"], "Query", "Query"]
)
"""A query as nested tuples or lists, of terms as `analyse` makes them.

`all`: every child matches; `any`: one at least; `without`: the first matches and the second does
not. A leaf in ("title", leaf) matches and counts inside the title only. At most 64 deep, with at
most 1,024 leaves and 8,192 terms; one without a positive leaf is a ValueError.
"""

class IndexBuilder:
    """Builds one segment in memory; `memory_bytes` says how much that is by now.

    `positions` are needed by phrases, `store` by `Searcher.documents`.
    """

    def __init__(self, *, positions: bool = True, store: bool = True) -> None: ...
    def add(self, documents: ArrowBatch) -> None:
        """Add documents in row order: url, url_hash, visit, fetched_at (timestamp us), lang?,
        title?, text; the last three may be null."""

    def finish(self, files: Files, path: str) -> tuple[int, int]:
        """Write the segment, whole or not at all: its length and CRC-32. The builder is empty
        afterwards."""

    @property
    def memory_bytes(self) -> int: ...
    def __len__(self) -> int:
        """Documents added since the last segment."""

def merge_segments(files: Files, paths: Sequence[str], path: str) -> tuple[int, int]:
    """Make one segment of several, documents in the order of `paths`: its length and CRC-32.

    Of documents with the same `url_hash` only that of the greatest `visit` is kept.
    """

class Searcher:
    """Open segments, memory-mapped: any number of threads may search at once.

    Of documents with the same `url_hash` only that of the greatest `visit` (the later one, if
    equal) is live; the others match nothing, and count in the statistics until a merge.

    A segment that is missing is an OSError; a foreign or damaged one is a ValueError, when it is
    opened or when what is damaged is read.
    """

    def __init__(self, paths: Sequence[PathLike]) -> None: ...
    def search(self, query: Query, k: int, *, k1: float = 1.2, b: float = 0.75) -> Batch:
        """The k best live documents: segment (uint32), document (uint32), score (float64).

        Ordered by score descending, then segment, then document. A document's score is the sum,
        from 0.0 and from left to right, over the positive leaves that occur in it (also those of
        branches that do not match), each in floating point exactly

            idf * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * dl / avgdl))
            idf = log(1.0 + (N - df + 0.5) / (df + 0.5))       of a phrase: the sum, from 0.0

        N, avgdl = (sum of dl) / N, and df (documents that have the term anywhere, also for a
        leaf inside `title`) are of all segments together, superseded documents included.
        """

    def count(self, query: Query) -> int:
        """How many live documents match."""

    def documents(self, hits: ArrowBatch) -> Batch:
        """Columns `segment`, `document` in; url, url_hash, visit, fetched_at, lang, title and
        text out, row by row. ValueError for segments built without store."""

    def check(self) -> None:
        """Read everything against its checksums; ValueError when something is damaged."""

    @property
    def documents_total(self) -> int: ...
    @property
    def live_total(self) -> int: ...
    @property
    def terms_total(self) -> int:
        """Terms of all segments; one that is in several counts in each."""

    @property
    def bytes(self) -> int: ...

def analyse(text: str) -> list[tuple[str, int, int]]:
    """The terms of a text in order: term, first character, character behind it.

    A term's position is its index here. One of more than 255 bytes is not indexed.
    """

def snippet(text: str, query: Query, *, width: int = 240) -> tuple[str, list[tuple[int, int]]]:
    """The window of the text that says most about the query, and the characters in it to mark.

    At most `width` characters, cut between words, white space collapsed. Without any leaf of the
    query in the text it is the beginning.
    """

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

class WarcReader:
    """Reads the records of a WARC file (a path, or its bytes) that anybody has written.

    gzip members, zstd frames or no compression; what is wrong is told by `problems` and passed
    over. At most `max_block` bytes of a block are given.
    """

    def __new__(cls, source: PathLike | bytes, *, max_block: int = ...) -> WarcReader: ...
    def next_batch(self, max_records: int = 256, max_bytes: int = ...) -> Batch | None:
        """Records, one a row; None at the end of the file.

        Columns offset, kind, url, date (microseconds), ip, content_type, truncated, status, head,
        body. `status` is null where the block is no HTTP response; else `head` is its head in
        strict form and `body` its body without transfer-coding. Without it `body` is the block.
        """

    def problems(self) -> list[tuple[int, str]]:
        """What was found wrong since the last call: offset, and in words."""

    @property
    def position(self) -> int:
        """Bytes of the file read so far."""

    @property
    def size(self) -> int:
        """Bytes of the file."""

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

def cdxj_lines(pages: ArrowBatch) -> bytes:
    """The index lines of the rows that have a record, each with its line end.

    Columns: `url`, `fetched_at` (int64), `status`, `mime`, `warc_digest`, `warc_file`,
    `warc_offset`, `warc_length`.
    """

def surt(url: str) -> str:
    """The key under which a capture index files a URL: `org,example)/path?a&b`."""

def decode_content(
    content_encoding: str, body: bytes, *, limit: int
) -> tuple[bytes, bool, str | None]:
    """Takes content codings off a body: at most `limit` bytes, truncated, class of error."""

# --- workers -------------------------------------------------------------------------------

class Taken:
    """What happened since the last `take`."""

    @property
    def pages(self) -> Batch:
        """Pages, one row a visit."""

    @property
    def links(self) -> Batch:
        """Links of these pages."""

    @property
    def offers(self) -> Batch:
        """URLs that these pages offer to the sieve."""

    @property
    def robots(self) -> Batch:
        """robots.txt files read."""

    @property
    def ends(self) -> Batch:
        """Leases ended."""

class Feed:
    """Pages that somebody else fetched, for page workers in the place of visits."""

    def put(self, pages: ArrowBatch) -> int:
        """Hand over pages; how many.

        Columns visit, url (normalised), date (microseconds), ip, head (of HTTP, in strict form),
        body, truncated. They come back from `PageWorkers.take`, in any order.
        """

    def close(self) -> None:
        """Nothing more comes: the workers end."""

class PageWorkers:
    """Threads that turn fetched bytes into batches of pages, links and offers."""

    def __init__(
        self,
        source: Visits | Feed,
        scope: Scope,
        *,
        follow: Sequence[str],
        threads: int = 1,
        token: str = "crivello",
        max_depth: int = 65535,
        keep_links: bool = True,
        keep_pages: bool = True,
        keep_text: bool = True,
        warc_compression: Literal["gzip", "zstd"] | None = "gzip",
        warc_level: int | None = None,
        crawl_key: int = 0,
        max_decoded: int = ...,
        recent_bytes: int = ...,
    ) -> None: ...
    def take(self, wait_ms: int, *, enough_ends: int = 1, enough_pages: int = ...) -> Taken:
        """Wait up to `wait_ms` for something to happen and take all there is.

        What comes in the next moments is taken too, unless `enough_ends` leases have ended or
        there are `enough_pages`.
        """

    def join(self) -> None:
        """Wait for the threads to end; the visits must have been stopped before."""

# --- simweb --------------------------------------------------------------------------------

class SimWebServer:
    """A simulated web and its running server."""

    def __init__(
        self,
        *,
        hosts: int,
        pages: int,
        seed: int,
        profile: str,
        port: int,
        addresses: int,
        time_scale: float,
        log: str | None,
    ) -> None: ...
    @property
    def port(self) -> int: ...
    @property
    def seed_url(self) -> str: ...
    @property
    def pages(self) -> int: ...
    @property
    def resolve(self) -> list[str]: ...
    @property
    def served(self) -> int: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def truth(self) -> SimWebTruth: ...
    def page(self, host: str, path: str, now_us: int) -> tuple[int, bytes]:
        """Status and body that the generator makes, without the network."""

class SimWebTruth:
    """The truth of a web in batches of bounded size."""

    def __iter__(self) -> SimWebTruth: ...
    def __next__(self) -> Batch: ...
