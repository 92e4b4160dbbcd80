"""Crawling: the crawl in a directory, and the agent's loop that drives the kernels."""

from __future__ import annotations

from crivello.crawl.crawl import Crawl, Options, Summary, open_crawl
from crivello.crawl.status import Status, read_status

__all__ = ["Crawl", "Options", "Status", "Summary", "open_crawl", "read_status"]
