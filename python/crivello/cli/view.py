"""A crawl as its user sees it: live, and at its end."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crivello.config import Settings, shown_at
from crivello.units import human_size, human_time

if TYPE_CHECKING:
    from rich.console import RenderableType

    from crivello.crawl import Status, Summary

OnProgress = Callable[[Callable[[], Any]], None]

_LIVE_EVERY = 0.25
_LINE_EVERY = 5.0
_BARS = "▁▂▃▄▅▆▇█"
_SPARKS = 40


@contextmanager
def live(settings: Settings) -> Iterator[OnProgress]:
    """What to call while crawling: a live view on a terminal, else a line now and then."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.live import Live

    screen = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
    with screen:
        yield _View(screen.update, settings.crawl.max_pages)


class _Lines:
    """Every few seconds one line on stderr."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def __call__(self, status: Callable[[], Status]) -> None:
        if time.monotonic() - self._told >= _LINE_EVERY:
            self._told = time.monotonic()
            print(f"crivello: {line(status())}", file=sys.stderr, flush=True)


class _View:
    """Redrawn a few times a second."""

    def __init__(self, update: Callable[..., None], max_pages: int | None) -> None:
        self._update = update
        self._max_pages = max_pages
        self._drawn = float("-inf")
        self._rates: deque[float] = deque(maxlen=_SPARKS)

    def __call__(self, status: Callable[[], Status]) -> None:
        if time.monotonic() - self._drawn >= _LIVE_EVERY:
            self._drawn = time.monotonic()
            now = status()
            self._rates.append(now.pages_per_s)
            self._update(draw(now, self._rates, self._max_pages))


def draw(status: Status, rates: deque[float], max_pages: int | None) -> RenderableType:
    """The live view of a moment."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    grid = Table.grid(padding=(0, 3))
    pages = f"{status.pages_stored:,}" + (f" of {max_pages:,}" if max_pages else "")
    grid.add_row("[b]pages", pages, "[b]queue", f"{status.urls_queued:,}",
                 "[b]hosts", f"{status.hosts:,} ({status.hosts_visited_now:,} now)")  # fmt: skip
    grid.add_row("[b]rate", f"{status.pages_per_s:,.1f}/s", "[b]known", f"{status.urls_known:,}",
                 "[b]failures", counts(status.failures))  # fmt: skip
    grid.add_row("[b]memory", human_size(status.memory_bytes), "[b]checkpoint",
                 age(status.checkpoint_at), "[b]duplicates", counts(status.duplicates))  # fmt: skip
    grid.add_row("[b]indexed", f"{status.documents_indexed:,}")
    parts: list[RenderableType] = [grid]
    if max_pages:
        parts.append(ProgressBar(max_pages, min(status.pages_stored, max_pages), width=60))
    if status.state == "indexing":
        parts.append(_to_index(status) + "; Ctrl-C leaves it for `crivello index`")
        return Group(*parts)
    parts.append(f"[cyan]{sparkline(rates)}[/]  {human_time(status.elapsed_s)}  Ctrl-C stops")
    return Group(*parts)


def _to_index(status: Status) -> str:
    return f"the crawl is over; its last pages are being indexed ({status.pages_to_index:,} to go)"


def line(status: Status) -> str:
    """The moment in one line."""
    if status.state == "indexing":
        return _to_index(status)
    return (
        f"{status.pages_stored:,} pages, {status.pages_per_s:,.1f}/s, {status.urls_queued:,}"
        f" queued, {status.hosts:,} hosts, failures {counts(status.failures)},"
        f" checkpoint {age(status.checkpoint_at)}, {human_size(status.memory_bytes)}"
    )


def sparkline(values: deque[float]) -> str:
    """A curve in a line of text.

    >>> sparkline(deque([0.0, 1.0, 2.0]))
    '▁▄█'
    """
    top = max(values, default=0.0) or 1.0
    return "".join(_BARS[min(7, int(value / top * 7.999))] for value in values)


def counts(numbers: Mapping[str, int]) -> str:
    """The largest counts by name: "timeout 12 · dns 3"."""
    found = sorted(
        ((name, count) for name, count in numbers.items() if count), key=lambda item: -item[1]
    )
    told = " · ".join(f"{name} {count:,}" for name, count in found[:4])
    return (told + (" · …" if len(found) > 4 else "")) or "none"


def age(microseconds: int | None) -> str:
    """How long ago a moment was."""
    if microseconds is None:
        return "none yet"
    return f"{human_time(max(0.0, time.time() - microseconds / 1e6))} ago"


def changes(settings: Settings, changed: list[str]) -> list[str]:
    """The settings that are now others, one a line."""
    return [f"{key} is now {shown_at(key, settings[key])}" for key in changed]


def summary(ended: Summary, directory: Path) -> str:
    """How a run ended, and what can be done next."""
    status = ended.status
    why = {
        "finished": "Finished: nothing is left to crawl.",
        "limit": "Stopped at the limit that was given.",
        "interrupted": f"Interrupted; `crivello crawl -o {directory}` goes on.",
    }[ended.ending]
    rate = ended.pages_this_run / status.elapsed_s if status.elapsed_s > 0 else 0.0
    searchable = status.documents_indexed > 0
    return "\n".join(
        (
            why,
            f"  pages       {status.pages_stored:,} ({ended.pages_this_run:,} in this run, in"
            f" {human_time(status.elapsed_s)}, {rate:,.1f}/s)",
            f"  URLs        {status.urls_known:,} known, {status.urls_queued:,} queued,"
            f" on {status.hosts:,} host{'' if status.hosts == 1 else 's'}",
            f"  failures    {counts(status.failures)}",
            f"  duplicates  {counts(status.duplicates)}",
            *([f"  index       {status.documents_indexed:,} pages"] if searchable else []),
            f"  memory      {human_size(status.memory_bytes)} at most",
            *([next_step(directory, searchable=searchable)] if status.pages_stored else []),
        )
    )


def next_step(directory: Path, *, searchable: bool) -> str:
    """What to do with a crawl first."""
    if searchable:
        return f"Search it: crivello search {directory} 'some words'"
    return f"Look at it: crivello sql {directory} 'select url, title from pages limit 10'"


def nothing_fetched(ended: Summary, directory: Path) -> str:
    """Why a run that fetched nothing may have done so."""
    return (
        f"no page could be fetched; failures: {counts(ended.status.failures)};"
        " check the seeds' spelling, the network and the sites' robots.txt;"
        f" `crivello why {directory} URL` tells what became of a seed"
    )
