"""robots.txt: what a site asks of its visitors.

RFC 9309 with the records that the web has added. The kernel is `crates/crawl/src/robots`;
`docs/robots.md` lists the decisions where published parsers disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import time
from typing import NamedTuple

from crivello import _native


class VisitTime(NamedTuple):
    """The part of the day, in UTC, in which visits are welcome; may pass midnight."""

    start: time
    end: time


class RequestRate(NamedTuple):
    """So many requests in so many seconds, perhaps only in a part of the day."""

    requests: int
    seconds: int
    window: VisitTime | None


class Robots:
    """A parsed robots.txt.

    >>> robots = Robots.parse(b"User-agent: *\\nDisallow: /private/\\nCrawl-delay: 2")
    >>> robots.allowed("crivello", "https://example.org/private/diary")
    False
    >>> robots.crawl_delay("crivello")
    2.0
    """

    def __init__(self, native: _native.Robots) -> None:
        self._native = native

    @classmethod
    def parse(cls, body: bytes) -> Robots:
        """Any bytes are a robots.txt: what cannot be understood is passed over."""
        return cls(_native.Robots.parse(body))

    @classmethod
    def for_status(cls, status: int | None, body: bytes = b"") -> Robots:
        """What the answer to the request for robots.txt means; None: there was no answer.

        >>> Robots.for_status(404).allowed("crivello", "http://example.org/")
        True
        >>> Robots.for_status(503).allowed("crivello", "http://example.org/")
        False
        """
        return cls(_native.Robots.for_status(status, body))

    def allowed(self, agent: str, url: str) -> bool:
        """May the agent ask for this URL of the site? ValueError if it is not an http(s) URL."""
        return self._native.allowed(agent, url)

    def deciding_line(self, agent: str, url: str) -> tuple[int, bool] | None:
        """The line (from 1) of the rule that decides, and whether it allows; None: no rule does.

        >>> Robots.parse(b"User-agent: *\\nDisallow: /a").deciding_line("crivello", "http://h/ab")
        (2, False)
        """
        return self._native.deciding(agent, url)

    def allowed_paths(self, agent: str, paths: Sequence[str]) -> list[bool]:
        """The same for many, given as path and query."""
        return self._native.allowed_paths(agent, paths)

    def crawl_delay(self, agent: str) -> float | None:
        """Seconds to leave between two requests."""
        return self._native.crawl_delay(agent)

    def request_rate(self, agent: str) -> RequestRate | None:
        """Requests per time."""
        rate = self._native.request_rate(agent)
        if rate is None:
            return None
        requests, seconds, window = rate
        return RequestRate(requests, seconds, window and _visit_time(window))

    def visit_time(self, agent: str) -> VisitTime | None:
        """When visits are welcome."""
        window = self._native.visit_time(agent)
        return window and _visit_time(window)

    @property
    def sitemaps(self) -> list[str]:
        """The sitemaps that the file names, as it spells them."""
        return self._native.sitemaps


def _visit_time(minutes: tuple[int, int]) -> VisitTime:
    start, end = (time(*divmod(minute, 60)) for minute in minutes)
    return VisitTime(start, end)


@dataclass(frozen=True)
class Remark:
    """What a linter has to say about a line."""

    line: int
    text: str


_IN_GROUP = {"allow", "disallow", "crawl-delay", "request-rate", "visit-time"}


def lint(body: bytes) -> Iterator[Remark]:
    """Remarks on a robots.txt, in the order of its lines; none for a file without slips.

    >>> [remark.text for remark in lint(b"User-agent: *\\nDisalow: /private/")]
    ['"Disalow" is understood as "disallow": correct the spelling']
    """
    if len(body) > _native.ROBOTS_MAX_BYTES:
        limit = _native.ROBOTS_MAX_BYTES
        yield Remark(1, f"the file has {len(body)} bytes: what is beyond {limit} is ignored")
    grouped = False
    lines = _native.robots_lines(body)
    for number, (kind, key, value, typo, no_colon, _) in enumerate(lines, start=1):
        if kind == "":
            if key:
                yield Remark(number, f'"{key}" is not a known record: the line is ignored')
            elif no_colon:
                yield Remark(number, "there is no record on this line: it is ignored")
            continue
        if typo:
            yield Remark(number, f'"{key}" is understood as "{kind}": correct the spelling')
        if no_colon:
            yield Remark(number, f'the colon after "{key}" is missing')
        if kind == "user-agent":
            grouped = True
            if not value:
                yield Remark(number, "the user-agent has no name: nobody is meant")
        elif kind in _IN_GROUP and not grouped:
            yield Remark(number, f'"{key}" comes before any user-agent: it is ignored')
        if kind in {"allow", "disallow"} and value and value[0] not in "/*$":
            yield Remark(number, f'the path "{value}" does not begin with "/": it never matches')
