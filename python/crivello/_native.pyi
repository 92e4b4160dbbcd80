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

# --- scope ---------------------------------------------------------------------------------

# --- robots --------------------------------------------------------------------------------

# --- sieve ---------------------------------------------------------------------------------

# --- frontier ------------------------------------------------------------------------------

# --- visits --------------------------------------------------------------------------------

# --- ledger --------------------------------------------------------------------------------

# --- page ----------------------------------------------------------------------------------

# --- near ----------------------------------------------------------------------------------

# --- warc ----------------------------------------------------------------------------------

# --- workers -------------------------------------------------------------------------------

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
