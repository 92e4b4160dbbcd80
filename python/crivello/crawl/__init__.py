"""Crawling: the crawl in a directory, and the agent's loop that drives the kernels."""

from __future__ import annotations

from crivello.crawl.crawl import Crawl, Options, Summary, import_warcs, open_crawl
from crivello.crawl.importer import Imported, Watch
from crivello.crawl.status import Status, read_status

__all__ = [
    "Crawl",
    "Imported",
    "Options",
    "Status",
    "Summary",
    "Watch",
    "import_warcs",
    "open_crawl",
    "read_status",
]
