"""What a crawl of real sites must find, by a traversal that shares nothing with crivello.

Pages are read by lxml; where lexbor sees other references to follow, html5lib, which builds the
tree that the HTML standard prescribes, decides. URLs are joined by ada, requests sent by the
standard library, one after the other, breadth first.
"""

from __future__ import annotations

import http.client
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import ada_url
import html5lib
import lxml.html
import webencodings
from html5lib._inputstream import HTMLBinaryInputStream
from lxml.etree import ParserError
from selectolax.lexbor import LexborHTMLParser

FOLLOWED = ("a", "area", "iframe", "frame", "meta-refresh")
ANCHORS = FOLLOWED[:4]
LONGEST = 8192
SPACE = " \t\n\f\r"
STRIPPED = "".join(map(chr, range(33)))

XLINK = "{http://www.w3.org/1999/xlink}href"
FEEDS = ("application/rss+xml", "application/atom+xml", "application/feed+json")
OPEN_GRAPH = {
    **dict.fromkeys(["og:image", "og:image:url", "og:image:secure_url"], "img"),
    **dict.fromkeys(["og:video", "og:video:url", "og:audio", "og:audio:url", "og:url"], "link"),
}
PLAIN = {
    "a": [("a", "href")],
    "area": [("area", "href")],
    "iframe": [("iframe", "src")],
    "frame": [("frame", "src")],
    "img": [("img", "src"), ("link", "longdesc")],
    "script": [("script", "src")],
    "form": [("form", "action")],
    "object": [("link", "data")],
    "embed": [("link", "src")],
    "source": [("link", "src")],
    "track": [("link", "src")],
    "audio": [("link", "src")],
    "video": [("link", "src"), ("img", "poster")],
    "body": [("img", "background")],
    "td": [("img", "background")],
    "th": [("img", "background")],
    **{name: [("link", "cite")] for name in ("q", "ins", "del")},
}
REFRESH = re.compile(
    r"\s*(?:\d+|(?=\.))[\d.]*(?=[\s;,])\s*[;,]?\s*(?:url\s*=\s*)?"
    r"(?:\"([^\"]*)|'([^']*)|(.*))",
    re.I | re.S,
)
STYLE_URL = re.compile(r"(@import\s*)?url\(\s*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\s()\"']*))", re.I)
IMPORT = re.compile(r"@import\s*(?:\"([^\"\n]*)\"|'([^'\n]*)')", re.I)


@dataclass(frozen=True)
class Reading:
    """What a parser sees in a page: `references` are `(kind, target)` with targets resolved;
    those of the targets that may be followed are `followed`."""

    title: str
    references: set[tuple[str, str]]
    followed: set[str]


@dataclass(frozen=True)
class Answer:
    """What a URL gave; `judged` when html5lib had to decide what the page refers to."""

    status: int
    mime: str
    size: int
    depth: int
    judged: bool = False


def decoded(body: bytes) -> str:
    """A body as text: by its byte order mark or `meta` element, else windows-1252."""
    encoding = HTMLBinaryInputStream(body, useChardet=False).charEncoding[0]
    return str(webencodings.decode(body, encoding)[0])


def by_lxml(text: str) -> Any:  # noqa: ANN401 - an element of lxml
    """The tree that libxml2 makes of a page, or none of an empty one."""
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        return lxml.html.document_fromstring(text.encode(), parser=parser)
    except ParserError:
        return None


def by_html5lib(text: str) -> Any:  # noqa: ANN401 - an element of the standard library's trees
    """The tree that the standard prescribes."""
    return html5lib.parse(text, namespaceHTMLElements=False)


def resolve(base: str, href: str) -> str | None:
    """The http(s) URL that a reference leads to, without fragment and userinfo."""
    if len(href) > LONGEST:
        return None
    try:
        url = ada_url.join_url(base, href)
    except ValueError:
        return None
    match = re.match(r"(https?://)(?:[^/?#@]*@)?([^#]*)", url)
    found = match and match[1] + match[2]
    return found if found and len(found) <= LONGEST else None


def _style(text: str) -> Iterator[tuple[str, str]]:
    for match in STYLE_URL.finditer(text):
        yield ("css" if match[1] else "img"), match[2] or match[3] or match[4] or ""
    for match in IMPORT.finditer(text):
        yield "css", match[1] or match[2] or ""


