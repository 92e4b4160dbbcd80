"""What a crawl says of itself while it runs, and afterwards."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crivello.crawl.lock import is_held
from crivello.errors import Error, UsageError

if TYPE_CHECKING:
    from crivello._native import Files
    from crivello.crawl.agent import Parts
    from crivello.index import Background

WRITE_EVERY = 0.5
AGENT = "agents/0"


@dataclass(frozen=True, kw_only=True)
class Status:
    """A crawl's state at one moment; `status --json` prints it as it is."""

    state: str
    urls_known: int
    urls_queued: int
    urls_in_flight: int
    pages_stored: int
    pages_per_s: float
    documents_indexed: int
    pages_to_index: int
    visits: int
    bytes: int
    failures: dict[str, int]
    duplicates: dict[str, int]
    hosts: int
    hosts_visited_now: int
    memory_bytes: int
    memory: dict[str, int]
    checkpoint_at: int | None
    checkpoint_epoch: int
    checkpoint_longest_pause_ms: float
    fetch: dict[str, int]
    elapsed_s: float

    def json(self) -> str:
        """The status as a JSON object."""
        return json.dumps(asdict(self))


def resident_bytes() -> int:
    """The peak of this process's resident memory (VmHWM); 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM")), 0)


class StatusWriter:
    """Keeps `agents/0/status.json` fresh."""

    def __init__(self, files: Files, parts: Parts, indexing: Background | None = None) -> None:
        self._files = files
        self._parts = parts
        self._indexing = indexing
        self._started = time.monotonic()
        self._written = float("-inf")

    def now(self, state: str) -> Status:
        """The status at this moment."""
        parts = self._parts
        stats = parts.visits.stats()
        return Status(
            state=state,
            urls_known=parts.counters.urls_known,
            urls_queued=parts.frontier.queued + parts.frontier.in_flight,
            urls_in_flight=parts.frontier.in_flight,
            pages_stored=parts.counters.pages_stored,
            pages_per_s=round(parts.counters.pages_per_second(), 1),
            documents_indexed=self._indexing.documents if self._indexing else 0,
            pages_to_index=self._indexing.waiting if self._indexing else 0,
            visits=parts.counters.visits,
            bytes=parts.counters.bytes,
            failures=dict(parts.counters.failures),
            duplicates=dict(parts.counters.duplicates),
            hosts=parts.frontier.hosts,
            hosts_visited_now=parts.frontier.active,
            memory_bytes=resident_bytes(),
            memory=self._memory(),
            checkpoint_at=parts.checkpointer.taken_at,
            checkpoint_epoch=parts.checkpointer.epoch,
            checkpoint_longest_pause_ms=round(parts.checkpointer.longest_pause * 1000, 1),
            fetch=stats,
            elapsed_s=round(time.monotonic() - self._started, 2),
        )

    def _memory(self) -> dict[str, int]:
        """Bytes held now, by account of the budget."""
        parts = self._parts
        parts.accounts["sieve"].set(parts.sieve.memory_bytes)
        parts.accounts["frontier"].set(parts.frontier.memory_bytes)
        if parts.duplicates is not None:
            parts.accounts["duplicates"].set(parts.duplicates.memory_bytes)
        parts.accounts["index"].set(self._indexing.memory_bytes if self._indexing else 0)
        return parts.budget.report()

    def maybe(self, state: str) -> None:
        """Write it if the last one is half a second old."""
        if time.monotonic() - self._written >= WRITE_EVERY:
            self.write(state)

    def write(self, state: str) -> Status:
        """Write it now."""
        status = self.now(state)
        self._files.write_atomic(f"{AGENT}/status.json", status.json().encode())
        self._written = time.monotonic()
        return status


def read_status(directory: str | Path) -> dict[str, Any]:
    """The status of the crawl in `directory`, whether it runs or not."""
    root = Path(directory)
    if not (root / "crivello.toml").is_file():
        raise UsageError(f"{root}: is not a crawl (it holds no crivello.toml)")
    path = root / AGENT / "status.json"
    try:
        status: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"{root}: has not been crawled yet; `crivello crawl -o {root}` begins"
        ) from None
    if status["state"] in ("running", "indexing") and not is_held(root / AGENT / "lock"):
        status["state"] = "interrupted"
    status["documents_indexed"] = _documents_indexed(root)
    return status


def _documents_indexed(root: Path) -> int:
    """Pages in the index, also when `crivello index` made it; 0 when it cannot be read."""
    from crivello.index import state

    try:
        index = state.read(root)
    except Error:
        return 0
    return index.documents if index else 0
