"""A frontier whose queues live on disk, in a memory fixed in bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crivello import _native
from crivello._native import Files

if TYPE_CHECKING:
    from crivello._native import ArrowBatch

SMALLEST_LOG = 4 << 20
"""A state log is not replaced by a snapshot before it is this long."""


class DiskFrontier:
    """Queues with their heads in memory and the rest on disk; see `Frontier` for the calls.

    The kernel obeys numbers; this class decides. When buffers of queues exceed what hosts and
    URLs in flight leave of `memory`, queues are spilled, largest first, until three quarters are
    left. A checkpoint appends what has changed to a state log; once the log is four times its
    snapshot, a new snapshot begins a new one. Segments of the queue log go when all their URLs
    were read; when most of the log is dead, the rest is written anew.

    `path` is a directory of `files`, or without `files` a directory of the file system. Delays
    are seconds; `ip_delay` 0 means that IPs do not limit, as loopback addresses by default.
    With `ratio` a lease lasts `burst_seconds` and silence after it is time on the wire / ratio.
    `backoff` is the silence after a first failure to reach a host; it doubles up to 60 times.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        memory: int = 256 << 20,
        delay: float = 1.0,
        ip_delay: float = 1.0,
        local_ip_delay: float = 0.0,
        ratio: float | None = None,
        burst: int = 32,
        burst_seconds: float = 1.0,
        backoff: float = 1.0,
        agent: int = 0,
        files: Files | None = None,
        state: dict[str, Any] | None = None,
    ) -> None:
        self.memory = memory
        self._kernel: _native.Frontier | None = _native.Frontier(
            files if files is not None else Files(path),
            str(path) if files is not None else "",
            delay_us=round(delay * 1e6),
            ip_delay_us=round(ip_delay * 1e6),
            local_ip_delay_us=round(local_ip_delay * 1e6),
            ratio=ratio,
            burst=burst,
            burst_us=round(burst_seconds * 1e6),
            backoff_us=round(backoff * 1e6),
            agent=agent,
            segment_bytes=min(max(memory // 4, 64 << 10), 64 << 20),
            state=state,
        )
        self._make_room()

    @property
    def kernel(self) -> _native.Frontier:
        """The kernel; ValueError once the frontier is closed."""
        if self._kernel is None:
            raise ValueError("the frontier is closed")
        return self._kernel

    def _make_room(self) -> None:
        kernel = self.kernel
        buffered = kernel.buffered_bytes
        # Hosts and IPs stay in memory: however many there are, queues keep a quarter.
        room = max(self.memory - (kernel.memory_bytes - buffered), self.memory // 4)
        if buffered > room:
            kernel.spill(room * 3 // 4, min(max(self.memory // 64, 4 << 10), 64 << 10))

    def push(self, urls: ArrowBatch) -> None:
        """Append URLs at the tails of their hosts' queues (a host is a URL's authority)."""
        self.kernel.push(urls)
        self._make_room()

    def lease(self, room: int, now: int) -> pa.RecordBatch:
        """Give out the tokens of up to `room` hosts whose time has come, with their first URLs."""
        leases = pa.record_batch(self.kernel.lease(room, now))
        self._make_room()
        return leases

    def settle(self, ends: ArrowBatch) -> None:
        """Take tokens back; URLs not consumed return to the head of their queue, in order."""
        self.kernel.settle(ends)

    def reserve(self, count: int) -> int:
        """Numbers for visits that are made elsewhere (pages imported); returns the first."""
        return self.kernel.reserve(count)

    def stored(self, visits: pa.UInt64Array) -> None:
        """Their page rows are in the store: no longer in flight."""
        self.kernel.stored(pa.record_batch([visits], names=["visit"]))

    def retry(self, visits: pa.UInt64Array, not_before: int) -> None:
        """Instead of `stored`: back to the tails, one attempt more, the hosts not before then."""
        self.kernel.retry(pa.record_batch([visits], names=["visit"]), not_before)
        self._make_room()

    def set_host(
        self, host: str, *, delay_us: int | None = None, hold_until: int | None = None
    ) -> None:
        """Give a host a longer delay of its own, or say until when it is left alone."""
        self.kernel.set_host(host, delay_us=delay_us, hold_until=hold_until)

    def set_ip(self, ip: str, delay_us: int) -> None:
        """Give an IP a delay of its own; with 0 it does not limit how many visits it gets."""
        self.kernel.set_ip(ip, delay_us)

    def retire(self, host: str, limit: int) -> pa.RecordBatch:
        """Take up to `limit` URLs from the queue of a host that is given up; lease 0."""
        return pa.record_batch(self.kernel.retire(host, limit))

    def restore_clocks(self, rows: ArrowBatch) -> None:
        """Let hosts and IPs wait as the ledger says (schema `CLOCKS`)."""
        self.kernel.restore_clocks(rows)

    def next_ready(self) -> int | None:
        """When the first waiting host's time comes; None if none waits for time alone."""
        return self.kernel.next_ready()

    def failures(self, host: str) -> int:
        """Leases in a row that could not reach the host."""
        return self.kernel.failures(host)

    def checkpoint(self) -> dict[str, Any]:
        """Bring what has changed to disk; what opens a frontier at this point again (JSON)."""
        on_disk, living = self.kernel.disk_bytes
        if on_disk > 4 * living + SMALLEST_LOG:
            self.kernel.compact()
        log, snapshot = self.kernel.log_bytes
        return self.kernel.checkpoint(log > max(SMALLEST_LOG, 4 * snapshot))

    def reclaim(self) -> None:
        """Remove files that only earlier checkpoints needed: the last one stands."""
        self.kernel.reclaim()

    def close(self) -> None:
        """Let go of files and memory, without a checkpoint."""
        self._kernel = None

    @property
    def queued(self) -> int:
        """URLs in the queues."""
        return self.kernel.queued

    @property
    def in_flight(self) -> int:
        """URLs leased or retired whose page rows are not stored yet."""
        return self.kernel.in_flight

    @property
    def hosts(self) -> int:
        """Hosts known."""
        return self.kernel.hosts

    @property
    def active(self) -> int:
        """Leases that are out."""
        return self.kernel.active

    @property
    def empty(self) -> bool:
        """Whether nothing is queued and nothing in flight."""
        return self.queued == 0 and self.in_flight == 0

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory held: buffers of queues, URLs in flight, hosts and IPs."""
        return self.kernel.memory_bytes

    @property
    def disk_bytes(self) -> int:
        """Bytes of the queue log and the state log."""
        return self.kernel.disk_bytes[0] + self.kernel.log_bytes[0]
