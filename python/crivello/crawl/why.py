"""Why a URL is, or is not, in a crawl: its state, the way to it, and the rule that decided."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from crivello._native import Scope
from crivello.fetch.robots import Robots
from crivello.store import Snapshot, capture
from crivello.url import split, url_hash

if TYPE_CHECKING:
    from crivello.crawl.crawl import Crawl
    from crivello.store import Capture

LONGEST_CHAIN = 1000
SHOWN = 5
NOFOLLOW = 2

ERRORS = {
    "robots": "robots.txt forbids it",
    "robots-unreachable": "robots.txt cannot be had, so nothing may be asked there",
    "private": "its address is of a private network; --allow-private lets it through",
    "identity": "a public server may not be asked without --agent-name and --contact",
    "dns": "its name has no address",
    "connect": "the server takes no connection",
    "tls": "there is no secure connection to be had",
    "timeout": "the server was silent too long",
    "reset": "the connection broke before the answer",
    "protocol": "what the server sent is not HTTP",
    "too-large": "the head of the answer is too large",
    "host-dead": "its host was given up after too many failures",
    "bad-redirect": "it redirects to what is no URL",
    "panic": "crivello failed at reading the page, which is an error of crivello",
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """A page on the way from a seed."""

    url: str
    depth: int | None
    """None: a robots.txt, which named a sitemap."""
    link: str
    """How the page before leads here: `seed`, `imported`, or the kind of link."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What the robots.txt of the URL's origin says of it."""

    robots: str
    fetched_at: datetime
    status: int | None
    allowed: bool
    line: int | None
    """The deciding line, from 1; None when no line speaks of the URL."""
    text: str


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A link to the URL, and why it was not followed (empty: it was, or would be)."""

    page: str
    kind: str
    anchor: str
    not_followed: str


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A page with the same text, or nearly."""

    url: str
    kind: str
    distance: int


@dataclass(frozen=True, kw_only=True)
class Why:
    """What is known of a URL.

    >>> print(crivello.open("docs.crivello").why("http://h/private/").reason)  # doctest: +SKIP
    robots.txt forbids it: line 2, "Disallow: /private/"
    """

    url: str
    state: str
    """`queued`, `stored`, `redirect`, `failed`, `denied`; not admitted are `refused` (a page links
    to it) and `never seen`."""
    reason: str
    in_scope: bool
    scope: str
    chain: list[Step]
    """From a seed to the URL; empty when it was not admitted."""
    admitted_at: datetime | None
    page: Capture | None
    """The latest visit."""
    robots: Rule | None
    linked_from: list[Mention]
    """Some of the links to it."""
    duplicate_of: Copy | None
    copies: list[Copy]
    """Pages that were marked as duplicates of it."""


def explain(crawl: Crawl, url: str) -> Why:
    """Look a URL up in everything that the last checkpoint holds."""
    wanted = capture.checked(url)
    with Snapshot.open(crawl.path) as snapshot:
        return _Inquiry(crawl, snapshot, wanted).answer()


