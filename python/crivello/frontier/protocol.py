"""What the crawl's loop asks of a frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from crivello._native import ArrowBatch


LEASES = pa.schema(
    [
        pa.field("lease", pa.uint64(), nullable=False),
        pa.field("visit", pa.uint64(), nullable=False),
        pa.field("host", pa.string(), nullable=False),
        pa.field("ip", pa.string()),
        pa.field("url", pa.string(), nullable=False),
        pa.field("url_hash", pa.uint64(), nullable=False),
        pa.field("depth", pa.uint16(), nullable=False),
        pa.field("score", pa.float32(), nullable=False),
        pa.field("attempt", pa.uint8(), nullable=False),
        pa.field("burst_us", pa.uint64(), nullable=False),
        pa.field("delay_us", pa.uint64(), nullable=False),
        pa.field("ip_delay_us", pa.uint64(), nullable=False),
    ]
)
"""Leases: rows of one are contiguous, in queue order; the delays are those in force."""

CLOCKS = pa.schema(
    [
        pa.field("host", pa.string()),
        pa.field("ip", pa.string()),
        pa.field("not_before", pa.int64(), nullable=False),
        pa.field("delay_us", pa.uint64(), nullable=False),
    ]
)
"""Clocks as the ledger has them: a row is a host's or an IP's (the other is null)."""


class Frontier(Protocol):
    """Queues of URLs by host; hosts and IPs as tokens; times in UTC microseconds.

    A URL is *queued*, then leased to a visit, then *in flight* until its page row is stored; a
    checkpoint counts what is in flight among the queued. A host that waits has a lawful time,
    `max(end of its last lease + its delay, hold)`, and its turn comes by that time, then first
    come, first served. Nothing but the calls and the times passed in decides the order.
    """

    def push(self, urls: ArrowBatch) -> None:
        """Append URLs at the tails of their hosts' queues (a host is a URL's authority)."""

    def lease(self, room: int, now: int) -> pa.RecordBatch:
        """Give out the tokens of up to `room` hosts whose time has come, with their first URLs."""

    def settle(self, ends: ArrowBatch) -> None:
        """Take tokens back; URLs not consumed return to the head of their queue, in order."""

    def reserve(self, count: int) -> int:
        """Numbers for visits that are made elsewhere (pages imported); returns the first."""

    def stored(self, visits: pa.UInt64Array) -> None:
        """Their page rows are in the store: no longer in flight."""

    def retry(self, visits: pa.UInt64Array, not_before: int) -> None:
        """Instead of `stored`: back to the tails, one attempt more, the hosts not before then."""

    def set_host(
        self, host: str, *, delay_us: int | None = None, hold_until: int | None = None
    ) -> None:
        """Give a host a longer delay of its own, or say until when it is left alone."""

    def set_ip(self, ip: str, delay_us: int) -> None:
        """Give an IP a delay of its own; with 0 it does not limit how many visits it gets."""

    def retire(self, host: str, limit: int) -> pa.RecordBatch:
        """Take up to `limit` URLs from the queue of a host that is given up; lease 0."""

    def restore_clocks(self, rows: ArrowBatch) -> None:
        """Let hosts and IPs wait as the ledger says (schema `CLOCKS`)."""

    def next_ready(self) -> int | None:
        """When the first waiting host's time comes; None if none waits for time alone."""

    def failures(self, host: str) -> int:
        """Leases in a row that could not reach the host."""

    def checkpoint(self) -> dict[str, Any]:
        """Bring everything to disk; what opens a frontier at this point again (JSON)."""

    def reclaim(self) -> None:
        """Remove what only earlier checkpoints needed: the last one stands."""

    def close(self) -> None:
        """Let go of files and memory, without a checkpoint."""

    @property
    def queued(self) -> int:
        """URLs in the queues."""

    @property
    def in_flight(self) -> int:
        """URLs leased or retired whose page rows are not stored yet."""

    @property
    def hosts(self) -> int:
        """Hosts known."""

    @property
    def active(self) -> int:
        """Leases that are out."""

    @property
    def empty(self) -> bool:
        """Whether nothing is queued and nothing in flight."""

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory held."""
