"""Importing archives: records that somebody else fetched, through the same page stage.

The importer stands in the place of frontier and visits. Records of WARC files become pages as
fetched ones do (decoded, parsed, marked, archived anew, stored), and their URLs become known to
the sieve, so that no crawl asks for them again. Three rules make it safe to kill:

- *A capture is a URL at an instant.* One that the tables hold already is passed over; so a
  file may be imported twice, whole or in part, and adds nothing twice.
- *A checkpoint finds the sieve flushed.* Everything that the sieve lets out here was imported,
  and goes to the table `urls` (state `imported`) but to no queue.
- Links are not offered while importing: the page behind a link may come later in the files.
  They are offered when a crawl goes on, under the scope of then (`outlinks`).
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from crivello._native import Feed, WarcReader, decode_content, normalise, now_us, url_hash
from crivello.crawl import rows
from crivello.errors import UsageError
from crivello.store.capture import header
from crivello.url import split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crivello.config import Settings
    from crivello.crawl.agent import Parts
    from crivello.store import Snapshot

WAIT_MS = 200
BATCH_RECORDS = 512
MAX_ROBOTS = 500 * 1024
ROBOTS_HOLD_US = 86_400_000_000
NOFOLLOW = 2
IMPORTED = "imported"

_MASK = (1 << 64) - 1
_ODD = 0x9E3779B97F4A7C15
_MERGE_AT = 1 << 18

PAGES = pa.schema(
    [
        ("visit", pa.uint64()),
        ("url", pa.string()),
        ("date", pa.int64()),
        ("ip", pa.string()),
        ("head", pa.binary()),
        ("body", pa.binary()),
        ("truncated", pa.string()),
    ]
)


@dataclass
class Imported:
    """What an import did."""

    ending: Literal["finished", "interrupted"] = "finished"
    files: int = 0
    records: int = 0
    pages: int = 0
    robots: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """Records passed over, by reason."""
    problems: int = 0
    """Damage found in the files."""
    index_problem: str | None = None
    """Why not all pages are in the index, and what to do; None when they are, or need not be."""

    @property
    def exit_code(self) -> int:
        """0 done · 1 the files hold no record · 3 interrupted."""
        if self.ending == "interrupted":
            return 3
        return 0 if self.records else 1


@dataclass(frozen=True)
class Watch:
    """Who looks on: called with what happens."""

    stop: Callable[[], bool] = lambda: False
    on_progress: Callable[[Imported, Path, int, int], None] = lambda *_: None
    """After every batch: counts, the file, bytes read of it, its size."""
    on_problem: Callable[[Path, int, str], None] = lambda *_: None
    """Damage: file, offset, words."""


class Captures:
    """The captures that a crawl holds: 8 bytes each, and those of the last batches in a set."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        self._new: set[int] = set()
        old = pa.array([], pa.uint64())
        if snapshot is not None:
            pages = snapshot.table("pages", columns=["url_hash", "fetched_at"])
            robots = snapshot.table("robots", columns=["origin", "fetched_at"])
            origins = [url_hash(f"{origin}/robots.txt") for origin in robots["origin"].to_pylist()]
            hashes = [*pages["url_hash"].chunks, pa.array(origins, pa.uint64())]
            dates = [*pages["fetched_at"].chunks, *robots["fetched_at"].chunks]
            instants = (
                pa.chunked_array(dates, pages["fetched_at"].type)
                .cast(pa.int64())
                .cast(pa.uint64(), safe=False)
            )
            spread = pc.multiply(instants, pa.scalar(_ODD, pa.uint64()))
            old = pc.add(pa.chunked_array(hashes), spread.combine_chunks()).combine_chunks()
        self._old = self._sorted(old)

    @staticmethod
    def _sorted(names: pa.Array) -> memoryview:
        ordered = names.take(pc.array_sort_indices(names))
        return memoryview(ordered.buffers()[1] or b"").cast("Q")[: len(ordered)]

    def add(self, hashed: int, date: int) -> bool:
        """Enter a capture; false when it is there already."""
        name = (hashed + (date & _MASK) * _ODD) & _MASK
        at = bisect_left(self._old, name)
        if name in self._new or (at < len(self._old) and self._old[at] == name):
            return False
        self._new.add(name)
        if len(self._new) >= _MERGE_AT:
            both = [
                pa.array(self._new, pa.uint64()),
                pa.Array.from_buffers(pa.uint64(), len(self._old), [None, pa.py_buffer(self._old)]),
            ]
            self._old, self._new = self._sorted(pa.concat_arrays(both)), set()
        return True


