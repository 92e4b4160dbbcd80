"""The memory sieve: a set of signatures and a queue on disk."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from crivello import _native
from crivello.sieve.protocol import TAKE_ROWS, Offers, State, as_batch


class MemorySieve:
    """The plainest sieve: it decides about an offer at once, and grows with every URL it knows.

    A URL is new when its signature is not in the set. New ones are appended, one JSON object a
    line, to the file `urls.jsonl`, which is two things at once: the queue of what `take` has
    still to let out, and the record from which the set is rebuilt. A checkpoint is the length of
    that file and the place in it that `take` has reached.

    >>> import tempfile
    >>> sieve = MemorySieve(tempfile.mkdtemp())
    >>> sieve.offer(["http://a.sim/", "http://b.sim/", "http://a.sim/"])
    >>> [url for batch in sieve.take() for url in batch["url"].to_pylist()]
    ['http://a.sim/', 'http://b.sim/']
    """

    def __init__(
        self,
        path: str | Path,
        *,
        key: int | None = None,
        files: _native.Files | None = None,
        state: State | None = None,
    ) -> None:
        self._files = files or _native.Files(path)
        self._name = str(Path(path if files else "") / "urls.jsonl")
        self._seen: set[bytes] = set()
        self._taken = 0  # bytes of the file that are out
        if state is None:
            self._key = secrets.token_bytes(8) if key is None else key.to_bytes(8, "big")
            self._files.remove(self._name)
            self._log = self._files.appender(self._name)
        else:
            self._key = bytes.fromhex(state["key"])
            self._taken = state["taken"]
            log = state["log"]
            self._log = self._files.resume(log["path"], log["len"], log["crc"])
            self._seen.update(self._signature(row["url"]) for row, _ in self._rows(0))

    def offer(self, urls: Offers) -> None:
        """Append the URLs whose signatures are new."""
        for row in as_batch(urls).to_pylist():
            signature = self._signature(row["url"])
            if signature not in self._seen:
                self._seen.add(signature)
                self._log.append(json.dumps(row).encode() + b"\n")

    def flush(self) -> None:
        """Nothing waits: offers were decided when they came."""

    def take(self, max_rows: int = TAKE_ROWS) -> Iterator[pa.RecordBatch]:
        """Let the new URLs out, in batches; a URL is out when its batch is."""
        schema = as_batch([]).schema
        self._log.flush()
        while rows := list(islice(self._rows(self._taken), max_rows)):
            self._taken = rows[-1][1]
            yield pa.RecordBatch.from_pylist([row for row, _ in rows], schema=schema)
            self._log.flush()

    def contains(self, url: str) -> bool:
        """Whether the URL was ever offered."""
        return self._signature(url) in self._seen

    def __len__(self) -> int:
        return len(self._seen)

    def __bool__(self) -> bool:
        return True

    @property
    def pending(self) -> int:
        """No offer ever waits."""
        return 0

    @property
    def full(self) -> bool:
        """There is always room, as long as the machine has memory."""
        return False

    @property
    def memory_bytes(self) -> int:
        """The table of the set, and the signatures in it."""
        return sys.getsizeof(self._seen) + len(self._seen) * sys.getsizeof(b"8 bytes.")

    def checkpoint(self) -> State:
        """Hand the file to the operating system; its length and the place reached say it all."""
        length, crc = self._log.flush()
        log = {"path": self._name, "len": length, "crc": crc}
        return {"sieve": "memory", "key": self._key.hex(), "log": log, "taken": self._taken}

    def reclaim(self) -> None:
        """Every line is needed to rebuild the set."""

    def close(self) -> None:
        """Let memory go; what came after the last checkpoint is not kept."""
        self._seen.clear()

    def _signature(self, url: str) -> bytes:
        return blake2b(url.encode(), digest_size=8, key=self._key).digest()

    def _rows(self, start: int) -> Iterator[tuple[dict[str, Any], int]]:
        """Rows of the file from an offset on, each with the offset behind it."""
        with self._files.path(self._name).open("rb") as lines:
            lines.seek(start)
            for line in lines:
                start += len(line)
                yield json.loads(line), start
