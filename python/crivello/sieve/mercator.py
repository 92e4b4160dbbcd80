"""The Mercator sieve: constant memory, sequential disk."""

from __future__ import annotations

import re
import secrets
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from crivello import _native
from crivello.errors import Error, UsageError
from crivello.sieve.protocol import TAKE_ROWS, Offers, State, as_batch

_FILE = re.compile(r"(log|known|fresh)-\d{6,}(\.tmp)?")


@dataclass
class _Ready:
    """A flushed log whose fresh rows are still to come out, from `row` on."""

    log: _native.FileState
    fresh: _native.FileState
    row: int = 0

    def names(self) -> list[str]:
        return [self.log["path"], self.fresh["path"]]


class MercatorSieve:
    """A sieve with its signatures in memory until they are full, and sorted on disk after.

    The strategy is here, the loops are in `_native.SieveBuffer`. Offers go to a *log*, their
    signatures to memory. A flush sorts these, merges them with the file of all *known*
    signatures into the next one, and notes in a bitmap which rows of the log are *fresh*; `take`
    reads the log along the bitmap. Every flush opens a new generation of the three files; the
    old ones stay for the checkpoints that refer to them.

    `memory` bounds the sieve in bytes however many URLs it knows; more of it makes flushes rarer
    (about 75,000 offers for each MiB). `files` may be shared with other parts of a crawl; then
    `path` is relative to its root. `state` is what `checkpoint` returned; without it the sieve
    starts empty, and the files of another one in the same directory are removed.

    >>> import tempfile
    >>> directory = tempfile.mkdtemp()
    >>> sieve = MercatorSieve(directory, memory="1MiB")
    >>> sieve.offer(["http://a.sim/", "http://b.sim/", "http://a.sim/"])
    >>> sieve.flush()
    >>> [url for batch in sieve.take() for url in batch["url"].to_pylist()]
    ['http://a.sim/', 'http://b.sim/']
    >>> sieve.offer(["http://b.sim/", "http://c.sim/"])
    >>> sieve.flush()
    >>> [url for batch in sieve.take() for url in batch["url"].to_pylist()]
    ['http://c.sim/']
    >>> len(sieve), sieve.contains("http://c.sim/"), sieve.contains("http://d.sim/")
    (3, True, False)
    """

    def __init__(
        self,
        path: str | Path,
        *,
        memory: int | str = "64MiB",
        key: int | None = None,
        files: _native.Files | None = None,
        state: State | None = None,
    ) -> None:
        self._files = files or _native.Files(path)
        self._directory = Path(path) if files else Path()
        self._memory = _native.parse_size(memory) if isinstance(memory, str) else memory
        self._generation = 0
        self._known: _native.FileState | None = None
        self._count = 0
        self._ready: deque[_Ready] = deque()
        self._reader: _native.FreshReader | None = None
        self._needed: set[str] = set()
        log: _native.FileState | None = None
        if state is None:
            self._key = secrets.randbits(64) if key is None else key
        else:
            try:
                log = self._restore(state)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                where = self._files.path(self._directory)
                raise Error(f"{where}: not the state of a Mercator sieve: {error!r}") from error
            if key not in (None, self._key):
                raise UsageError("a sieve keeps the key that it was made with: leave key out")
            self._needed = self._names()
        name = self._name("log", self._generation)
        self._buffer = _native.SieveBuffer(
            self._files, name, key=self._key, memory=self._memory, state=log
        )
        self._remove_all_but(self._names())

    def offer(self, urls: Offers) -> None:
        """Take URLs, known or not; a full sieve flushes by itself."""
        batch = as_batch(urls)
        row = 0
        while (row := self._buffer.offer(batch, row)) < batch.num_rows:
            self.flush()

    def flush(self) -> None:
        """Merge the offers with all that is known; the new ones are ready to be taken."""
        if not self._buffer.pending:
            return
        generation = self._generation + 1
        merged = self._buffer.merge(
            self._known and self._known["path"],
            new=self._name("known", generation),
            fresh=self._name("fresh", self._generation),
            log=self._name("log", generation),
        )
        self._generation = generation
        self._known, self._count = merged["z"], merged["known"]
        if merged["count"]:
            self._ready.append(_Ready(merged["log"], merged["fresh"]))

    def take(self, max_rows: int = TAKE_ROWS) -> Iterator[pa.RecordBatch]:
        """Let out what flushes have found new, in batches; a URL is out when its batch is."""
        while self._ready:
            ready = self._ready[0]
            if self._reader is None:
                self._reader = _native.FreshReader(
                    self._files, ready.log, ready.fresh["path"], key=self._key, row=ready.row
                )
            batch = self._reader.next_batch(max_rows)
            ready.row = self._reader.row
            if batch is None:
                self._ready.popleft()
                self._reader = None
            else:
                yield pa.record_batch(batch)

    def contains(self, url: str) -> bool:
        """Whether the URL was ever offered: a scan of memory and a binary search on disk."""
        if self._buffer.holds(url):
            return True
        known = self._known
        return known is not None and _native.find_signature(
            self._files, known["path"], url, key=self._key
        )

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return True

    @property
    def pending(self) -> int:
        """Offers that wait for a flush."""
        return self._buffer.pending

    @property
    def full(self) -> bool:
        """Whether the next offer would have to flush first."""
        return self._buffer.full

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory at the height of a flush."""
        return self._buffer.memory_bytes

    def checkpoint(self) -> State:
        """Hand the log to the operating system and name the files that make up the present."""
        log = self._buffer.flush_log()
        self._needed = self._names()
        return {
            "sieve": "mercator",
            "key": f"{self._key:016x}",
            "generation": self._generation,
            "log": log,
            "known": self._known,
            "ready": [{"log": r.log, "fresh": r.fresh, "row": r.row} for r in self._ready],
        }

    def reclaim(self) -> None:
        """Remove the files that neither the last checkpoint nor the present needs."""
        self._remove_all_but(self._needed | self._names())

    def close(self) -> None:
        """Let memory and files go; what came after the last checkpoint is not kept."""
        self._ready.clear()
        self._reader = None
        del self._buffer

    def _name(self, kind: str, generation: int) -> str:
        return str(self._directory / f"{kind}-{generation:06}")

    def _names(self) -> set[str]:
        """Files that the present needs."""
        known = {self._known["path"]} if self._known else set()
        ready = {name for ready in self._ready for name in ready.names()}
        return known | ready | {self._name("log", self._generation)}

    def _remove_all_but(self, needed: set[str]) -> None:
        for name in self._files.list(self._directory):
            path = str(self._directory / name)
            if _FILE.fullmatch(name) and path not in needed:
                self._files.remove(path)

    def _restore(self, state: State) -> _native.FileState:
        """Bring back all but the buffer, whose log is returned."""
        file = state["log"]
        log: _native.FileState = {"path": file["path"], "len": file["len"], "crc": file["crc"]}
        self._key = int(state["key"], 16)
        self._generation = state["generation"]
        self._known = state["known"]
        if self._known:
            self._count = self._check_known(self._known)
        self._ready = deque(_Ready(**ready) for ready in state["ready"])
        for ready in self._ready:
            for file in (ready.log, ready.fresh):
                self._files.restore(file["path"], file["len"], file["crc"])
        return log

    def _check_known(self, known: _native.FileState) -> int:
        """Look at the ends of the file: all of it is verified by the next flush, which reads it."""
        found = self._files.len(known["path"])
        if found != known["len"]:
            path = self._files.path(known["path"])
            raise OSError(f"{path}: {found} bytes, not the {known['len']} of its checkpoint")
        return _native.count_signatures(self._files, known["path"], key=self._key)
