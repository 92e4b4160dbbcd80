"""A crawl in a directory: make it, open it, run it, go on with it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from crivello.config import FILE, OPTIONS, Settings, cold_changes
from crivello.crawl import compose
from crivello.crawl.importer import Imported, Watch, readable
from crivello.crawl.lock import CrawlLock
from crivello.crawl.seeds import normalised, stranger
from crivello.crawl.status import AGENT, Status, read_status
from crivello.errors import Error, UsageError
from crivello.store import Capture, Rows, Snapshot, capture
from crivello.units import human_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from crivello.crawl.agent import Ending
    from crivello.crawl.why import Why
    from crivello.search import Query, Results, Searcher


class Options(TypedDict, total=False):
    """Settings by the names they have on the command line; `crivello.config` documents them."""

    scope: str
    max_pages: int | None
    max_depth: int | None
    max_time: float | str | None
    delay: float | str
    ip_delay: float | str | None
    ratio: float | None
    memory: int | str
    visits: int
    sieve: str
    frontier: str
    agent_name: str
    contact: str | None
    resolve: Iterable[str]
    allow_private: bool
    store: Iterable[str]
    follow: Iterable[str]
    index: bool
    checkpoint_every: float | str


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How a run ended."""

    ending: Ending
    status: Status
    pages_this_run: int
    index_problem: str | None = None
    """Why not all pages are in the index, and what to do; None when they are, or need not be."""

    @property
    def exit_code(self) -> int:
        """0 nothing left or a limit reached · 1 no seed could be fetched · 3 interrupted."""
        if self.ending == "interrupted":
            return 3
        return 0 if self.status.pages_stored else 1


class Crawl:
    """A crawl in a directory.

    A directory that does not exist becomes a new crawl; one that holds a crawl is opened, the
    options given again override its settings (`changed` lists them) and seeds are added.

    >>> crawl = Crawl("docs.crivello", seeds=["http://localhost:8000/"])  # doctest: +SKIP
    >>> crawl.run(max_pages=1000).status.pages_stored                     # doctest: +SKIP
    1000
    """

    def __init__(
        self,
        path: str | Path,
        *,
        seeds: Iterable[str] = (),
        config: str | Path | None = None,
        fault: str | None = None,
        seedless: bool = False,
        **options: Unpack[Options],
    ) -> None:
        """`seedless` lets a new crawl do without seeds, as one that begins with archives may."""
        self.path = Path(path)
        self._seedless = seedless
        self._fault = fault
        self._searcher: Searcher | None = None
        if unknown := sorted(options.keys() - OPTIONS.keys()):
            raise UsageError(
                f"Crawl has no option {unknown[0]!r}; it has {', '.join(OPTIONS)};"
                " what else can be set goes into a file, config=FILE"
            )
        given: dict[str, Any] = {OPTIONS[name]: value for name, value in options.items()}
        new_seeds = normalised(seeds)
        self.is_new = not (self.path / FILE).exists()
        if self.is_new:
            self.settings, self.changed = self._create(new_seeds, config, given)
        else:
            self.settings, self.changed = self._reopen(new_seeds, config, given)

    def __repr__(self) -> str:
        """As it can be written."""
        return f"Crawl({str(self.path)!r})"

    def _create(
        self, seeds: list[str], config: str | Path | None, given: dict[str, Any]
    ) -> tuple[Settings, list[str]]:
        _refuse_foreign(self.path)
        settings, changed = Settings.load(config).override(given)
        every_seed = normalised([*settings.crawl.seeds, *seeds])
        settings, _ = settings.override({"crawl.seeds": every_seed})
        if not every_seed and not self._seedless:
            raise UsageError("a new crawl needs at least one seed: give a URL, or --seeds FILE")
        _require_identity(settings)
        _require_memory(settings)
        try:
            self.path.mkdir(exist_ok=True)
            settings.save(self.path / FILE)
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be made: {error.strerror}") from None
        return settings, changed

    def _reopen(
        self, seeds: list[str], config: str | Path | None, given: dict[str, Any]
    ) -> tuple[Settings, list[str]]:
        old = Settings.load(self.path / FILE)
        settings = old
        if config is not None:
            from crivello.config import read_toml

            settings, _ = settings.override(read_toml(Path(config)), where=str(config))
        settings, _ = settings.override(given)
        cold = cold_changes(old.cold(), settings.cold())
        if cold:
            raise UsageError(
                f"{self.path}: {', '.join(cold)} cannot change once a crawl is made;"
                " leave it out, or crawl into a new directory"
            )
        every_seed = normalised([*old.crawl.seeds, *settings.crawl.seeds, *seeds])
        settings, changed = settings.override({"crawl.seeds": every_seed})
        _require_identity(settings)
        changed = [key for key in _changed(old, settings) if key != "crawl.seeds"]
        if settings != old:
            with self._lock():  # the settings of a running crawl are not this process's to change
                settings.save(self.path / FILE)
        return settings, changed

    def run(
        self,
        *,
        max_pages: int | None = None,
        max_time: float | None = None,
        stop: Callable[[], bool] = lambda: False,
        on_progress: Callable[[Callable[[], Status]], None] | None = None,
    ) -> Summary:
        """Crawl until nothing is left, a limit is reached, or `stop()` is true.

        `on_progress` is called every turn of the loop with a function that gives the status of
        the moment. `max_pages` and `max_time` hold for this run only.
        """
        limits = {"crawl.max_pages": max_pages, "crawl.max_time": max_time}
        settings, _ = self.settings.override(
            {key: value for key, value in limits.items() if value is not None}
        )
        _require_memory(settings)
        if not settings.crawl.seeds and settings.crawl.scope != "any":
            raise UsageError(
                f"{self.path}: has no seed, so nothing is in its scope; give one:"
                f" crivello crawl URL -o {self.path}"
            )
        with self._lock():
            return compose.run(
                self.path, settings, stop=stop, on_progress=on_progress, fault=self._fault
            )

    def import_warcs(self, warcs: Iterable[str | Path], *, watch: Watch | None = None) -> Imported:
        """Take in the pages of WARC files, as if they had been fetched here.

        A capture (a URL at an instant) that the crawl holds is passed over, so an import that was
        killed is simply run again.

        >>> crivello.open("docs.crivello").import_warcs(["old.warc.gz"]).pages  # doctest: +SKIP
        1200
        """
        paths = readable(warcs)
        with self._lock():
            return compose.import_(
                self.path, self.settings, paths, watch or Watch(), fault=self._fault
            )

    def _lock(self) -> CrawlLock:
        directory = self.path / AGENT
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{directory}: cannot be made: {error.strerror}") from None
        return CrawlLock(directory / "lock")

    def sql(self, query: str) -> Rows:
        """Ask the tables `urls`, `pages`, `links`, `robots`, `clusters` in DuckDB's SQL."""
        with Snapshot.open(self.path) as snapshot:
            return snapshot.sql(query)

    def search(self, query: str | Query, k: int = 10, *, offset: int = 0) -> Results:
        """The `k` best pages for a query, after the `offset` best ones.

        >>> for hit in crivello.open("docs.crivello").search("sieve -java"):   # doctest: +SKIP
        ...     print(hit.url, hit.snippet)
        """
        if self._searcher is None:
            from crivello.search import Searcher

            self._searcher = Searcher.open(self.path)
        return self._searcher.search(query, k, offset=offset)

    def get(self, url: str) -> Capture:
        """The latest visit of a URL, with its bytes; `crivello.Error` when there is none."""
        wanted = capture.checked(url)
        with Snapshot.open(self.path) as snapshot:
            page = capture.find(snapshot, wanted)
        if page is None:
            raise Error(
                f"{self.path}: holds no page of {wanted}; `crivello why {self.path} {wanted}`"
                " says what is known of it"
            )
        return page

    def why(self, url: str) -> Why:
        """What became of a URL, how it was found, and which rule decided."""
        from crivello.crawl.why import explain

        return explain(self, url)

    @property
    def pages(self) -> TableView:
        """The table `pages`."""
        return TableView(self.path, "pages")

    @property
    def urls(self) -> TableView:
        """The table `urls`."""
        return TableView(self.path, "urls")

    @property
    def links(self) -> TableView:
        """The table `links`."""
        return TableView(self.path, "links")

    def status(self) -> dict[str, Any]:
        """What the crawl last said of itself, whether it runs or not."""
        return read_status(self.path)


