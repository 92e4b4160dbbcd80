"""How facts are shown: the templates, and the words and drawings that they use.

Templates escape all that they are given. What comes from pages and becomes an attribute with a
meaning of its own (`href`, `lang`) passes a function here that lets through only what is harmless.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from crivello import __version__
from crivello.units import human_size, human_time
from crivello.url import split

HERE = Path(__file__).parent
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def environment() -> Environment:
    """The templates, ready to render."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "crumbs": crumbs,
        "weblink": weblink,
        "language": language,
        "plain": plain,
        "size": human_size,
        "span": human_time,
        "moment": moment,
        "day": day,
        "iso": iso,
        "ago": ago,
        "count": "{:,}".format,
        "rate": "{:,.1f}".format,
        "byname": byname,
    }
    made.globals |= {"version": __version__, "address": address}
    return made


def address(path: str, **parameters: object) -> str:
    """A URL of these pages."""
    given = {name: value for name, value in parameters.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def weblink(url: str) -> str | None:
    """The URL if it may become a link: http and https only."""
    return url if re.match(r"https?://[^\s]", url, re.IGNORECASE) else None


def language(tag: str | None) -> str:
    """The tag of a language if it looks like one, for the attribute `lang`."""
    return tag if tag and _LANGUAGE.fullmatch(tag) else ""


def plain(text: str | None) -> str:
    """A line of text without control characters, which could turn around what stands beside it.

    >>> plain("a\\u202eb\\nc")
    'a b c'
    """
    return " ".join(_CONTROL.sub(" ", text or "").split())


def crumbs(url: str) -> list[str]:
    """A URL in parts for reading: the host, then the path's segments and the query.

    >>> crumbs("http://example.org/a%20b/c.html?q=1")
    ['example.org', 'a b', 'c.html?q=1']
    """
    try:
        parts = split(url)
    except ValueError:
        return [plain(url)]
    path, question, query = parts.target.partition("?")
    segments = [plain(unquote(segment)) for segment in path.split("/") if segment]
    if question:
        tail = segments.pop() if segments else ""
        segments.append(f"{tail}?{plain(unquote(query))}")
    return [parts.authority, *segments]


def iso(moment: datetime | int) -> str:
    """A time for machines."""
    return f"{_datetime(moment):%Y-%m-%dT%H:%M:%SZ}"


def moment(moment: datetime | int) -> str:
    """A time for reading."""
    return f"{_datetime(moment):%Y-%m-%d %H:%M:%S} UTC"


def day(moment: datetime | int) -> str:
    """A date for reading.

    >>> day(0)
    '1 Jan 1970'
    """
    found = _datetime(moment)
    return f"{found.day} {found:%b %Y}"


def ago(microseconds: int) -> str:
    """How long ago it was."""
    return f"{human_time(max(0.0, time.time() - microseconds / 1e6))} ago"


def byname(numbers: dict[str, int]) -> list[tuple[str, int]]:
    """Counts that are not zero, the largest first."""
    found = [(name, count) for name, count in numbers.items() if count]
    return sorted(found, key=lambda item: (-item[1], item[0]))


def _datetime(moment: datetime | int) -> datetime:
    if isinstance(moment, int):
        return datetime.fromtimestamp(moment / 1e6, UTC)
    return moment.astimezone(UTC)
