"""The agent's loop: one thread that passes batches between the kernels.

Everything a user may want to change happens here or one call below; everything that touches
single bytes or single links happens in the kernels. The loop never waits longer than a few
hundred milliseconds, and between two of its turns the whole crawl is at one point: that is
where checkpoints are taken.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.compute as pc

from crivello.crawl import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crivello._native import Account, Budget, PageWorkers, Scope, Visits
    from crivello.config import Settings
    from crivello.crawl.checkpoint import Checkpointer
    from crivello.crawl.counters import Counters
    from crivello.crawl.duplicates import DuplicateMarker
    from crivello.frontier import Frontier
    from crivello.sieve import Sieve
    from crivello.store import Tables, Warcs

Ending = Literal["finished", "limit", "interrupted"]

LONGEST_WAIT_MS = 200
MICROSECONDS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What an agent is composed of. Each part is usable, and replaceable, alone."""

    sieve: Sieve
    frontier: Frontier
    visits: Visits
    workers: PageWorkers
    scope: Scope
    tables: Tables
    warcs: Warcs | None
    duplicates: DuplicateMarker | None
    checkpointer: Checkpointer
    counters: Counters
    budget: Budget
    accounts: Mapping[str, Account]


class Agent:
    """Moves URLs through their life: sieve, frontier, visit, page, store."""

    def __init__(self, parts: Parts, settings: Settings, *, now: Callable[[], int]) -> None:
        self.parts = parts
        self.settings = settings
        self._now = now
        self._hosts_of_leases: dict[int, str] = {}
        self._flush_cost = 0.0
        self._flushed_at = float("-inf")

    def run(self, *, stop: Callable[[], bool], on_turn: Callable[[], None]) -> Ending:
        """Turn until nothing is left, a limit is reached or `stop()` says so."""
        max_time = self.settings.crawl.max_time
        deadline = float("inf") if max_time is None else time.monotonic() + max_time
        while not stop():
            if self._pages_left() <= 0 or time.monotonic() >= deadline:
                return "limit"
            if self.parts.frontier.empty and not self._sift(starving=True):
                return "finished"
            self.turn()
            on_turn()
        return "interrupted"

    def turn(self) -> None:
        """One turn: give out work, take what came back, pass it on."""
        self._lease()
        self.absorb(self._patience_ms())
        self._sift(starving=self._starving())
        self.parts.checkpointer.maybe()

    def _lease(self) -> None:
        room = self.parts.visits.room()
        if room == 0:
            return
        leases = self.parts.frontier.lease(room, self._now())
        if leases.num_rows == 0:
            return
        self._hosts_of_leases.update(
            zip(leases["lease"].to_pylist(), leases["host"].to_pylist(), strict=True)
        )
        self.parts.visits.start(leases)

    def _patience_ms(self) -> int:
        """How long the loop may sleep without keeping a host waiting."""
        ready = self.parts.frontier.next_ready()
        if ready is None or self.parts.visits.room() == 0:
            return LONGEST_WAIT_MS
        return max(1, min(LONGEST_WAIT_MS, (ready - self._now()) // 1000))

    def absorb(self, wait_ms: int) -> int:
        """Take one batch from the page workers and hand its parts on; the number of pages."""
        # Large batches are cheap; but hosts that may be asked again must not wait for them.
        enough = 1 + self.parts.frontier.active // 3
        taken = self.parts.workers.take(wait_ms, enough_ends=enough)
        self._settle(pa.record_batch(taken.ends))
        self._obey(pa.record_batch(taken.robots))
        pages = pa.record_batch(taken.pages)
        if pages.num_rows:
            kept = pages.slice(0, self._within_limit(pages))
            offers = pa.record_batch(taken.offers)
            links = pa.record_batch(taken.links)
            if kept.num_rows < pages.num_rows:  # the others stay in flight, and so do their links
                offers = offers.filter(pc.is_in(offers["from_hash"], value_set=kept["url_hash"]))
                links = links.filter(pc.is_in(links["visit"], value_set=kept["visit"]))
            self._store(kept, links)
            self._widen_scope(kept)
            if offers.num_rows:
                self.parts.sieve.offer(offers)
        return int(pages.num_rows)

    def _settle(self, ends: pa.RecordBatch) -> None:
        if ends.num_rows == 0:
            return
        self.parts.frontier.settle(ends)
        columns = (ends[name].to_pylist() for name in ("lease", "failed", "error"))
        for lease, failed, error in zip(*columns, strict=True):
            host = self._hosts_of_leases.pop(lease)
            if failed and self.parts.frontier.failures(host) >= self.settings.fetch.dead_after:
                self._retire(host, "dns" if error == "dns" else "host-dead")

    def _retire(self, host: str, reason: str) -> None:
        """Give up a host that cannot be reached: its URLs fail without a request."""
        while (queued := self.parts.frontier.retire(host, 1024)).num_rows:
            dead = rows.never_asked(queued, reason, self._now())
            self._keep(dead)
            self.parts.frontier.stored(dead["visit"])

    def _obey(self, robots: pa.RecordBatch) -> None:
        """Turn each robots.txt into numbers for its host, a row, and sitemaps on offer."""
        if robots.num_rows == 0:
            return
        self.parts.tables.append("robots", robots)
        longest = self.settings.politeness.max_crawl_delay
        for row in robots.select(["host", "crawl_delay"]).to_pylist():
            if row["crawl_delay"] is not None:
                delay = min(row["crawl_delay"], longest)
                self.parts.frontier.set_host(row["host"], delay_us=int(delay * MICROSECONDS))
        if "sitemap" in self.settings.page.follow:
            offers = rows.sitemap_offers(robots, self.parts.scope)
            if offers.num_rows:
                self.parts.sieve.offer(offers)

    def _pages_left(self) -> float:
        limit = self.settings.crawl.max_pages
        return float("inf") if limit is None else limit - self.parts.counters.pages_stored

    def _within_limit(self, pages: pa.RecordBatch) -> int:
        """How many rows of a batch may be stored before `max_pages` pages are."""
        left = self._pages_left()
        if left >= pages.num_rows:
            return int(pages.num_rows)
        for row, status in enumerate(pages["status"].to_pylist()):
            if left <= 0:
                return row
            left -= status == 200
        return int(pages.num_rows)

    def _store(self, pages: pa.RecordBatch, links: pa.RecordBatch) -> None:
        parts = self.parts
        retry = rows.retryable(pages, attempts=self.settings.fetch.retries)
        for attempt in pc.unique(pages["attempt"].filter(retry)).to_pylist():
            again = pc.and_(retry, pc.equal(pages["attempt"], attempt))
            silence = self.settings.fetch.retry_delay * 2**attempt
            not_before = self._now() + int(silence * MICROSECONDS)
            parts.frontier.retry(pages["visit"].filter(again), not_before)
        parts.frontier.stored(pages["visit"].filter(pc.invert(retry)))
        if parts.duplicates is not None:
            clusters = parts.duplicates.mark(pages)
            parts.tables.append("clusters", clusters)
            parts.counters.count_duplicates(clusters)
        if parts.warcs is not None:
            pages = parts.warcs.append(pages)
        self._keep(pages)
        if links.num_rows:
            parts.tables.append("links", links)

    def _keep(self, pages: pa.RecordBatch) -> None:
        """Count rows of the table `pages`, and store them unless only `urls` is wanted."""
        if "pages" in self.settings.store.keep:
            self.parts.tables.append("pages", pages)
        self.parts.counters.count_pages(pages)

    def _widen_scope(self, pages: pa.RecordBatch) -> None:
        """A seed that moved takes the scope with it."""
        if pages["redirect_to"].null_count == pages.num_rows:
            return
        moved = pc.and_(pc.equal(pages["depth"], 0), pc.is_valid(pages["redirect_to"]))
        for target in pages["redirect_to"].filter(moved).to_pylist():
            self.parts.scope.add(target)
            self.parts.counters.moved_seeds.append(target)

    def _starving(self) -> bool:
        """Whether the frontier can feed the visits only a moment longer."""
        return self.parts.frontier.queued < 2 * self.settings.fetch.visits

    def _sift(self, *, starving: bool) -> bool:
        """Flush the sieve if it is time, and admit what it lets out; whether anything came.

        A sieve that is full flushes by itself. Early flushes, when the frontier starves, may
        cost a twentieth of the time at most, so that a crawl that lives from hand to mouth does
        not spend itself on merges.
        """
        sieve, frontier = self.parts.sieve, self.parts.frontier
        started = time.monotonic()
        idle = frontier.queued == 0 and frontier.in_flight == 0
        paid_off = started - self._flushed_at >= 20 * self._flush_cost
        if sieve.pending and starving and (idle or paid_off):
            sieve.flush()
            self._flushed_at = time.monotonic()
            self._flush_cost = self._flushed_at - started
        known = self.parts.counters.urls_known
        for fresh in sieve.take():
            self._admit(fresh)
        return self.parts.counters.urls_known > known

    def _admit(self, fresh: pa.RecordBatch) -> None:
        """URLs never seen before: into the table `urls` and to their hosts' queues."""
        self.parts.tables.append("urls", rows.admitted(fresh, self._now()))
        self.parts.frontier.push(fresh)
        self.parts.counters.urls_known += fresh.num_rows

    def offer(self, urls: pa.RecordBatch) -> None:
        """Offer what no page of this run leads to; known URLs are sifted out like any."""
        self.parts.sieve.offer(urls)
        self._sift(starving=True)
