"""URLs: one documented identity.

Two URLs are the same page when their WHATWG serialisations are, without fragment and userinfo;
nothing else is changed. `url_hash` (xxh3-64 of that form) names a URL in all tables.
"""

from __future__ import annotations

from typing import NamedTuple

from crivello import _native
from crivello._native import Scope

__all__ = ["Parts", "Scope", "domain", "normalise", "split", "url_hash"]


class Parts(NamedTuple):
    """The components of a normalised URL."""

    scheme: str
    host: str
    authority: str
    port: int
    target: str

    @property
    def origin(self) -> str:
        """What a robots.txt and a connection belong to."""
        return f"{self.scheme}://{self.authority}"

    @property
    def domain(self) -> str:
        """The registrable domain of the host."""
        return domain(self.host)


def normalise(url: str, base: str | None = None) -> str:
    """The URL in normal form, joined to a base if there is one.

    ValueError, with the reason, when it is not an http or https URL that can be asked for.

    >>> normalise("HTTP://Example.ORG:80/a/../b?q=é#top")
    'http://example.org/b?q=%C3%A9'
    >>> normalise("../c", base="http://example.org/a/b/")
    'http://example.org/a/c'
    """
    return _native.normalise(url, base)


def url_hash(url: str) -> int:
    """The 64-bit name of the URL in all tables; the URL is normalised first.

    >>> f"{url_hash('http://example.org'):016x}" == f"{url_hash('http://example.org/#x'):016x}"
    True
    """
    return _native.url_hash(url)


def split(url: str) -> Parts:
    """The components of the URL, normalised.

    >>> split("https://example.org:8080/a?b").authority
    'example.org:8080'
    """
    return Parts(*_native.url_parts(url))


def domain(host: str) -> str:
    """The registrable domain of a host by the public suffix list; IP addresses are their own.

    >>> domain("www.example.co.uk")
    'example.co.uk'
    """
    return _native.domain(host)