@dataclass(frozen=True)
class TableView:
    """A table of a crawl as it was at the last checkpoint."""

    path: Path
    name: str

    def sql(self, query: str) -> Rows:
        """Ask it in SQL, by its name."""
        with Snapshot.open(self.path) as snapshot:
            return snapshot.sql(query)

    def to_arrow(self) -> pa.Table:
        """All of it, in memory."""
        with Snapshot.open(self.path) as snapshot:
            return snapshot.table(self.name)

    def __len__(self) -> int:
        with Snapshot.open(self.path) as snapshot:
            return snapshot.count(self.name)


def open_crawl(path: str | Path) -> Crawl:
    """Open the crawl in a directory; an error when there is none."""
    if not (Path(path) / FILE).exists():
        raise UsageError(f"{path}: is not a crawl (it holds no {FILE})")
    return Crawl(path)


def import_warcs(
    path: str | Path,
    warcs: Iterable[str | Path],
    *,
    watch: Watch | None = None,
    **options: Unpack[Options],
) -> Imported:
    """Import WARC files into the crawl in a directory, which is made if it is not there.

    >>> crivello.import_warcs("old.crivello", ["old.warc.gz"]).pages  # doctest: +SKIP
    1200
    """
    paths = readable(warcs)
    return Crawl(path, seedless=True, **options).import_warcs(paths, watch=watch)


def _refuse_foreign(path: Path) -> None:
    if path.is_dir():
        try:
            # A draft of the settings alone is what a crawl leaves that died in its first moment.
            if any(entry.name != f"{FILE}.new" for entry in path.iterdir()):
                raise UsageError(
                    f"{path}: exists, is not empty and is not a crawl; choose another directory"
                )
        except PermissionError:
            raise UsageError(f"{path}: cannot be read: Permission denied") from None
    elif path.exists():
        raise UsageError(f"{path}: is a file; a crawl needs a directory")
    elif not path.absolute().parent.is_dir():
        raise UsageError(f"{path.absolute().parent}: there is no such directory")


def _require_identity(settings: Settings) -> None:
    seed = stranger(settings.crawl.seeds, settings.fetch.resolve)
    if seed is not None and settings.fetch.contact is None:
        raise UsageError(
            f"{seed} is not a local host: tell its webmaster who is crawling, with"
            " --agent-name NAME and --contact URL_OR_MAIL"
        )


def _require_memory(settings: Settings) -> None:
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if settings.memory.total > installed:
        raise UsageError(
            f"memory.total is {human_size(settings.memory.total)}, but this machine has"
            f" {human_size(installed)}: give less with --memory"
        )


def _changed(old: Settings, new: Settings) -> list[str]:
    from crivello.config import keys

    return [key for key in keys() if old[key] != new[key]]
