"""Rows of the tables that the loop itself makes, and its judgement of fetched ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from crivello.url import domain, url_hash

if TYPE_CHECKING:
    from crivello._native import Scope

URLS = pa.schema(
    [
        pa.field("url", pa.string(), nullable=False),
        pa.field("url_hash", pa.uint64(), nullable=False),
        pa.field("depth", pa.uint16(), nullable=False),
        pa.field("score", pa.float32(), nullable=False),
        pa.field("from_hash", pa.uint64(), nullable=False),
        pa.field("from_url", pa.string(), nullable=False),
    ]
)

# Typed once: a bare number costs fifty times the comparison it is for.
OK = pa.scalar(200, pa.uint16())

# Failures that may pass: the same request can succeed later.
PASSING_ERRORS = pa.array(["dns", "connect", "timeout", "reset", "protocol", "tls"])
PASSING_STATUSES = pa.array([408, 425, 429, 500, 502, 503, 504], pa.uint16())


def retryable(pages: pa.RecordBatch, *, attempts: int) -> pa.BooleanArray:
    """Which rows failed for a reason that may pass, and have attempts left."""
    passing = pc.or_(
        pc.is_in(pages["error"], value_set=PASSING_ERRORS),
        pc.is_in(pages["status"], value_set=PASSING_STATUSES),
    )
    return pc.and_(passing, pc.less(pages["attempt"], pa.scalar(attempts, pa.int64())))


def urls(texts: list[str], *, depth: int, from_urls: list[str] | None = None) -> pa.RecordBatch:
    """A batch of normalised URLs, as the sieve takes them."""
    sources = from_urls if from_urls is not None else [""] * len(texts)
    columns = [
        pa.array(texts, pa.string()),
        pa.array([url_hash(text) for text in texts], pa.uint64()),
        pa.array([depth] * len(texts), pa.uint16()),
        pa.array([0.0] * len(texts), pa.float32()),
        pa.array([url_hash(source) if source else 0 for source in sources], pa.uint64()),
        pa.array(sources, pa.string()),
    ]
    return pa.record_batch(columns, schema=URLS)


def sitemap_offers(robots: pa.RecordBatch, scope: Scope) -> pa.RecordBatch:
    """The sitemaps that robots.txt files name, as offers to the sieve."""
    found: dict[str, str] = {}
    for source, sitemaps in zip(
        robots["url"].to_pylist(), robots["sitemaps"].to_pylist(), strict=True
    ):
        for sitemap in sitemaps:
            if scope.contains(sitemap):
                found.setdefault(sitemap, source)
    return urls(list(found), depth=1, from_urls=list(found.values()))


def _host(url: str) -> str:
    return url.split("/", 3)[2]


def admitted(fresh: pa.RecordBatch, now: int, *, state: str = "queued") -> pa.RecordBatch:
    """Rows of the table `urls` for what the sieve let out."""
    hosts = [_host(url) for url in fresh["url"].to_pylist()]
    count = fresh.num_rows
    return pa.RecordBatch.from_pydict(
        {
            "url": fresh["url"],
            "url_hash": fresh["url_hash"],
            "host": pa.array(hosts, pa.string()),
            "domain": pa.array([domain(host.rsplit(":", 1)[0]) for host in hosts], pa.string()),
            "depth": fresh["depth"],
            "score": fresh["score"],
            "from_hash": fresh["from_hash"],
            "from_url": fresh["from_url"],
            "state": pa.array([state] * count, pa.string()),
            "admitted_at": pa.array([now] * count, pa.int64()),
        }
    )


def never_asked(queued: pa.RecordBatch, error: str, now: int) -> pa.RecordBatch:
    """Rows of the table `pages` for URLs that are given up without a request."""
    hosts = queued["host"].to_pylist()
    count = queued.num_rows
    return pa.RecordBatch.from_pydict(
        {
            "visit": queued["visit"],
            "url": queued["url"],
            "url_hash": queued["url_hash"],
            "host": queued["host"],
            "domain": pa.array([domain(host.rsplit(":", 1)[0]) for host in hosts], pa.string()),
            "depth": queued["depth"],
            "score": queued["score"],
            "fetched_at": pa.array([now] * count, pa.int64()),
            "status": pa.nulls(count, pa.uint16()),
            "error": pa.array([error] * count, pa.string()),
        }
    )
