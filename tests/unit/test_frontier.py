"""The two frontiers against each other, against crashes, and against politeness."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from crivello._native import Files
from crivello.frontier import CLOCKS, LEASES, DiskFrontier, MemoryFrontier
from crivello.frontier.protocol import Frontier

SECOND = 1_000_000
ENDS = pa.schema(
    [
        ("lease", pa.uint64()),
        ("ended_at", pa.int64()),
        ("ip", pa.string()),
        ("consumed", pa.uint32()),
        ("requests", pa.uint32()),
        ("busy_us", pa.uint64()),
        ("hold_until", pa.int64()),
        ("failed", pa.bool_()),
    ]
)
KINDS = [DiskFrontier, MemoryFrontier]
both = pytest.mark.parametrize("kind", KINDS)


def urls(*names: str) -> pa.RecordBatch:
    rows = [
        {"url": name, "url_hash": hash(name) & (2**64 - 1), "depth": len(name) % 7, "score": 0.5}
        for name in names
    ]
    schema = pa.schema(
        [
            ("url", pa.string()),
            ("url_hash", pa.uint64()),
            ("depth", pa.uint16()),
            ("score", pa.float32()),
        ]
    )
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def end(lease: int, at: int, **changes: Any) -> pa.RecordBatch:
    row = {
        "lease": lease,
        "ended_at": at,
        "ip": "192.0.2.1",
        "consumed": 1,
        "requests": 1,
        "busy_us": 1000,
        "hold_until": 0,
        "failed": False,
    }
    return pa.RecordBatch.from_pylist([row | changes], schema=ENDS)


def visits(*numbers: int) -> pa.UInt64Array:
    return pa.array(numbers, pa.uint64())


def resolve(frontier: Frontier, now: int, **ips: str) -> None:
    """Let every waiting host be resolved without a request."""
    leases = frontier.lease(1000, now)
    for lease, host in zip(leases["lease"].to_pylist(), leases["host"].to_pylist(), strict=True):
        ip = ips[host.partition(".")[0]]
        frontier.settle(end(lease, now, ip=ip, consumed=0, requests=0))


@both
def test_urls_of_a_host_come_out_in_order_one_by_one_after_its_delay(kind, tmp_path):
    frontier = kind(tmp_path, delay=2.0)
    frontier.push(urls("http://a.b/1", "http://a.b/2"))
    resolve(frontier, 0, a="192.0.2.1")
    (first,) = frontier.lease(5, 10).to_pylist()
    assert (first["url"], first["ip"], first["delay_us"]) == (
        "http://a.b/1",
        "192.0.2.1",
        2 * SECOND,
    )
    assert frontier.lease(5, 20).num_rows == 0
    frontier.settle(end(first["lease"], 50))
    assert frontier.next_ready() == 2 * SECOND + 50
    assert frontier.lease(5, 2 * SECOND + 49).num_rows == 0
    assert frontier.lease(5, 2 * SECOND + 50)["url"].to_pylist() == ["http://a.b/2"]


@both
def test_a_burst_that_ends_early_goes_on_where_it_stopped(kind, tmp_path):
    frontier = kind(tmp_path, delay=0, ip_delay=0, burst=4)
    frontier.push(urls(*(f"http://a.b/{n}" for n in range(6))))
    resolve(frontier, 0, a="192.0.2.1")
    burst = frontier.lease(9, 1)
    assert burst["url"].to_pylist() == [f"http://a.b/{n}" for n in range(4)]
    frontier.settle(end(burst["lease"][0].as_py(), 2, consumed=1))
    assert (frontier.queued, frontier.in_flight, frontier.active) == (5, 1, 0)
    again = frontier.lease(9, 3)
    assert again["url"].to_pylist() == [f"http://a.b/{n}" for n in range(1, 5)]
    assert set(again["visit"].to_pylist()).isdisjoint(burst["visit"].to_pylist())


@both
def test_a_page_may_be_stored_before_its_lease_ends(kind, tmp_path):
    frontier = kind(tmp_path, delay=0, ip_delay=0)
    frontier.push(urls("http://a.b/1", "http://a.b/2"))
    resolve(frontier, 0, a="192.0.2.1")
    burst = frontier.lease(1, 1)
    frontier.stored(burst["visit"])
    assert not frontier.empty or frontier.active
    frontier.settle(end(burst["lease"][0].as_py(), 2, consumed=2))
    assert frontier.empty


@both
def test_an_ip_with_a_delay_is_asked_by_one_visit_at_a_time(kind, tmp_path):
    frontier = kind(tmp_path, delay=0, ip_delay=1.0)
    frontier.push(urls("http://a.x/", "http://b.x/", "http://c.x/"))
    resolve(frontier, 0, a="192.0.2.1", b="192.0.2.1", c="192.0.2.2")
    first = frontier.lease(9, 1).to_pylist()
    assert [row["host"] for row in first] == ["a.x", "c.x"]
    frontier.settle(end(first[0]["lease"], 5))
    assert frontier.next_ready() == 5 + SECOND
    assert frontier.lease(9, 5 + SECOND)["host"].to_pylist() == ["b.x"]


@both
def test_loopback_and_overridden_ips_do_not_limit(kind, tmp_path):
    frontier = kind(tmp_path, delay=0, ip_delay=1.0)
    frontier.push(urls("http://a.x/", "http://b.x/", "http://c.x/", "http://d.x/"))
    resolve(frontier, 0, a="127.0.0.1", b="127.0.0.1", c="192.0.2.1", d="192.0.2.1")
    frontier.set_ip("192.0.2.1", 0)
    assert frontier.lease(9, 1).num_rows == 4


@both
def test_a_whale_does_not_starve_the_rest_and_its_hosts_take_turns(kind, tmp_path):
    frontier = kind(tmp_path, delay=0, ip_delay=1.0)
    whale = [f"w{n}" for n in range(200)]
    frontier.push(urls(*(f"http://{host}.x/{n}" for n in range(2) for host in whale)))
    frontier.push(urls("http://small.y/1", "http://small.y/2"))
    ips = dict.fromkeys(whale, "192.0.2.1") | {"small": "192.0.2.2"}
    resolve(frontier, 0, **ips)
    seen: list[str] = []
    for step in range(200):
        now = step * SECOND + 1
        leases = frontier.lease(9, now).to_pylist()
        assert len(leases) == (2 if step < 2 else 1)
        for row in leases:
            frontier.settle(end(row["lease"], now, ip=row["ip"]))
            seen.append(row["host"])
    assert sorted(host for host in seen if host != "small.y") == sorted(f"{h}.x" for h in whale)


@both
def test_a_new_host_stands_behind_those_whose_time_had_come(kind, tmp_path):
    frontier = kind(tmp_path, delay=0, ip_delay=0)
    frontier.push(urls("http://a.x/1"))
    assert frontier.lease(0, 100).num_rows == 0
    frontier.push(urls("http://b.x/1"))
    assert frontier.lease(1, 200)["host"].to_pylist() == ["a.x"]


@both
def test_ratio_mode_is_silent_in_proportion_to_the_time_on_the_wire(kind, tmp_path):
    frontier = kind(tmp_path, delay=1.0, ratio=0.25, burst_seconds=2.0)
    frontier.push(urls(*(f"http://a.x/{n}" for n in range(1100)), "http://b.x/1", "http://b.x/2"))
    resolve(frontier, 0, a="192.0.2.1", b="192.0.2.2")
    frontier.set_host("b.x", delay_us=9 * SECOND)
    leases = frontier.lease(9, 1).to_pylist()
    assert len(leases) == 1024 + 1  # a host with a delay of its own is asked one by one
    assert (leases[0]["burst_us"], leases[-1]["burst_us"]) == (2 * SECOND, 0)
    frontier.settle(end(leases[0]["lease"], 100, consumed=7, busy_us=3 * SECOND))
    assert frontier.next_ready() == 100 + 12 * SECOND


@both
def test_a_delay_learnt_late_counts_from_the_last_request(kind, tmp_path):
    frontier = kind(tmp_path, delay=1.0, ip_delay=0)
    frontier.push(urls("http://a.x/1"))
    resolve(frontier, 0, a="192.0.2.1")
    lease = frontier.lease(1, 1)["lease"][0].as_py()
    frontier.settle(end(lease, 10, consumed=0))
    assert frontier.next_ready() == 10 + SECOND
    frontier.set_host("a.x", delay_us=30 * SECOND)
    assert frontier.next_ready() == 10 + 30 * SECOND
    frontier.set_host("a.x", hold_until=99 * SECOND)
    assert frontier.next_ready() == 99 * SECOND
    frontier.set_host("a.x", hold_until=0)
    assert frontier.next_ready() == 10 + 30 * SECOND


@both
def test_the_longer_of_a_hosts_delay_and_the_usual_one_counts(kind, tmp_path):
    frontier = kind(tmp_path, delay=5.0, ip_delay=0)
    frontier.push(urls("http://a.x/1"))
    resolve(frontier, 0, a="192.0.2.1")
    frontier.set_host("a.x", delay_us=2 * SECOND)  # as when it was learnt under a shorter one
    lease = frontier.lease(1, 1)
    assert lease["delay_us"].to_pylist() == [5 * SECOND]
    frontier.settle(end(lease["lease"][0].as_py(), 10, consumed=0))
    assert frontier.next_ready() == 10 + 5 * SECOND


@both
def test_a_host_that_cannot_be_reached_is_left_alone_twice_as_long_each_time(kind, tmp_path):
    frontier = kind(tmp_path, delay=0, ip_delay=0, backoff=0.01)
    frontier.push(urls("http://a.x/1"))
    resolve(frontier, 0, a="192.0.2.1")
    now, pauses = 0, []
    for count in range(1, 9):
        lease = frontier.lease(1, now)["lease"][0].as_py()
        frontier.settle(end(lease, now, consumed=0, requests=0, failed=True))
        assert frontier.failures("a.x") == count
        ready = frontier.next_ready()
        pauses.append((ready - now) // 10_000)
        now = ready
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    frontier.settle(end(frontier.lease(1, now)["lease"][0].as_py(), now))
    assert frontier.failures("a.x") == 0


@both
def test_a_failure_without_an_address_means_to_resolve_again(kind, tmp_path):
    frontier = kind(tmp_path, delay=0, ip_delay=0, backoff=0)
    frontier.push(urls("http://a.x/1", "http://a.x/2"))
    resolve(frontier, 0, a="192.0.2.1")
    lease = frontier.lease(1, 0)["lease"][0].as_py()
    frontier.settle(end(lease, 0, ip=None, consumed=0, requests=0, failed=True))
    leases = frontier.lease(1, 0).to_pylist()
    assert [row["ip"] for row in leases] == [None]
    assert frontier.failures("a.x") == 1


@both
def test_a_url_tried_again_goes_to_the_tail_and_its_host_waits(kind, tmp_path):
    frontier = kind(tmp_path, delay=0, ip_delay=0, burst=1)
    frontier.push(urls("http://a.x/1", "http://a.x/2"))
    resolve(frontier, 0, a="192.0.2.1")
    row = frontier.lease(1, 0).to_pylist()[0]
    frontier.settle(end(row["lease"], 1))
    frontier.retry(visits(row["visit"]), 70)
    assert (frontier.next_ready(), frontier.queued, frontier.in_flight) == (70, 2, 0)
    row = frontier.lease(1, 70).to_pylist()[0]
    assert (row["url"], row["attempt"]) == ("http://a.x/2", 0)
    frontier.settle(end(row["lease"], 70))
    row = frontier.lease(1, 70).to_pylist()[0]
    assert (row["url"], row["attempt"]) == ("http://a.x/1", 1)


@both
def test_a_dead_host_gives_its_urls_back_until_it_has_none(kind, tmp_path):
    frontier = kind(tmp_path)
    frontier.push(urls(*(f"http://a.x/{n}" for n in range(5))))
    drained = frontier.retire("a.x", 3)
    assert drained.schema == LEASES
    assert drained["lease"].to_pylist() == [0, 0, 0]
    rest = frontier.retire("a.x", 3)
    assert (frontier.queued, frontier.in_flight, frontier.next_ready()) == (0, 5, None)
    frontier.stored(drained["visit"])
    frontier.stored(rest["visit"])
    assert frontier.empty
    assert frontier.retire("unknown.x", 3).num_rows == 0


@both
def test_clocks_of_the_ledger_hold_hosts_and_ips(kind, tmp_path):
    frontier = kind(tmp_path, delay=1.0)
    frontier.push(urls("http://a.x/1", "http://b.x/1", "http://c.x/1"))
    resolve(frontier, 0, a="192.0.2.1", b="192.0.2.2", c="192.0.2.3")
    clocks = [
        {"host": "a.x", "ip": None, "not_before": 50 * SECOND, "delay_us": SECOND},
        {"host": None, "ip": "192.0.2.2", "not_before": 40 * SECOND, "delay_us": SECOND},
    ]
    frontier.restore_clocks(pa.RecordBatch.from_pylist(clocks, schema=CLOCKS))
    assert frontier.lease(9, 39 * SECOND)["host"].to_pylist() == ["c.x"]
    assert frontier.next_ready() == 40 * SECOND
    frontier.set_host("a.x", delay_us=5 * SECOND)
    assert frontier.lease(9, 53 * SECOND)["host"].to_pylist() == ["b.x"]
    assert frontier.next_ready() == 54 * SECOND


@both
def test_misuse_is_refused_and_changes_nothing(kind, tmp_path):
    frontier = kind(tmp_path, delay=0, ip_delay=0)
    frontier.push(urls("http://a.x/1"))
    lease = frontier.lease(1, 0)["lease"][0].as_py()
    for wrong in [
        lambda: frontier.push(urls("http://b.x/", "mailto:a")),
        lambda: frontier.settle(end(lease + 1, 0)),
        lambda: frontier.settle(end(lease, 0, consumed=2)),
        lambda: frontier.settle(pa.concat_batches([end(lease, 0)] * 2)),
        lambda: frontier.stored(visits(lease, 77)),
        lambda: frontier.retry(visits(lease, lease), 0),
    ]:
        with pytest.raises(ValueError, match="frontier"):
            wrong()
        assert (frontier.queued, frontier.in_flight, frontier.active) == (0, 1, 1)


def test_agents_number_their_visits_apart(tmp_path):
    frontier = DiskFrontier(tmp_path, agent=3)
    frontier.push(urls("http://a.x/1"))
    assert frontier.lease(1, 0)["visit"].to_pylist() == [(3 << 48) + 1]


class Pair:
    """Both frontiers, driven by one random crawl; what they say must be the same."""

    def __init__(self, path: Path, seed: int, options: dict[str, Any]) -> None:
        self.random = random.Random(seed)
        self.path, self.options = path, options
        self.disk = DiskFrontier(path / "disk", memory=4096, **options)
        self.memory = MemoryFrontier(path / "memory", **options)
        self.now, self.pushed = 0, 0
        self.leases: dict[int, dict[str, Any]] = {}
        self.landing: list[int] = []
        self.held_hosts: set[str] = set()
        self.states: tuple[Any, Any] | None = None
        self.at_checkpoint: set[str] = set()
        self.done: set[str] = set()
        self.url_of: dict[int, str] = {}
        self.known: set[str] = set()

    def same(self, call: str, *args: Any, **named: Any) -> Any:
        disk = getattr(self.disk, call)(*args, **named)
        memory = getattr(self.memory, call)(*args, **named)
        if isinstance(disk, pa.RecordBatch):
            assert disk.to_pylist() == memory.to_pylist()
        else:
            assert disk == memory
        return disk

    def check(self) -> None:
        for count in ("queued", "in_flight", "hosts", "active", "empty"):
            assert getattr(self.disk, count) == getattr(self.memory, count), count
        self.same("next_ready")

    def host(self) -> str:
        return f"h{min(int(self.random.paretovariate(0.7)), 60)}.x"

    def push(self) -> None:
        names = []
        for _ in range(self.random.randrange(60)):
            scheme = self.random.choice(["http", "https"])
            names.append(
                f"{scheme}://{self.host()}/{self.pushed}/" + "y" * self.random.randrange(40)
            )
            self.pushed += 1
        self.known.update(names)
        self.same("push", urls(*names))

    def lease(self) -> None:
        self.now += self.random.choice([0, 1000, 300_000, 2_000_000])
        for row in self.same("lease", self.random.randrange(8), self.now).to_pylist():
            lease = self.leases.setdefault(row["lease"], {"rows": [], **row})
            lease["rows"].append(row["visit"])
            self.url_of[row["visit"]] = row["url"]
        hosts = [lease["host"] for lease in self.leases.values()]
        assert len(set(hosts)) == len(hosts)
        limited = [r["ip"] for r in self.leases.values() if r["ip"] and r["ip_delay_us"]]
        assert len(set(limited)) == len(limited)

    def settle(self) -> None:
        chosen = [key for key in self.leases if self.random.random() < 0.6]
        self.random.shuffle(chosen)
        ends = []
        for key in chosen:
            lease = self.leases.pop(key)
            rows, failed = lease["rows"], self.random.random() < 0.1
            self.now += self.random.randrange(2000)
            consumed = 0 if failed else self.random.randrange(len(rows) + 1)
            number = int(lease["host"][1:-2])
            ip = f"192.0.2.{number % 5}" if number % 3 else "127.0.0.1"
            change = {
                "ip": None if failed or self.random.random() < 0.1 else ip,
                "consumed": consumed,
                "requests": 0 if lease["ip"] is None else consumed + self.random.randrange(2),
                "busy_us": self.random.randrange(SECOND),
                "hold_until": self.random.choice([0, 0, 0, self.now + SECOND]),
                "failed": failed,
            }
            ends.append(end(key, self.now, **change))
            self.landing += rows[:consumed]
        if ends:
            self.same("settle", pa.concat_batches(ends))

    def land(self) -> None:
        self.random.shuffle(self.landing)
        stored, again = [], []
        for _ in range(self.random.randrange(len(self.landing) + 1)):
            (again if self.random.random() < 0.1 else stored).append(self.landing.pop())
        self.same("stored", visits(*stored))
        self.done.update(self.url_of[visit] for visit in stored)
        self.same("retry", visits(*again), self.now + self.random.randrange(SECOND))

    def set_host(self) -> None:
        delay = self.random.choice([None, 0, 100_000, 3_000_000])
        hold = self.random.choice([None, None, 0, self.now + 500_000])
        self.same("set_host", self.host(), delay_us=delay, hold_until=hold)

    def set_ip(self) -> None:
        ip = self.random.choice(["127.0.0.1", "192.0.2.1", "192.0.2.2", "192.0.2.9"])
        self.same("set_ip", ip, self.random.choice([0, 150_000]))

    def restore_clocks(self) -> None:
        time = self.now + self.random.randrange(-SECOND, SECOND)
        clocks = [
            {"host": self.host(), "ip": None, "not_before": time, "delay_us": 100_000},
            {"host": None, "ip": "192.0.2.1", "not_before": time, "delay_us": 70_000},
        ]
        self.same("restore_clocks", pa.RecordBatch.from_pylist(clocks, schema=CLOCKS))

    def retire(self) -> None:
        rows = self.same("retire", self.host(), self.random.randrange(9)).to_pylist()
        self.url_of.update((row["visit"], row["url"]) for row in rows)
        self.landing += [row["visit"] for row in rows]

    def checkpoint(self) -> None:
        states = [self.disk.kernel.checkpoint(self.random.random() < 0.2), self.memory.checkpoint()]
        if self.random.random() < 0.8:
            self.disk.reclaim()
            self.memory.reclaim()
        self.states = json.loads(json.dumps(states))
        self.at_checkpoint = self.known - self.done
        self.saved = set(self.known), set(self.done)
        if self.random.random() < 0.3:
            self.disk.kernel.compact()

    def crash(self) -> None:
        self.disk.close()
        disk, memory = self.states or (None, None)
        self.disk = DiskFrontier(self.path / "disk", memory=4096, state=disk, **self.options)
        self.memory = MemoryFrontier(self.path / "memory", state=memory, **self.options)
        self.known, self.done = self.saved if self.states else (set(), set())
        self.known, self.done = set(self.known), set(self.done)
        self.leases.clear()
        self.landing.clear()
        assert self.disk.queued == len(self.known - self.done)

    def drain(self) -> None:
        """Let the crawl come to its end: every URL comes out, once."""
        left: list[str] = []
        for key in [*self.leases]:
            lease = self.leases.pop(key)
            self.same("settle", end(key, self.now, ip=None, consumed=0, requests=0))
        self.same("stored", visits(*self.landing))
        while not self.disk.empty:
            self.now = max(self.now, self.same("next_ready"))
            for row in self.same("lease", 1, self.now).to_pylist():
                lease = self.leases.setdefault(row["lease"], {"rows": [], **row})
                lease["rows"].append(row["visit"])
                left.append(row["url"])
            for key in [*self.leases]:
                lease = self.leases.pop(key)
                resolved = lease["ip"] is not None
                consumed = len(lease["rows"]) if resolved else 0
                ip = lease["ip"] or "192.0.2.1"
                self.same("settle", end(key, self.now, ip=ip, consumed=consumed, requests=consumed))
                if resolved:
                    self.same("stored", visits(*lease["rows"]))
                else:
                    del left[-1]
        assert len(set(left)) == len(left)


OPTIONS: list[dict[str, Any]] = [
    {"delay": 0, "ip_delay": 0, "burst": 8, "backoff": 0.01},
    {"delay": 0, "ip_delay": 0.2, "burst": 8},
    {"delay": 0.3, "ip_delay": 0.1},
    {"delay": 0.3, "ip_delay": 0.1, "ratio": 0.5, "agent": 5},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_both_frontiers_do_the_same_whatever_happens(options, tmp_path):
    for _ in range(6):
        seed = random.randrange(2**32)
        print("seed", seed)
        pair = Pair(tmp_path / str(seed), seed, options)
        steps = [pair.push, pair.lease, pair.lease, pair.settle, pair.land]
        steps += [pair.set_host, pair.retire, pair.checkpoint, pair.crash]
        steps += [pair.set_ip, pair.restore_clocks]
        weights = [2, 4, 4, 6, 4, 1, 0.3, 1, 0.4, 0.5, 0.3]
        for _ in range(250):
            pair.random.choices(steps, weights)[0]()
            pair.check()
        pair.drain()


def filled(path: Path, **options: Any) -> DiskFrontier:
    frontier = DiskFrontier(path, memory=4096, delay=0, ip_delay=0, **options)
    frontier.push(urls(*(f"http://h{n % 7}.x/{n}/{'z' * 50}" for n in range(2000))))
    return frontier


def test_memory_is_bounded_and_space_on_disk_comes_back(tmp_path):
    memory = 256 << 10
    frontier = DiskFrontier(tmp_path, memory=memory, delay=0, ip_delay=0, burst=8)
    count = 0
    for round_ in range(40):
        frontier.push(urls(*(f"http://h{n % 9}.x/{round_}/{n}/{'z' * 100}" for n in range(1000))))
        assert frontier.memory_bytes <= memory
    assert frontier.disk_bytes > 4 << 20
    resolve(frontier, 0, **{f"h{n}": "127.0.0.1" for n in range(9)})
    while not frontier.empty:
        rows = frontier.lease(9, 1)
        count += rows.num_rows
        for lease in set(rows["lease"].to_pylist()):
            asked = rows["lease"].to_pylist().count(lease)
            frontier.settle(end(lease, 1, ip="127.0.0.1", consumed=asked))
        frontier.stored(rows["visit"])
        assert frontier.memory_bytes <= memory
    assert count == 40_000
    frontier.checkpoint()
    frontier.reclaim()
    assert [file.name for file in tmp_path.iterdir()] == ["state-000001.log"]
    assert frontier.disk_bytes < 64 << 10


def test_a_few_slow_urls_do_not_keep_a_segment(tmp_path):
    frontier = DiskFrontier(tmp_path, memory=256 << 10, delay=0, ip_delay=0, burst=32)
    frontier.set_host("slow.x", hold_until=10**15)
    for round_ in range(80):
        names = [f"http://h{n % 9}.x/{round_}/{n}/{'z' * 100}" for n in range(1000)]
        frontier.push(urls(*names, *(f"http://slow.x/{round_}/{n}" for n in range(30))))
    assert frontier.disk_bytes > 8 << 20
    resolve(frontier, 0, **{f"h{n}": "127.0.0.1" for n in range(9)})
    while (rows := frontier.lease(9, 1)).num_rows:
        for lease in set(rows["lease"].to_pylist()):
            asked = rows["lease"].to_pylist().count(lease)
            frontier.settle(end(lease, 1, ip="127.0.0.1", consumed=asked))
        frontier.stored(rows["visit"])
    for _ in range(2):
        state = frontier.checkpoint()
        frontier.reclaim()
    assert frontier.disk_bytes < 2 << 20
    frontier = DiskFrontier(tmp_path, state=state)
    drained = frontier.retire("slow.x", 10_000)["url"].to_pylist()
    assert drained == [f"http://slow.x/{round_}/{n}" for round_ in range(80) for n in range(30)]


def test_a_log_grown_to_a_multiple_of_its_snapshot_is_replaced(tmp_path):
    frontier = DiskFrontier(tmp_path, delay=0, ip_delay=0)
    states = []
    for round_ in range(60):
        frontier.push(urls(*(f"http://h{n}.x/{round_}/{'z' * 100}" for n in range(1000))))
        states.append(frontier.checkpoint())
        frontier.reclaim()
    assert {state["log"] for state in states} == {"state-000001.log", "state-000002.log"}
    assert frontier.disk_bytes < 16 << 20
    assert DiskFrontier(tmp_path, state=states[-1]).queued == 60_000


@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
@pytest.mark.parametrize("name", ["queue", "state"])
def test_a_damaged_file_is_named_in_one_error(name, damage, tmp_path):
    frontier = filled(tmp_path)
    state = frontier.checkpoint()
    (file, *_) = sorted(tmp_path.glob(f"{name}-*.log"))
    data = bytearray(file.read_bytes())
    if damage == "cut":
        del data[len(data) // 2 :]
    data[10] ^= 255
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(data)
    with pytest.raises(OSError, match=file.name) as raised:
        again = DiskFrontier(tmp_path, memory=4096, state=state)
        for host in range(7):
            again.retire(f"h{host}.x", 2000)
    assert "\n" not in str(raised.value)


def crawl_with_checkpoints(files: Files, states: list[Any]) -> None:
    """Push and store in rounds; each checkpoint that was reached is kept with its count."""
    frontier = DiskFrontier("f", memory=4096, files=files, delay=0, ip_delay=0)
    left = 0
    for round_ in range(12):
        frontier.push(urls(*(f"http://h{n % 4}.x/{round_}/{n}/{'z' * 60}" for n in range(100))))
        dead = frontier.retire(f"h{round_ % 4}.x", 60)
        frontier.stored(dead["visit"].slice(0, 20))
        left += 100 - min(20, dead.num_rows)
        state = frontier.kernel.checkpoint(round_ % 3 == 2)
        states.append((state, left))
        frontier.reclaim()


@pytest.mark.parametrize("fault", ["error", "full"])
def test_after_an_operation_that_failed_the_last_checkpoint_opens(fault, tmp_path):
    whole = Files(tmp_path / "whole")
    crawl_with_checkpoints(whole, [])
    assert whole.operations > 20
    for number in range(1, whole.operations + 1):
        root, states = tmp_path / str(number), []
        with suppress(OSError) if fault == "full" else pytest.raises(OSError):
            crawl_with_checkpoints(Files(root, fault=f"{fault}:{number}"), states)
        state, left = states[-1] if states else (None, 0)
        # "full" fails writes only: a removal goes on
        again = DiskFrontier("f", memory=4096, files=Files(root), state=state)
        assert again.queued == left
        hosts = [again.retire(f"h{n}.x", 1000)["url"].to_pylist() for n in range(4)]
        assert len({url for drained in hosts for url in drained}) == left


def test_a_fresh_frontier_forgets_what_was_there(tmp_path):
    filled(tmp_path).checkpoint()
    (tmp_path / "notes.txt").write_text("mine")
    assert DiskFrontier(tmp_path).empty
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]
