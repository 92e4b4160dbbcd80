"""The border to the Rust kernels, one section a room."""

from collections.abc import Iterator, Sequence
from typing import Protocol

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
def tokenise(
    html: str, state: str = "data", last_start_tag: str = ""
) -> list[tuple[object, ...]]: ...
def prescan(body: bytes) -> str | None: ...
def simhash(text: str) -> int: ...
def text_digest(text: str) -> bytes: ...

# --- near ----------------------------------------------------------------------------------

# --- warc ----------------------------------------------------------------------------------

# --- workers -------------------------------------------------------------------------------

# --- simweb --------------------------------------------------------------------------------