class Importer:
    """Moves records from archives into the parts of a crawl."""

    def __init__(self, parts: Parts, feed: Feed, settings: Settings, captures: Captures) -> None:
        self.parts = parts
        self.settings = settings
        self.done = Imported()
        self._feed = feed
        self._captures = captures
        self._admitted_at = float("-inf")
        self._cost = 0.0

    def run(self, warcs: Iterable[Path], watch: Watch) -> Imported:
        """Import the files, one after the other."""
        for path in warcs:
            if watch.stop():
                self.done.ending = "interrupted"
                break
            self._file(path, watch)
        self.admit()
        return self.done

    def _file(self, path: Path, watch: Watch) -> None:
        reader = WarcReader(path, max_block=self.settings.fetch.max_body)
        before = self.done.records
        while (batch := reader.next_batch(BATCH_RECORDS)) is not None:
            records = pa.record_batch(batch)
            self.done.records += records.num_rows
            self._take(records)
            self._tell(path, reader, watch)
            self._checkpoint()
            watch.on_progress(self.done, path, reader.position, reader.size)
            if watch.stop():
                self.done.ending = "interrupted"
                return
        self._tell(path, reader, watch)
        self.done.files += 1
        if self.done.records == before:
            self.done.problems += 1
            watch.on_problem(path, 0, "the file holds no WARC record")

    def _tell(self, path: Path, reader: WarcReader, watch: Watch) -> None:
        for offset, what in reader.problems():
            self.done.problems += 1
            watch.on_problem(path, offset, what)

    def _take(self, records: pa.RecordBatch) -> None:
        """Import a batch: choose what is a page, and pass it through the page workers."""
        chosen: list[int] = []
        urls: list[str] = []
        heads: list[bytes] = []
        columns = ("kind", "url", "date", "status", "content_type", "head")
        facts = records.select(columns).to_pylist()
        for number, fact in enumerate(facts):
            url, reason = _page(fact)
            if url and not self._captures.add(url_hash(url), fact["date"]):
                reason = "already here"
            if not reason and url.endswith("/robots.txt") and split(url).target == "/robots.txt":
                self._robots(url, fact, records["body"][number].as_py())
                continue
            if reason:
                self.done.skipped[reason] += 1
                continue
            chosen.append(number)
            urls.append(url)
            heads.append(fact["head"] or _head_of_resource(fact["content_type"]))
        if chosen:
            self._pages(records.take(pa.array(chosen)), urls, heads)

    def _pages(self, records: pa.RecordBatch, urls: list[str], heads: list[bytes]) -> None:
        count = records.num_rows
        first = self.parts.frontier.reserve(count)
        columns = {
            "visit": pa.array(range(first, first + count), pa.uint64()),
            "url": pa.array(urls, pa.string()),
            "head": pa.array(heads, pa.binary()),
            **{name: records[name] for name in ("date", "ip", "body", "truncated")},
        }
        self._feed.put(pa.record_batch([columns[name] for name in PAGES.names], schema=PAGES))
        self.parts.sieve.offer(rows.urls(list(dict.fromkeys(urls)), depth=0))
        while count > 0:
            taken = self.parts.workers.take(WAIT_MS, enough_pages=count)
            pages = pa.record_batch(taken.pages)
            if pages.num_rows:
                self._store(pages, pa.record_batch(taken.links))
                count -= pages.num_rows

    def _store(self, pages: pa.RecordBatch, links: pa.RecordBatch) -> None:
        parts = self.parts
        at = pages.schema.get_field_index("fetch_ms")
        pages = pages.set_column(at, "fetch_ms", pa.nulls(pages.num_rows, pa.float32()))
        if parts.duplicates is not None:
            clusters = parts.duplicates.mark(pages)
            parts.tables.append("clusters", clusters)
            parts.counters.count_duplicates(clusters)
        if parts.warcs is not None:
            pages = parts.warcs.append(pages)
        if "pages" in self.settings.store.keep:
            parts.tables.append("pages", pages)
        if links.num_rows:
            parts.tables.append("links", links)
        parts.counters.count_pages(pages)
        parts.counters.imported += pages.num_rows
        self.done.pages += pages.num_rows

    def _robots(self, url: str, fact: dict[str, Any], body: bytes) -> None:
        """A robots.txt is no page: it is kept as those are that a crawl reads."""
        if 300 <= fact["status"] < 400:
            self.done.skipped["robots.txt that moved"] += 1
            return
        codings = ",".join(header(fact["head"], "content-encoding"))
        content, _, _ = decode_content(codings, body, limit=MAX_ROBOTS)
        parts = split(url)
        columns = {
            "host": [parts.authority],
            "origin": [parts.origin],
            "fetched_at": pa.array([fact["date"]], pa.int64()),
            "status": pa.array([fact["status"]], pa.uint16()),
            "body": pa.array([content], pa.binary()),
            "expires": pa.array([fact["date"] + ROBOTS_HOLD_US], pa.int64()),
        }
        self.parts.tables.append("robots", pa.RecordBatch.from_pydict(columns))
        self.done.robots += 1

    def admit(self) -> None:
        """Flush the sieve: what was not known becomes so, and is in no queue."""
        started = time.monotonic()
        self.parts.sieve.flush()
        for fresh in self.parts.sieve.take():
            admitted = rows.admitted(fresh, now_us(), state=IMPORTED)
            self.parts.tables.append("urls", admitted)
            self.parts.counters.urls_known += fresh.num_rows
        self._admitted_at = time.monotonic()
        self._cost = self._admitted_at - started

    def _checkpoint(self) -> None:
        """Checkpoints as in a crawl, but for flushes no more than a twentieth of the time."""
        rested = time.monotonic() - self._admitted_at >= 20 * self._cost
        if self.parts.checkpointer.due and rested:
            self.admit()
            self.parts.checkpointer.take()


