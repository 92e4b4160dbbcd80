"""What the pages and the API read: one crawl, as it is at the moment of each request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crivello.config import FILE, Settings
from crivello.crawl.status import AGENT, read_status
from crivello.errors import Error, UsageError
from crivello.index import state
from crivello.search import Results, Searcher
from crivello.web.overview import Overview, Overviews
from crivello.web.record import Record, read_record

MAX_QUERY = 1_000
"""Characters of a query."""
MAX_URL = 4_096
MAX_DEPTH = 1_000
"""Results beyond these are not shown: who wants more asks more closely."""


class NotYetError(Error):
    """What was asked for is not there yet; the text says how it comes about."""


class NotHereError(Error):
    """A URL that the crawl does not know."""


class Library:
    """The crawl in a directory, for readers. Shared by threads."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._searcher = Searcher(directory)
        self._overviews = Overviews(directory)

    @property
    def name(self) -> str:
        """What the crawl is called: its directory's name."""
        return self.directory.absolute().name

    def index(self) -> state.Index | None:
        """The index; None when there is none yet."""
        return state.read(self.directory)

    def search(self, query: str, *, k: int, offset: int) -> Results:
        """The `k` best pages after the `offset` best ones."""
        if len(query) > MAX_QUERY:
            raise UsageError(
                f"query: has {len(query):,} characters; allowed are {MAX_QUERY:,}, so shorten it"
            )
        if self.index() is None:
            raise NotYetError(str(state.none_yet(self.directory)))
        return self._searcher.search(query, k, offset=offset)

    def status(self) -> dict[str, Any]:
        """What `crivello status --json` prints."""
        try:
            return read_status(self.directory)
        except UsageError as error:
            raise NotYetError(str(error)) from None

    def overview(self, status: dict[str, Any]) -> Overview:
        """What the tables say of the crawl whose status this is."""
        return self._overviews.latest(status)

    def settings(self) -> Settings:
        """How it crawls."""
        return Settings.load(self.directory / FILE)

    def record(self, url: str) -> Record:
        """What is stored of a URL."""
        if len(url) > MAX_URL:
            raise UsageError(f"url: has {len(url):,} characters; allowed are {MAX_URL:,}")
        try:
            found = read_record(self.directory, url)
        except ValueError as error:
            raise UsageError(f"url: {error}") from None
        if found is None:
            raise NotHereError(f"{url}: this crawl has not met this URL, as of its last checkpoint")
        return found

    def is_there(self) -> bool:
        """Whether the directory still holds the crawl."""
        return (self.directory / FILE).is_file()

    def archive(self, file: str, visit: int) -> str:
        """Where a WARC file lies, by the visit that it holds, below the crawl's directory."""
        return f"{AGENT.rpartition('/')[0]}/{visit >> 48}/warc/{file}"
