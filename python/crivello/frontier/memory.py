"""The frontier in plain Python: what the kernel must do, in the order in which it must do it."""

from __future__ import annotations

import json
import zlib
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa

from crivello._native import Files
from crivello.frontier.protocol import LEASES

if TYPE_CHECKING:
    from crivello._native import ArrowBatch

Url = tuple[str, int, int, float, int]  # url, url_hash, depth, score, attempt
LONGEST_BACKOFF = 60
RATIO_BURST = 1024


@dataclass
class Host:
    """A host: its queue, its numbers, and its turn while it waits."""

    ip: str | None = None
    delay_us: int | None = None
    ended: int = 0
    busy_us: int = 0
    hold_until: int = 0
    failures: int = 0
    queue: deque[Url] = field(default_factory=deque)
    turn: tuple[int, int] | None = None
    leased: bool = False


@dataclass
class Ip:
    """An IP: a token too, when its delay is positive."""

    delay_us: int
    own_delay: bool = False
    ended: int = 0
    hold_until: int = 0
    busy: int = 0

    def free(self) -> int:
        """When the IP may be asked again."""
        return max(self.hold_until, self.ended + self.delay_us if self.ended > 0 else 0)


class MemoryFrontier:
    """All in dictionaries; see `Frontier` for the calls and `DiskFrontier` for the options.

    The two give out the same URLs in the same order. This one looks at every waiting host for
    every lease, and a checkpoint writes everything: for small crawls, tests, and readers.
    """

    def __init__(
        self,
        path: str | Path,
        *,
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
        self._files = files if files is not None else Files(path)
        self._dir = Path(path) if files is not None else Path()
        self._delay, self._burst_us = round(delay * 1e6), round(burst_seconds * 1e6)
        self._ip_delay, self._local_ip_delay = round(ip_delay * 1e6), round(local_ip_delay * 1e6)
        self._ratio, self._burst, self._backoff = ratio, burst, round(backoff * 1e6)
        self._agent = agent
        self._hosts: dict[str, Host] = {}
        self._ips: dict[str, Ip] = {}
        self._leases: dict[int, tuple[str, str | None, int]] = {}  # host, IP, rows
        self._flight: dict[int, tuple[str, Url]] = {}
        self._clock = self._turns = self._visits = self._generation = 0
        self._restore(state)

    def push(self, urls: ArrowBatch) -> None:
        """Append URLs at the tails of their hosts' queues (a host is a URL's authority)."""
        rows = pa.record_batch(urls).select(["url", "url_hash", "depth", "score"]).to_pylist()
        names = [urlsplit(row["url"]).netloc for row in rows]
        if not all(names):
            raise ValueError(f"frontier: push: {rows[names.index('')]['url']!r} has no host")
        for name, row in zip(names, rows, strict=True):
            self._host(name).queue.append((*row.values(), 0))
            self._awake(self._hosts[name])

    def lease(self, room: int, now: int) -> pa.RecordBatch:
        """Give out the tokens of up to `room` hosts whose time has come, with their first URLs."""
        self._clock = max(self._clock, now)
        rows: list[tuple[Any, ...]] = []
        granted = 0
        for (time, *_), name in sorted(
            (key, n) for n, h in self._hosts.items() if (key := self._key(h))
        ):
            host = self._hosts[name]
            ip = self._ips[host.ip] if host.ip else None
            if time > now or granted == room:
                break
            if ip is not None and ip.busy and ip.delay_us:
                continue  # leased a moment ago to another of its hosts
            limit, burst_us = self._limits(host, ip)
            if ip is not None:
                ip.busy += 1
            host.turn, host.leased = None, True
            lease = self._next_visit()
            self._leases[lease] = (name, host.ip, min(limit, len(host.queue)))
            rows += self._take_off(name, lease, limit, burst_us)
            granted += 1
        return _leases(rows)

    def settle(self, ends: ArrowBatch) -> None:
        """Take tokens back; URLs not consumed return to the head of their queue, in order."""
        rows = pa.record_batch(ends).to_pylist()
        leases = [row["lease"] for row in rows]
        if len(set(leases)) < len(leases) or not self._leases.keys() >= set(leases):
            raise ValueError("frontier: settle: a lease is not out")
        if any(row["consumed"] > self._leases[row["lease"]][2] for row in rows):
            raise ValueError("frontier: settle: more URLs were consumed than leased")
        for end in rows:
            name, held, leased = self._leases.pop(end["lease"])
            host = self._hosts[name]
            if held is not None:
                self._ips[held].busy -= 1
            if end["ip"] is not None:
                self._ip(end["ip"])
            if end["requests"]:
                for asked in {held, end["ip"]} - {None}:
                    self._ips[asked].ended = max(self._ips[asked].ended, end["ended_at"])
                host.ended, host.busy_us = end["ended_at"], end["busy_us"]
            host.hold_until = max(host.hold_until, end["hold_until"])
            if end["failed"]:
                pause = self._backoff * min(2**host.failures, LONGEST_BACKOFF)
                host.hold_until = max(host.hold_until, end["ended_at"] + pause)
                host.failures += 1
                host.ip = end["ip"]
            else:
                host.ip = end["ip"] or host.ip
                host.failures = 0 if end["requests"] else host.failures
            unconsumed = range(end["lease"] + end["consumed"], end["lease"] + leased)
            host.queue.extendleft(
                self._flight.pop(visit)[1]
                for visit in reversed(unconsumed)
                if visit in self._flight
            )
            host.leased = False
            self._awake(host)

    def reserve(self, count: int) -> int:
        """Numbers for visits that are made elsewhere (pages imported); returns the first."""
        first = self._next_visit()
        self._visits += count
        return first

    def stored(self, visits: pa.UInt64Array) -> None:
        """Their page rows are in the store: no longer in flight."""
        for visit in self._in_flight(visits):
            del self._flight[visit]

    def retry(self, visits: pa.UInt64Array, not_before: int) -> None:
        """Instead of `stored`: back to the tails, one attempt more, the hosts not before then."""
        for visit in self._in_flight(visits):
            name, (url, url_hash, depth, score, attempt) = self._flight.pop(visit)
            host = self._hosts[name]
            self.set_host(name, hold_until=max(host.hold_until, not_before))
            host.queue.append((url, url_hash, depth, score, min(attempt + 1, 255)))
            self._awake(host)

    def set_host(
        self, host: str, *, delay_us: int | None = None, hold_until: int | None = None
    ) -> None:
        """Give a host a longer delay of its own, or say until when it is left alone."""
        record = self._host(host)
        before = self._lawful(record)
        record.delay_us = record.delay_us if delay_us is None else delay_us
        record.hold_until = record.hold_until if hold_until is None else hold_until
        self._move(record, before)

    def set_ip(self, ip: str, delay_us: int) -> None:
        """Give an IP a delay of its own; with 0 it does not limit how many visits it gets."""
        self._ip(ip).delay_us = delay_us
        self._ips[ip].own_delay = True

    def retire(self, host: str, limit: int) -> pa.RecordBatch:
        """Take up to `limit` URLs from the queue of a host that is given up; lease 0."""
        if host not in self._hosts:
            return _leases([])
        rows = self._take_off(host, 0, limit, 0)
        if not self._hosts[host].queue:
            self._hosts[host].turn = None
        return _leases(rows)

    def restore_clocks(self, rows: ArrowBatch) -> None:
        """Let hosts and IPs wait as the ledger says (schema `CLOCKS`)."""
        for row in pa.record_batch(rows).to_pylist():
            asked = row["not_before"] - row["delay_us"]
            if row["ip"] is not None:
                ip = self._ip(row["ip"])
                ip.ended = max(ip.ended, asked)
                ip.hold_until = max(ip.hold_until, row["not_before"])
            if row["host"] is not None:
                host = self._host(row["host"])
                before = self._lawful(host)
                host.ended = max(host.ended, asked)
                host.hold_until = max(host.hold_until, row["not_before"])
                self._move(host, before)

    def next_ready(self) -> int | None:
        """When the first waiting host's time comes; None if none waits for time alone."""
        return min(
            (key[0] for host in self._hosts.values() if (key := self._key(host))), default=None
        )

    def failures(self, host: str) -> int:
        """Leases in a row that could not reach the host."""
        return self._hosts[host].failures if host in self._hosts else 0

    def _host(self, name: str) -> Host:
        return self._hosts.setdefault(name, Host())

    def _ip(self, name: str) -> Ip:
        if name not in self._ips:
            local = _is_loopback(name)
            self._ips[name] = Ip(self._local_ip_delay if local else self._ip_delay)
        return self._ips[name]

    def _delay_of(self, host: Host) -> int:
        return max(self._delay, host.delay_us or 0)

    def _pause(self, host: Host) -> int:
        delay = self._delay_of(host)
        if self._ratio is None or host.delay_us:
            return delay
        return max(delay, int(host.busy_us / self._ratio))

    def _lawful(self, host: Host) -> int:
        return (
            max(host.ended + self._pause(host), host.hold_until) if host.ended else host.hold_until
        )

    def _limits(self, host: Host, ip: Ip | None) -> tuple[int, int]:
        """How many URLs a lease may have, and the time that ends it."""
        if ip is None:
            return 1, 0  # its visit resolves the host, no more
        if self._ratio is not None and not host.delay_us:
            return RATIO_BURST, self._burst_us
        return (1, 0) if self._delay_of(host) or ip.delay_us else (self._burst, 0)

    def _key(self, host: Host) -> tuple[int, int, int] | None:
        """When a host may be leased: its IP's time or its own, then its turn."""
        ip = self._ips[host.ip] if host.ip else None
        if host.turn is None or (ip is not None and ip.busy and ip.delay_us):
            return None
        return max(host.turn[0], ip.free() if ip is not None else 0), *host.turn

    def _awake(self, host: Host) -> None:
        if host.queue and host.turn is None and not host.leased:
            self._turns += 1
            host.turn = (max(self._lawful(host), self._clock), self._turns)

    def _move(self, host: Host, before: int) -> None:
        if host.turn is not None and self._lawful(host) != before:
            host.turn = None
            self._awake(host)

    def _next_visit(self) -> int:
        return (self._agent << 48) | (self._visits + 1)

    def _take_off(self, name: str, lease: int, limit: int, burst_us: int) -> list[tuple[Any, ...]]:
        host = self._hosts[name]
        delay = self._delay_of(host)
        ip_delay = self._ips[host.ip].delay_us if host.ip else self._ip_delay
        rows = []
        for _ in range(min(limit, len(host.queue))):
            visit, url = self._next_visit(), host.queue.popleft()
            self._visits += 1
            self._flight[visit] = (name, url)
            rows.append((lease, visit, name, host.ip, *url, burst_us, delay, ip_delay))
        return rows

    def _in_flight(self, visits: pa.UInt64Array) -> list[int]:
        wanted: list[int] = visits.to_pylist()
        if len(set(wanted)) < len(wanted) or not self._flight.keys() >= set(wanted):
            raise ValueError("frontier: a visit is not in flight")
        return wanted

    def checkpoint(self) -> dict[str, Any]:
        """Write everything; what opens a frontier at this point again (JSON)."""
        queues = {name: [list(url) for url in host.queue] for name, host in self._hosts.items()}
        for _, (name, url) in sorted(self._flight.items(), reverse=True):
            queues[name].insert(0, list(url))
        lines: list[dict[str, Any]] = [{"visits": self._visits}]
        lines += [{**asdict(ip), "name": name, "busy": 0} for name, ip in self._ips.items()]
        for name, host in self._hosts.items():
            numbers = {**asdict(host), "queue": queues[name], "turn": None, "leased": False}
            lines.append({**numbers, "host": name})
        text = "".join(json.dumps(line) + "\n" for line in lines).encode()
        self._generation += 1
        name = f"frontier-{self._generation:06}.jsonl"
        self._files.write_atomic(self._dir / name, text)
        return {"file": name, "len": len(text), "crc": zlib.crc32(text)}

    def _restore(self, state: dict[str, Any] | None) -> None:
        ours = [name for name in self._files.list(self._dir) if name.startswith("frontier-")]
        for name in ours:
            if state is None or name != state["file"]:
                self._files.remove(self._dir / name)
        if state is None:
            return
        path = self._dir / state["file"]
        text = self._files.read(path) if self._files.exists(path) else b""
        if len(text) != state["len"] or zlib.crc32(text) != state["crc"]:
            raise OSError(f"frontier: {path} is damaged: go back to a snapshot of the crawl")
        self._generation = int(path.stem.rpartition("-")[2])
        for line in map(json.loads, text.splitlines()):
            if "visits" in line:
                self._visits = line["visits"]
            elif "host" in line:
                name, urls = line.pop("host"), line.pop("queue")
                self._hosts[name] = Host(**line, queue=deque((*url,) for url in urls))
            else:
                ip = self._ip(line.pop("name"))
                delay_us = line["delay_us"] if line["own_delay"] else ip.delay_us
                vars(ip).update(line, delay_us=delay_us)
        for host in self._hosts.values():
            self._awake(host)

    def reclaim(self) -> None:
        """Remove what only earlier checkpoints needed: the last one stands."""
        for name in self._files.list(self._dir):
            if name.startswith("frontier-") and name < f"frontier-{self._generation:06}":
                self._files.remove(self._dir / name)

    def close(self) -> None:
        """Let go of the memory, without a checkpoint."""
        self._hosts.clear()
        self._flight.clear()

    @property
    def queued(self) -> int:
        """URLs in the queues."""
        return sum(len(host.queue) for host in self._hosts.values())

    @property
    def in_flight(self) -> int:
        """URLs leased or retired whose page rows are not stored yet."""
        return len(self._flight)

    @property
    def hosts(self) -> int:
        """Hosts known."""
        return len(self._hosts)

    @property
    def active(self) -> int:
        """Leases that are out."""
        return len(self._leases)

    @property
    def empty(self) -> bool:
        """Whether nothing is queued and nothing in flight."""
        return self.queued == 0 and self.in_flight == 0

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory held, about: 300 a URL and 600 a host."""
        return 300 * (self.queued + self.in_flight) + 600 * self.hosts


def _is_loopback(name: str) -> bool:
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _leases(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns: Iterable[Iterable[Any]] = zip(*rows, strict=True) if rows else ((),) * len(LEASES)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, LEASES, strict=True)]
    return pa.record_batch(arrays, schema=LEASES)
