"""Composing an agent from its kernels, and running it between start and final seal.

This is the place to swap a part: everything the loop needs is named here once, with its share
of the memory budget and the checkpoint it goes on from.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crivello import __version__
from crivello._native import Budget, Feed, Files, Ledger, PageWorkers, Scope, Visits, now_us
from crivello.config import FILE, cold_changes
from crivello.crawl import checkpoint, clocks, rows, seeds
from crivello.crawl.agent import Agent, Parts
from crivello.crawl.checkpoint import Checkpointer
from crivello.crawl.counters import Counters
from crivello.crawl.duplicates import DuplicateMarker
from crivello.crawl.importer import Captures, Imported, Importer, Watch, moved, outlinks
from crivello.crawl.status import AGENT, Status, StatusWriter
from crivello.errors import UsageError
from crivello.frontier import DiskFrontier, MemoryFrontier
from crivello.sieve import MemorySieve, MercatorSieve
from crivello.store import Snapshot, Tables, Warcs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crivello.config import Settings
    from crivello.crawl.crawl import Summary
    from crivello.frontier import Frontier
    from crivello.index import Background
    from crivello.sieve import Sieve

NUMBER = 0
LEDGER = f"{AGENT}/ledger"
CHECKPOINT = f"{AGENT}/checkpoint.json"
LAST_WAIT_MS = 50

# Shares of the memory budget; the rest is for batches on their way and for sealing.
SHARES = {
    "sieve": 0.15,
    "frontier": 0.20,
    "bodies": 0.15,
    "robots": 0.04,
    "recent links": 0.04,
    "duplicates": 0.06,
    "spools": 0.06,
    "index": 0.10,
}
# Structures that say what they hold; the others are held to their share where they grow.
MEASURED = ("sieve", "frontier", "duplicates", "index")


def run(
    directory: Path,
    settings: Settings,
    *,
    stop: Callable[[], bool],
    on_progress: Callable[[Callable[[], Status]], None] | None,
    fault: str | None,
) -> Summary:
    """Open what is in `directory`, crawl, and leave everything sealed."""
    from crivello.crawl.crawl import Summary

    files = Files(directory, fsync=settings.store.fsync, fault=fault)
    state = checkpoint.read(files, CHECKPOINT)
    _refuse_cold_changes(directory, settings, state)
    parts = _parts(files, settings, state)
    agent = Agent(parts, settings, now=now_us)
    indexing = _indexing(directory, settings)
    status = StatusWriter(files, parts, indexing)
    stored_before = parts.counters.pages_stored
    _remember(files, parts, state)
    status.write("running")

    def tell(state: str) -> None:
        status.maybe(state)
        if on_progress is not None:
            on_progress(lambda: status.now(state))

    def on_turn() -> None:
        if indexing is not None:
            indexing.maybe(parts.tables.sealed("pages"))
        tell("running")

    try:
        agent.offer(rows.urls(list(settings.crawl.seeds), depth=0))
        _offer_outlinks(agent, files.root)
        ending = agent.run(stop=stop, on_turn=on_turn)
        _wind_down(agent)
        if indexing is not None:
            indexing.finish(
                parts.tables.sealed("pages"), stop=stop, on_turn=lambda: tell("indexing")
            )
    except BaseException:
        _abandon(parts, indexing)
        raise
    final = status.write({"finished": "finished", "limit": "stopped"}.get(ending, "interrupted"))
    return Summary(
        ending=ending,
        status=final,
        pages_this_run=final.pages_stored - stored_before,
        index_problem=indexing.problem if indexing is not None else None,
    )


def _refuse_cold_changes(
    directory: Path, settings: Settings, state: Mapping[str, Any] | None
) -> None:
    """What is on disk was shaped by settings that somebody may have edited since."""
    made_with = (state or {}).get("settings", {})
    for key in cold_changes(made_with, settings.cold()):
        raise UsageError(
            f"{directory / FILE}: {key} cannot change once a crawl is made:"
            f" put {json.dumps(made_with[key])} back"
        )


def import_(
    directory: Path, settings: Settings, warcs: list[Path], watch: Watch, *, fault: str | None
) -> Imported:
    """Open what is in `directory`, import archives, and leave everything sealed."""
    files = Files(directory, fsync=settings.store.fsync, fault=fault)
    state = checkpoint.read(files, CHECKPOINT)
    _refuse_cold_changes(directory, settings, state)
    feed = Feed()
    parts = _parts(files, settings, state, feed)
    agent = Agent(parts, settings, now=now_us)
    indexing = _indexing(directory, settings)
    status = StatusWriter(files, parts, indexing)
    _remember(files, parts, state)
    status.write("running")

    def on_progress(done: Imported, path: Path, position: int, size: int) -> None:
        if indexing is not None:
            indexing.maybe(parts.tables.sealed("pages"))
        watch.on_progress(done, path, position, size)

    try:
        agent.offer(rows.urls([], depth=0))  # what waits in the sieve is the crawl's, not imported
        with ExitStack() as stack:
            snapshot = stack.enter_context(Snapshot.open(directory)) if state else None
            captures = Captures(snapshot)
        importer = Importer(parts, feed, settings, captures)
        done = importer.run(warcs, replace(watch, on_progress=on_progress))
        feed.close()
        _wind_down(agent)
        if indexing is not None:
            sealed = parts.tables.sealed("pages")
            indexing.finish(sealed, stop=watch.stop, on_turn=lambda: status.maybe("indexing"))
            done.index_problem = indexing.problem
    except BaseException:
        feed.close()
        _abandon(parts, indexing)
        raise
    status.write("stopped" if done.ending == "finished" else "interrupted")
    return done


def _parts(
    files: Files, settings: Settings, state: dict[str, Any] | None, feed: Feed | None = None
) -> Parts:
    """The parts of a crawl; with a feed, those of an import: pages come from it, no link goes."""
    known: Mapping[str, Any] = state or {}
    budget = Budget(settings.memory.total)
    limits = {name: int(budget.total * share) for name, share in SHARES.items()}
    accounts = {name: budget.account(name, limits[name]) for name in MEASURED}
    counters = Counters.restore(known.get("counters"))
    # Archive records get their identifiers from this key, so that one written again is the same.
    crawl_key = known.get("crawl_key") or secrets.randbits(63)
    scope = Scope(settings.crawl.scope, list(settings.crawl.seeds))
    for target in counters.moved_seeds:
        scope.add(target)
    tables = Tables(
        files,
        NUMBER,
        known.get("tables"),
        seal_bytes=min(settings.store.seal_bytes, limits["spools"]),
        seal_seconds=settings.store.seal_seconds,
    )
    warcs = _warcs(files, settings, known.get("warc")) if "warc" in settings.store.keep else None
    sieve = _sieve(files, settings, limits["sieve"], known.get("sieve"))
    frontier = _frontier(files, settings, limits["frontier"], known.get("frontier"))
    frontier.restore_clocks(clocks.after_restart(files, LEDGER, now_us()))
    # Against the loss of power the wait after a restart suffices: a sync a request buys nothing.
    unsynced = Files(files.root) if files.fsync else files
    visits = _visits(Ledger(unsynced, LEDGER), settings, limits)
    workers = PageWorkers(
        visits if feed is None else feed,
        scope,
        threads=settings.page.threads or os.cpu_count() or 1,
        token=settings.fetch.agent_name,
        follow=list(settings.page.follow) if feed is None else [],
        max_depth=65535 if settings.crawl.max_depth is None else settings.crawl.max_depth,
        keep_links="links" in settings.store.keep,
        keep_pages="pages" in settings.store.keep,
        keep_text="text" in settings.store.keep,
        warc_compression=warcs.compression if warcs is not None else None,
        warc_level=_warc_level(settings),
        crawl_key=crawl_key,
        recent_bytes=limits["recent links"],
    )
    durable: dict[str, checkpoint.Durable] = {
        "tables": tables,
        "sieve": sieve,
        "frontier": frontier,
    }
    if warcs is not None:
        durable["warc"] = warcs
    checkpointer = Checkpointer(
        files,
        CHECKPOINT,
        durable,
        every=settings.checkpoint.every,
        epoch=known.get("epoch", 0),
        taken_at=known.get("at"),
        extra=lambda: {
            "agent": NUMBER,
            "crawl_key": crawl_key,
            "counters": counters.checkpoint(),
            "settings": settings.cold(),
        },
        now=now_us,
    )
    return Parts(
        sieve=sieve,
        frontier=frontier,
        visits=visits,
        workers=workers,
        scope=scope,
        tables=tables,
        warcs=warcs,
        duplicates=_duplicates(settings, limits["duplicates"]),
        checkpointer=checkpointer,
        counters=counters,
        budget=budget,
        accounts=accounts,
    )


def _warcs(files: Files, settings: Settings, state: dict[str, Any] | None) -> Warcs:
    return Warcs(files, NUMBER, state, compression=settings.store.warc_compression)


def _warc_level(settings: Settings) -> int:
    store = settings.store
    return store.warc_zstd_level if store.warc_compression == "zstd" else store.warc_gzip_level


def _duplicates(settings: Settings, memory: int) -> DuplicateMarker | None:
    """Pages are compared by what their rows say: without rows there are no duplicates."""
    if "pages" not in settings.store.keep:
        return None
    return DuplicateMarker(memory, k=settings.near.k)


def _sieve(files: Files, settings: Settings, memory: int, state: dict[str, Any] | None) -> Sieve:
    path = f"{AGENT}/sieve"
    if settings.sieve.kind == "memory":
        return MemorySieve(path, files=files, state=state)
    return MercatorSieve(path, memory=memory, files=files, state=state)


def _frontier(
    files: Files, settings: Settings, memory: int, state: dict[str, Any] | None
) -> Frontier:
    politeness = settings.politeness
    given = politeness.ip_delay
    usual: dict[str, Any] = {
        "delay": politeness.delay,
        "ip_delay": 1.0 if given is None else given,
        "local_ip_delay": 0.0 if given is None else given,
        "ratio": politeness.ratio,
        "agent": NUMBER,
        "files": files,
        "state": state,
    }
    path = f"{AGENT}/frontier"
    frontier: Frontier
    if settings.frontier.kind == "memory":
        frontier = MemoryFrontier(path, **usual)
    else:
        frontier = DiskFrontier(path, memory=memory, **usual)
    if given is None:
        for address in seeds.resolved_addresses(settings.fetch.resolve):
            frontier.set_ip(address, 0)
    return frontier


def _visits(ledger: Ledger, settings: Settings, limits: Mapping[str, int]) -> Visits:
    fetch = settings.fetch
    contact = f" (+{fetch.contact})" if fetch.contact else ""
    return Visits(
        ledger,
        agent=f"{fetch.agent_name}/{__version__}{contact}",
        token=fetch.agent_name,
        resolve=list(fetch.resolve),
        allow_private=fetch.allow_private,
        local_hosts=seeds.local_hosts(settings.crawl.seeds),
        identified=fetch.contact is not None,
        visits=fetch.visits,
        max_body=fetch.max_body,
        connect_timeout=fetch.connect_timeout,
        first_byte_timeout=fetch.first_byte_timeout,
        total_timeout=fetch.total_timeout,
        idle_timeout=fetch.idle_timeout,
        body_budget=limits["bodies"],
        robots_budget=limits["robots"],
    )


def _indexing(directory: Path, settings: Settings) -> Background | None:
    """The indexer beside the loop, if there is something to index."""
    if not settings.store.index or not {"pages", "text"} <= {*settings.store.keep}:
        return None
    from crivello.index import Background, Indexer

    memory = int(settings.memory.total * SHARES["index"])
    return Background(Indexer(directory, memory=memory, fsync=settings.store.fsync))


def _remember(files: Files, parts: Parts, state: dict[str, Any] | None) -> None:
    """Bring back from the tables what is kept in memory only: robots.txt and page texts."""
    if state is None:
        return
    with Snapshot.open(files.root) as snapshot:
        columns = ["origin", "status", "body", "expires"]
        for row in snapshot.table("robots", columns=columns).to_pylist():
            if row["expires"].timestamp() * 1e6 > now_us():
                parts.visits.seed_robots(
                    row["origin"], row["status"], row["body"], int(row["expires"].timestamp() * 1e6)
                )
        if parts.duplicates is not None:
            parts.duplicates.remember(snapshot)


def _offer_outlinks(agent: Agent, directory: Path) -> None:
    """Offer the links of imported pages that are in scope, once for each import and bounds."""
    counters, settings = agent.parts.counters, agent.settings
    bounds = (settings.crawl.seeds, settings.page.follow)
    of = hashlib.sha256(repr((counters.imported, bounds)).encode()).hexdigest()[:16]
    if counters.imported == 0 or counters.outlinks_of == of or settings.crawl.max_depth == 0:
        return
    with Snapshot.open(directory) as snapshot:
        for target in moved(snapshot, settings.crawl.seeds):
            if agent.parts.scope.add(target):
                counters.moved_seeds.append(target)
        for links in outlinks(snapshot, settings):
            inside = [agent.parts.scope.contains(url) for url in links["url"].to_pylist()]
            agent.offer(links.filter(pa.array(inside, pa.bool_())))
    counters.outlinks_of = of


def _abandon(parts: Parts, indexing: Background | None = None) -> None:
    """After an error: ask nobody any more before the lock goes. The last checkpoint stands."""
    if indexing is not None:
        indexing.close()
    parts.visits.stop()
    parts.workers.join()
    parts.tables.close()


def _wind_down(agent: Agent) -> None:
    """Stop asking, keep what is on its way through the page workers, seal everything."""
    parts = agent.parts
    parts.visits.stop()
    while agent.absorb(LAST_WAIT_MS):
        pass
    parts.workers.join()
    parts.tables.finish()
    if parts.warcs is not None:
        parts.warcs.finish()
    parts.checkpointer.take()
    parts.tables.close()