def _page(fact: dict[str, Any]) -> tuple[str, str]:
    """The normalised URL of a record that is a page, or why it is none."""
    kind = fact["kind"]
    if kind not in ("response", "resource"):
        return "", "revisit" if kind == "revisit" else "other kinds of record"
    if kind == "response" and fact["status"] is None:
        return "", "not HTTP"
    if fact["date"] is None:
        return "", "without a date"
    try:
        return normalise(fact["url"] or ""), ""
    except ValueError:
        return "", "not an http(s) URL"


def _head_of_resource(content_type: str | None) -> bytes:
    """A `resource` record holds a file and no HTTP: this is the head that is stored with it."""
    kind = " ".join((content_type or "application/octet-stream").split())
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode()


def readable(warcs: Iterable[str | Path]) -> list[Path]:
    """The files, each of which can be opened."""
    paths = [Path(path) for path in warcs]
    for path in paths:
        try:
            if path.is_dir():
                raise UsageError(f"{path}: is a directory; give the WARC files in it")
            with path.open("rb"):
                pass
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    if not paths:
        raise UsageError("give at least one WARC file")
    return paths


def outlinks(snapshot: Snapshot, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Links and redirects of imported pages, as offers: what their visits would have offered."""
    kinds = ", ".join(f"'{kind}'" for kind in settings.page.follow)
    redirects = "redirect" in settings.page.follow
    query = f"""
        with imported as (
            select p.url, p.url_hash, p.redirect_to, coalesce(p.robots_flags, 0) & {NOFOLLOW} as shy
            from pages p join urls u using (url_hash) where u.state = '{IMPORTED}')
        select dst_url as url, min(p.url) as from_url
        from links l join imported p on p.url_hash = l.src_hash
        where l.kind in ({kinds or "''"}) and p.shy = 0
              and not list_contains(string_split(coalesce(l.rel, ''), ' '), 'nofollow')
        group by dst_url
        union all
        select redirect_to, min(url) from imported
        where {redirects} and redirect_to is not null group by redirect_to
    """
    for batch in snapshot.sql(query).batches():
        yield rows.urls(batch["url"].to_pylist(), depth=1, from_urls=batch["from_url"].to_pylist())


def moved(snapshot: Snapshot, seeds: Iterable[str]) -> list[str]:
    """Where seeds lead that were imported as redirects: a seed that moved takes the scope along."""
    hashes = ", ".join(str(url_hash(seed)) for seed in seeds)
    found = snapshot.sql(
        "select distinct redirect_to from pages"
        f" where redirect_to is not null and url_hash in ({hashes or 'null'})"
    )
    return [row[0] for row in found]