class _Inquiry:
    def __init__(self, crawl: Crawl, snapshot: Snapshot, url: str) -> None:
        self.settings = crawl.settings
        self.snapshot = snapshot
        self.url = url
        self.scope = Scope(self.settings.crawl.scope, list(self.settings.crawl.seeds))
        for state in snapshot.checkpoints:
            for moved in state.get("counters", {}).get("moved_seeds", ()):
                self.scope.add(moved)

    def answer(self) -> Why:
        admitted = self._rows(
            "select url, depth, from_hash, from_url, state, admitted_at from urls"
            f" where url_hash = {url_hash(self.url)}"
        )
        page = capture.find(self.snapshot, self.url) if admitted else None
        robots = self._robots(page)
        mentions = self._mentions()
        in_scope = self.scope.contains(self.url)
        if admitted:
            state, reason = _outcome(page, robots)
        else:
            state, reason = self._not_admitted(mentions, robots, in_scope)
        return Why(
            url=self.url,
            state=state,
            reason=reason,
            in_scope=in_scope,
            scope=self.settings.crawl.scope,
            chain=self._chain(admitted[0]) if admitted else [],
            admitted_at=admitted[0]["admitted_at"] if admitted else None,
            page=page,
            robots=robots,
            linked_from=mentions,
            duplicate_of=next(iter(self._clusters("url_hash", "duplicate_of")), None),
            copies=self._clusters("duplicate_of", "url_hash"),
        )

    def _rows(self, query: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.snapshot.sql(query).to_arrow().to_pylist()
        return rows

    def _chain(self, admitted: dict[str, Any]) -> list[Step]:
        """The pages by which it was found, each admitted before the one it led to."""
        chain: list[Step] = []
        here = admitted
        while True:
            seed = "imported" if here["state"] == "imported" else "seed"
            link = self._link(here) if here["from_url"] else seed
            chain.append(Step(url=here["url"], depth=here["depth"], link=link))
            if not here["from_url"] or len(chain) >= LONGEST_CHAIN:
                break
            before = self._rows(
                "select url, depth, from_hash, from_url, state from urls"
                f" where url_hash = {here['from_hash']}"
            )
            if not before:
                chain.append(Step(url=here["from_url"], depth=None, link="robots.txt"))
                break
            here = before[0]
        return chain[::-1]

    def _link(self, here: dict[str, Any]) -> str:
        kinds = self._rows(
            f"select kind from links where src_hash = {here['from_hash']}"
            f" and dst_hash = {url_hash(here['url'])} limit 1"
        )
        if kinds:
            return str(kinds[0]["kind"])
        if here["from_url"].endswith("/robots.txt"):
            return "sitemap"
        return "redirect" if "links" in self.settings.store.keep else "link"

    def _robots(self, page: Capture | None) -> Rule | None:
        """The file that was in force at the visit, else the latest."""
        parts = split(self.url)
        rows = self._rows(
            "select fetched_at, status, body from robots"
            f" where host = {_quoted(parts.authority)} and origin = {_quoted(parts.origin)}"
            " order by fetched_at"
        )
        if not rows:
            return None
        before = [row for row in rows if page is None or row["fetched_at"] <= page.fetched_at]
        row = (before or rows)[-1]
        agent, body = self.settings.fetch.agent_name, row["body"] or b""
        robots = Robots.for_status(row["status"], body)
        line, text = None, ""
        if row["status"] is not None and 200 <= row["status"] < 300:
            found = robots.deciding_line(agent, self.url)
            if found is not None:
                line = found[0]
                lines = re.split(rb"\r\n|\r|\n", body)
                text = lines[line - 1].strip(b" \t\xef\xbb\xbf").decode("utf-8", "replace")
        return Rule(
            robots=f"{parts.origin}/robots.txt",
            fetched_at=row["fetched_at"],
            status=row["status"],
            allowed=robots.allowed(agent, self.url),
            line=line,
            text=text,
        )

    def _mentions(self) -> list[Mention]:
        rows = self._rows(
            "select u.url, u.depth, l.kind, l.rel, min(l.anchor) as anchor, p.robots_flags"
            " from links l join urls u on u.url_hash = l.src_hash"
            " left join pages p on p.url_hash = l.src_hash"
            f" where l.dst_hash = {url_hash(self.url)}"
            f" group by all order by u.depth, u.url, l.kind, l.rel limit {SHOWN}"
        )
        return [
            Mention(
                page=row["url"],
                kind=row["kind"],
                anchor=row["anchor"] or "",
                not_followed=self._not_followed(row),
            )
            for row in rows
        ]

    def _not_followed(self, link: dict[str, Any]) -> str:
        deepest = self.settings.crawl.max_depth
        if not self.scope.contains(self.url):
            return f"it is outside the scope ({self.settings.crawl.scope})"
        if link["kind"] not in self.settings.page.follow:
            return f"links of kind {link['kind']} are not followed"
        if "nofollow" in (link["rel"] or "").split():
            return "the link says nofollow"
        if (link["robots_flags"] or 0) & NOFOLLOW:
            return "the page says nofollow"
        if deepest is not None and link["depth"] >= deepest:
            return f"the page is {link['depth']} links deep, at the limit of max_depth"
        return ""

    def _not_admitted(
        self, mentions: list[Mention], robots: Rule | None, in_scope: bool
    ) -> tuple[str, str]:
        refused = [mention.not_followed for mention in mentions]
        if mentions and all(refused):
            return "refused", f"a page links to it, but {refused[0]}"
        if mentions:
            return "queued", "a page links to it; it is admitted when the crawl goes on"
        if not in_scope:
            return "never seen", f"outside the scope ({self.settings.crawl.scope})"
        if robots is not None and not robots.allowed:
            return "never seen", f"in scope, but {_forbidden(robots)}"
        return "never seen", "in scope, but no page fetched so far leads to it"

    def _clusters(self, key: str, other: str) -> list[Copy]:
        rows = self._rows(
            f"select u.url, c.kind, c.distance from clusters c join urls u"
            f" on u.url_hash = c.{other} where c.{key} = {url_hash(self.url)}"
            " and c.url_hash <> c.duplicate_of"
            f" order by u.url limit {SHOWN}"
        )
        return [Copy(**row) for row in rows]


def _outcome(page: Capture | None, robots: Rule | None) -> tuple[str, str]:
    if page is None:
        return "queued", "admitted, and waits for its visit"
    if page.status is None:
        error = page.error or "unknown"
        if error == "robots" and robots is not None and not robots.allowed:
            return "denied", _forbidden(robots)
        denied = error in ("robots", "robots-unreachable", "private", "identity")
        return "denied" if denied else "failed", ERRORS.get(error, error)
    if 200 <= page.status < 300 or page.status == 304:
        return "stored", f"the server answered {page.status}"
    if 300 <= page.status < 400:
        target = page["redirect_to"] or "nowhere"
        return "redirect", f"the server answered {page.status}: it is at {target}"
    return "failed", f"the server answered {page.status}"


def _forbidden(robots: Rule) -> str:
    if robots.line is not None:
        return f'robots.txt forbids it: line {robots.line}, "{robots.text}"'
    answer = "no answer" if robots.status is None else f"status {robots.status}"
    return f"robots.txt cannot be had ({answer}), so nothing may be asked there"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
