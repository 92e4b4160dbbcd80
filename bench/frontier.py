"""How fast is the frontier, and what does a queued URL cost it?

    python -m bench.frontier [URLS] [HOSTS]

A power-law population of hosts on loopback addresses (no delays: bursts), URLs of about 60
bytes. Pushed in batches of 4,096, then leased, settled and stored until nothing is left.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time

import pyarrow as pa

from bench._figures import Figures
from crivello.frontier import DiskFrontier

BATCH = 4096
MEMORY = 64 << 20


def batches(urls: int, hosts: int) -> list[pa.RecordBatch]:
    """URLs over hosts: each host has one, the others go by a power law."""
    rng = random.Random(1)
    made = []
    for first in range(0, urls, BATCH):
        numbers = range(first, min(first + BATCH, urls))
        drawn = [n if n < hosts else int(hosts * rng.random() ** 3) for n in numbers]
        names = [
            f"https://www.host{host}.example/section/{n % 97}/page-{n}.html"
            for host, n in zip(drawn, numbers, strict=True)
        ]
        columns = [
            pa.array(names),
            pa.array([n * 0x9E3779B97F4A7C15 % 2**64 for n in numbers], pa.uint64()),
            pa.array([3] * len(names), pa.uint16()),
            pa.array([0.5] * len(names), pa.float32()),
        ]
        made.append(pa.record_batch(columns, names=["url", "url_hash", "depth", "score"]))
    return made


def ends(leases: pa.RecordBatch, now: int, *, resolving: bool) -> pa.RecordBatch:
    """All rows of all leases consumed; or, to resolve the hosts, none."""
    counts = leases["lease"].value_counts()
    n = len(counts)
    consumed = pa.array([0] * n, pa.uint32()) if resolving else counts.field(1).cast(pa.uint32())
    columns = {
        "lease": counts.field(0),
        "ended_at": pa.array([now] * n, pa.int64()),
        "ip": pa.array([f"127.0.0.{i % 250 + 1}" for i in range(n)]),
        "consumed": consumed,
        "requests": consumed,
        "busy_us": pa.array([1000] * n, pa.uint64()),
        "hold_until": pa.array([0] * n, pa.int64()),
        "failed": pa.array([False] * n),
    }
    return pa.RecordBatch.from_pydict(columns)


def measure(urls: int, hosts: int, memory: int) -> dict[str, float]:
    """One crawl of all URLs; figures by name."""
    made = batches(urls, hosts)
    with tempfile.TemporaryDirectory() as path:
        frontier = DiskFrontier(path, memory=memory, delay=0, burst=32)
        empty = frontier.memory_bytes
        started = time.perf_counter()
        for batch in made:
            frontier.push(batch)
        pushed = time.perf_counter() - started
        held = frontier.memory_bytes - empty
        on_disk = frontier.disk_bytes

        started = time.perf_counter()
        state = frontier.checkpoint()
        checkpointed = time.perf_counter() - started
        started = time.perf_counter()
        frontier = DiskFrontier(path, memory=memory, delay=0, burst=32, state=state)
        opened = time.perf_counter() - started

        kernel, busy, done = frontier.kernel, 0.0, 0
        while (leases := frontier.lease(hosts, 1)).num_rows and leases["ip"].null_count:
            frontier.settle(ends(leases, 1, resolving=True))
        frontier.settle(ends(leases, 1, resolving=True))
        while not frontier.empty:
            started = time.perf_counter()
            leases = frontier.lease(1000, 2)
            busy += time.perf_counter() - started
            back = ends(leases, 2, resolving=False)
            started = time.perf_counter()
            kernel.settle(back)
            frontier.stored(leases["visit"])
            busy += time.perf_counter() - started
            done += leases.num_rows
    assert done == urls
    return {
        "pushed/s": round(urls / pushed),
        "leased, settled, stored/s": round(urls / busy),
        "memory B/URL": round(held / urls, 1),
        "disk B/URL": round(on_disk / urls, 1),
        "checkpoint s": round(checkpointed, 3),
        "open s": round(opened, 3),
    }


def main() -> None:
    """All in memory, and most on disk."""
    urls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    hosts = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    figures = Figures(
        "frontier",
        "How fast is the frontier, and what does a queued URL cost it?",
        corpus=f"{urls:,} made-up URLs of {hosts:,} hosts",
    )
    rows = [
        {"memory MiB": memory >> 20, **measure(urls, hosts, memory)} for memory in (1 << 30, MEMORY)
    ]
    figures.table("Pushed, leased, settled, stored", rows)
    figures.finish()


if __name__ == "__main__":
    main()