def _link(element: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - of either library
    types = element.get("rel", "").lower().split()
    if not types or {"dns-prefetch", "preconnect", "pingback"}.intersection(types):
        return
    media = element.get("type", "").strip(SPACE).lower()
    if "stylesheet" in types:
        kind = "css"
    elif "sitemap" in types:
        kind = "sitemap"
    elif "feed" in types or ("alternate" in types and media.startswith(FEEDS)):
        kind = "feed"
    else:
        kind = "link"
    yield kind, element.get("href", "")


def _meta(element: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - of either library
    content = element.get("content", "")
    if element.get("http-equiv", "").strip(SPACE).lower() == "refresh":
        if match := REFRESH.fullmatch(content):
            yield "meta-refresh", match[1] or match[2] or match[3] or ""
    elif kind := OPEN_GRAPH.get(element.get("property", "").strip(SPACE).lower()):
        yield kind, content


def _images(element: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - of either library
    for candidate in element.get("srcset", "").split(","):
        yield "img", candidate.strip(SPACE).split(" ")[0]


def _image_button(element: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - of either library
    if element.get("type", "").lower() == "image":
        yield "img", element.get("src", "")


READERS: dict[str, Callable[[Any], Iterator[tuple[str, str]]]] = {
    "link": _link,
    "meta": _meta,
    "img": _images,
    "source": _images,
    "input": _image_button,
    "style": lambda element: _style(element.text or ""),
}


def references(root: Any, *names: str) -> Iterator[tuple[str, str, bool]]:  # noqa: ANN401 - a tree
    """Kind, reference as written, and whether `rel` forbids to follow it; of all elements, or of
    those of some names."""
    lxml_tree = isinstance(root, lxml.html.HtmlElement)
    for element in root.iter(*names) if lxml_tree else root.iter():
        name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if not name or (names and name not in names):
            continue
        refused = "nofollow" in element.get("rel", "").lower().split()
        for kind, attribute in PLAIN.get(name, ()):
            value = element.get(attribute)
            yield kind, element.get(XLINK, "") if value is None else value, refused
        if reader := READERS.get(name):
            for kind, value in reader(element):
                yield kind, value, False
        if style := element.get("style"):
            for kind, value in _style(style):
                yield kind, value, False


def read(root: Any, url: str, *names: str) -> Reading:  # noqa: ANN401 - a tree of either library
    """What a tree holds, in all elements or in those of some names."""
    if root is None:
        return Reading("", set(), set())
    bases = (element.get("href") for element in root.iter("base"))
    href = next((href for href in bases if href is not None), "")
    base = (resolve(url, href) if href else None) or url
    robots = " ".join(
        element.get("content", "").lower()
        for element in root.iter("meta")
        if element.get("name", "").lower() == "robots"
    )
    obeyed = {"nofollow", "none"}.isdisjoint(re.split(r"[\s,]+", robots))
    reading = Reading(title_of(root), set(), set())
    joined: dict[str, str | None] = {}
    for kind, raw, refused in references(root, *names):
        reference = raw.strip(STRIPPED)
        if not reference:
            continue
        if reference not in joined:
            joined[reference] = resolve(base, reference)
        if target := joined[reference]:
            reading.references.add((kind, target))
            if kind in FOLLOWED and obeyed and not refused:
                reading.followed.add(target)
    return reading


def title_of(root: Any) -> str:  # noqa: ANN401 - a tree of either library
    """The text of the first title, as `document.title` gives it."""
    title = next(iter(root.iter("title")), None)
    return (
        "" if title is None else re.sub(f"[{SPACE}]+", " ", "".join(title.itertext())).strip(SPACE)
    )


def judged(text: str) -> tuple[Any, bool]:
    """The tree to believe, and whether html5lib had to decide."""
    tree = by_lxml(text)
    seen = set() if tree is None else {raw for _, raw, _ in references(tree, *ANCHORS)}
    nodes = LexborHTMLParser(text).css("a[href],area[href],iframe[src],frame[src]")
    others = {node.attributes.get("href" if node.tag[0] == "a" else "src") for node in nodes}
    same = {raw.strip(STRIPPED) for raw in seen} - {""} == {
        (raw or "").strip(STRIPPED) for raw in others
    } - {""}
    return (tree, False) if same else (by_html5lib(text), True)


class Client:
    """Gets URLs of any host from one server on loopback."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def get(self, url: str) -> tuple[int, str, str, bytes]:
        """Status, media type, Location and body."""
        parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        self._connection.request("GET", path, headers={"Host": parts.netloc})
        answer = self._connection.getresponse()
        body = answer.read()
        mime = answer.headers.get("Content-Type", "").split(";")[0]
        return answer.status, mime, answer.headers.get("Location", ""), body


def traverse(
    seed: str,
    port: int,
    inside: Callable[[str], bool],
    *,
    elements: tuple[str, ...] = (*ANCHORS, "meta"),
) -> dict[str, Answer]:
    """Every URL inside that links in such elements lead to from the seed, and what it gave."""
    client = Client(port)
    found: dict[str, Answer] = {}
    waiting, known = deque([(seed, 0)]), {seed}
    while waiting:
        url, depth = waiting.popleft()
        status, mime, location, body = client.get(url)
        targets: set[str] = set()
        unsure = False
        if 300 <= status < 400 and location:
            target = resolve(url, location)
            targets = {target} if target else set()
        elif status == 200 and mime in ("text/html", "application/xhtml+xml"):
            tree, unsure = judged(decoded(body))
            targets = read(tree, url, *elements).followed
        found[url] = Answer(status, mime, len(body), depth, unsure)
        for target in sorted(targets - known):
            if inside(target):
                known.add(target)
                waiting.append((target, depth if 300 <= status < 400 else depth + 1))
    return found
