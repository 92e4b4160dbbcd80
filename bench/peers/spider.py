"""Scrapy, with its own LinkExtractor or with links by selectolax.

python spider.py SEED DOMAIN CONNECTIONS linkextractor|selectolax
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor
from selectolax.lexbor import LexborHTMLParser

SETTINGS = {
    "COOKIES_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "LOG_LEVEL": "ERROR",
    "RETRY_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "TELNETCONSOLE_ENABLED": False,
}


class AsItComes(scrapy.Spider):
    """Links by LinkExtractor, known URLs dropped by Scrapy."""

    name = "linkextractor"
    domain = ""

    @cached_property
    def extractor(self) -> LinkExtractor:
        """Links within the domain (`allow_domains` takes no hosts with a port)."""
        return LinkExtractor(allow=rf"^http://[^/]*\.{re.escape(self.domain)}[:/]")

    def parse(self, response: Response, **_: Any) -> Iterator[scrapy.Request]:
        """Follow all links within the domain."""
        if isinstance(response, HtmlResponse):
            for link in self.extractor.extract_links(response):
                yield scrapy.Request(link.url)


class Selectolax(scrapy.Spider):
    """The cheapest spider one can write: known URLs are dropped before there is a request."""

    name = "selectolax"
    domain = ""

    @cached_property
    def seen(self) -> set[str]:
        """What has been asked for."""
        return set()

    def parse(self, response: Response, **_: Any) -> Iterator[scrapy.Request]:
        """Follow all links within the domain."""
        if not isinstance(response, HtmlResponse):
            return
        found = set()
        for node in LexborHTMLParser(response.body).css("a[href],area[href]"):
            try:
                found.add(urldefrag(urljoin(response.url, node.attributes["href"] or "")).url)
            except ValueError:
                continue
        for url in found - self.seen:
            parts = urlsplit(url)
            if parts.scheme == "http" and f".{parts.hostname}".endswith(f".{self.domain}"):
                self.seen.add(url)
                yield scrapy.Request(url, dont_filter=True)


def main(seed: str, domain: str, connections: int, mode: str) -> None:
    """Crawl until nothing is left."""
    spider = {"linkextractor": AsItComes, "selectolax": Selectolax}[mode]
    limits = ("CONCURRENT_REQUESTS", "CONCURRENT_REQUESTS_PER_DOMAIN")
    process = CrawlerProcess({**SETTINGS, **dict.fromkeys(limits, connections)})
    process.crawl(spider, start_urls=[seed], domain=domain)
    process.start()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
