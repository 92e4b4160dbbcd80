"""What every sieve promises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa

from crivello import _native

if TYPE_CHECKING:
    from crivello._native import ArrowBatch

Offers: TypeAlias = "ArrowBatch | Iterable[str]"
"""A record batch of offers (url, url_hash, depth, score, from_hash, from_url), or plain URLs."""

State = dict[str, Any]
"""A checkpoint: a dictionary that goes into JSON."""

TAKE_ROWS = 8192
"""Rows of a batch that comes out, unless asked otherwise."""


class Sieve(Protocol):
    """Lets every URL out exactly once, in order of first appearance.

    A crawler meets each URL a hundred times. It offers them all; after `flush`, `take` lets out
    those that were never offered before, each with the depth, score and origin of its first
    offer, in the order of the first offers. URLs are compared as they are, so they should be
    normalised before.

    A sieve that keeps 64-bit signatures mistakes a new URL for one of n known ones with
    probability n/2^64; a crawl of n URLs loses n²/2^65 of them: 0.03 at 10^9, 2.7 at 10^10, 271
    at 10^11. The signatures are keyed by a secret of the crawl, so that nobody can craft
    collisions.

    `checkpoint` describes the present. Opened with that state later, after whatever happened in
    between, the sieve is as it was then, and lets the same URLs out again in the same order. What
    it needs for that stays on disk until `reclaim`, which is called when the last checkpoint is
    safely stored and frees what only older ones need.
    """

    def offer(self, urls: Offers) -> None:
        """Take URLs, known or not."""

    def flush(self) -> None:
        """Decide about every offer so far: which are new."""

    def take(self, max_rows: int = TAKE_ROWS) -> Iterator[pa.RecordBatch]:
        """Let out what flushes have found new, in batches; a URL is out when its batch is."""

    def contains(self, url: str) -> bool:
        """Whether the URL was ever offered."""

    def __len__(self) -> int:
        """Distinct URLs that flushes have found: they are out, or `take` will let them out."""

    @property
    def pending(self) -> int:
        """Offers that wait for a flush."""

    @property
    def full(self) -> bool:
        """Whether the next offer would have to flush first."""

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory, at most."""

    def checkpoint(self) -> State:
        """Make the present durable and describe it."""

    def reclaim(self) -> None:
        """Free what the last checkpoint does not need."""

    def close(self) -> None:
        """Let memory and files go; what came after the last checkpoint is not kept."""


def as_batch(urls: Offers) -> pa.RecordBatch:
    """Offers as a record batch; a plain URL has depth 0, score 0 and no origin."""
    if not hasattr(urls, "__arrow_c_array__"):
        urls = _native.offer_rows(list(urls))
    return pa.record_batch(urls)
