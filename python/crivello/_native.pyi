"""The border to the Rust kernels, one section a room."""

from collections.abc import Iterator, Sequence
from typing import Protocol

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

# --- budget --------------------------------------------------------------------------------

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

# --- ledger --------------------------------------------------------------------------------

# --- page ----------------------------------------------------------------------------------

# --- near ----------------------------------------------------------------------------------

# --- warc ----------------------------------------------------------------------------------

# --- workers -------------------------------------------------------------------------------

# --- simweb --------------------------------------------------------------------------------
