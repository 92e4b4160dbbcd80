"""robots.txt as three published parsers test it; every disagreement has a name and a reason.

RFC 9309 decides. Where it is silent we follow Google's parser when that is harmless, and where
parsers contradict each other `docs/robots.md` states the choice.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import urljoin

import pytest

from crivello import _native
from crivello.fetch.robots import RequestRate, Robots, lint

DATA = Path(__file__).parents[1] / "data"


def load(suite: str):
    return json.loads((DATA / suite / "cases.json").read_text(encoding="utf-8"))


GOOGLE = load("robots-google")
COMMONS = load("robots-crawler-commons")
PROTEGO = load("robots-protego")


def decide(robots: Robots, agent: str, url: str) -> bool:
    """The kernel's decision; paths too long for a URL are asked for as paths."""
    if len(url) > 8192:
        return robots.allowed_paths(agent, ["/" + url.split("/", 3)[3]])[0]
    return robots.allowed(agent, url)


def name(case: dict) -> str:
    return f"{case.get('test')}-{case.get('url', '')[:40]}"


# --- google ------------------------------------------------------------------------------------


def google_exception(case: dict) -> str | None:
    """Why we decide otherwise than Google's parser, if we mean to."""
    if case["url"] == "":
        return "an empty string is no URL: ValueError instead of an answer"
    if case["user_agent"] == "Foo Bar":
        return "an agent is reduced to its product token, so Foo Bar asks as Foo"
    if case["test"] == "ID_Encoding" and case["url"].endswith("/ツ"):
        return "URLs are normalised before they are asked for, so escapes are made for the caller"
    if case["test"] == "ID_Encoding" and case["url"].endswith("/baz"):
        return "RFC 9309 2.2.2: escapes of unreserved characters are decoded before comparison"
    return None


@pytest.mark.parametrize("case", GOOGLE["allowed"], ids=name)
def test_google_decisions(case):
    robots = Robots.parse(case["robotstxt"].encode())
    reason = google_exception(case)
    if case["url"] == "":
        with pytest.raises(ValueError, match="not an absolute URL"):
            robots.allowed(case["user_agent"], case["url"])
    elif reason:
        assert decide(robots, case["user_agent"], case["url"]) is not case["allowed"], reason
    else:
        assert decide(robots, case["user_agent"], case["url"]) is case["allowed"]


@pytest.mark.parametrize("case", GOOGLE["sitemaps"])
def test_google_sitemaps(case):
    assert Robots.parse(case["robotstxt"].encode()).sitemaps == [case["sitemap"]]


@pytest.mark.parametrize("case", GOOGLE["line_counting"])
def test_google_lines(case):
    body = base64.b64decode(case["robotstxt_b64"])
    lines = _native.robots_lines(body)
    assert sum(kind != "" for kind, *_ in lines) == case["valid_directives"]
    if case["last_line_seen"]:
        assert len(lines) == case["last_line_seen"]
    if case["unknown_directives"] is not None:
        unknown = sum(kind == "" and key != "" for kind, key, *_ in lines)
        assert unknown == case["unknown_directives"]


def test_google_line_report():
    report = GOOGLE["line_report"]
    lines = _native.robots_lines(report["robotstxt"].encode())
    tags = {"UserAgent": "user-agent", "Allow": "allow", "Disallow": "disallow"}
    tags |= {"Sitemap": "sitemap"}
    assert sum(kind != "" for kind, *_ in lines) == report["valid_directives"]
    for line in report["lines"][: len(lines)]:
        kind, key, _, typo, _, comment = lines[line["line"] - 1]
        assert kind == tags.get(line["tag"], ""), line
        assert comment is line["has_comment"], line
        if kind:
            assert typo is line["typo"], line
        elif line["has_directive"]:
            assert key != "", line


# --- crawler-commons ---------------------------------------------------------------------------


def commons_body(case: dict) -> bytes:
    if "robotstxt_file" in case:
        return (DATA / "robots-crawler-commons" / "files" / case["robotstxt_file"]).read_bytes()
    if "robotstxt_b64" in case:
        return base64.b64decode(case["robotstxt_b64"])
    return case["robotstxt"].encode()


EXACT = [case for case in COMMONS["cases"] if case["exact_agent_match"]]


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case["test"])
def test_crawler_commons_decisions(case):
    robots = Robots.parse(commons_body(case))
    agent = case["agents"][0] if case["agents"] else "anybot"
    for url, allowed in case["urls"]:
        if url:  # an empty string is no URL
            assert decide(robots, agent, url) is allowed, url
    expect = case["expect"]
    if expect["crawl_delay_ms"] is not None:
        assert robots.crawl_delay(agent) == expect["crawl_delay_ms"] / 1000
    found = [urljoin("http://domain.com/robots.txt", sitemap) for sitemap in robots.sitemaps]
    if expect["sitemaps"]:
        assert found == expect["sitemaps"]


@pytest.mark.parametrize("case", COMMONS["failed_fetch"], ids=lambda case: str(case["status"]))
def test_crawler_commons_statuses(case):
    allowed = Robots.for_status(case["status"]).allowed("anybot", "http://example.org/x")
    if case["status"] == 301:
        # RFC 9309 2.3.1.2: after five redirects the file may be taken as unavailable.
        assert allowed
    elif case["status"] == 429:
        # "Slow down" is not "there is no file": Google's documentation excepts it likewise.
        assert not allowed
    else:
        assert allowed is case["allow_all"]
        assert allowed is not case["allow_none"]


# --- protego -----------------------------------------------------------------------------------


# (test, URL or None for all of the test, agent): why we decide otherwise
PROTEGO_EXCEPTIONS = {
    ("test_grouping_unknown_keys", None, "agent"): (
        "RFC 9309 2.2.4: other records do not end a group, so the rule is for * too"
    ),
    ("test_generosity", "http://foo.bar/myprofile", "foobot"): (
        "a product token has no wildcard: foo*bot is the token foo"
    ),
    ("test_special_symbols_dual_behaviour", "http://foo.bar/x/abc$", "FooBot"): (
        "a final $ is the end of the path, a literal one is written %24 (RFC 9309 2.2.3)"
    ),
    ("test_special_symbols_dual_behaviour", "http://foo.bar/x/abc%24", "FooBot"): (
        "a final $ is the end of the path, a literal one is written %24 (RFC 9309 2.2.3)"
    ),
    ("test_with_absolute_urls", "http://foo.bar/http://ms-web00.walkerplus.com/", "FooBot"): (
        "a pattern begins with / or *; one that does not never matches (as in Google's parser)"
    ),
    ("test_user_agent_precedence", "/group1", "hedwig-news2"): "product tokens match whole",
    ("test_user_agent_precedence", "/group2", "hedwig-new"): "product tokens match whole",
    ("test_user_agent_precedence", "/group3", "hedwig-new"): "product tokens match whole",
    ("test_user_agent_precedence", "/group2", "hedwig-images"): "product tokens match whole",
    ("test_user_agent_precedence", "/group3", "hedwig-images"): "product tokens match whole",
}


def protego_exception(case: dict) -> str | None:
    if case["op"] != "can_fetch":
        return None
    url, agent = case["args"]
    for key in ((case["test"], url, agent), (case["test"], None, agent)):
        if key in PROTEGO_EXCEPTIONS:
            return PROTEGO_EXCEPTIONS[key]
    return None


@pytest.mark.parametrize("case", PROTEGO, ids=lambda case: f"{case['test']}-{case['op']}")
def test_protego_answers(case):
    robots = Robots.parse(case["content"].encode())
    reason = protego_exception(case)
    match case["op"]:
        case "can_fetch":
            url, agent = case["args"]
            if url.startswith("ftp:"):
                with pytest.raises(ValueError, match="scheme"):
                    robots.allowed(agent, url)
                return
            allowed = robots.allowed(agent, urljoin("http://example.org/", url))
            assert (allowed is case["result"]) is (reason is None), reason
        case "crawl_delay":
            assert robots.crawl_delay(case["args"][0]) == case["result"]
        case "request_rate":
            assert rate(robots.request_rate(case["args"][0])) == case["result"]
        case "visit_time":
            window = robots.visit_time(case["args"][0])
            assert (window and [str(window.start), str(window.end)]) == case["result"]
        case "sitemaps":
            assert robots.sitemaps == case["result"]
        case "preferred_host":
            pytest.skip("Host is a record that no search engine obeys any more")
        case other:
            pytest.fail(f"unknown operation {other}")


def rate(given: RequestRate | None) -> list[str] | None:
    if given is None:
        return None
    start, end = given.window or (None, None)
    return [str(part) for part in (given.requests, given.seconds, start, end)]


# --- our own -----------------------------------------------------------------------------------


def test_the_suites_are_there():
    assert len(GOOGLE["allowed"]) == 145
    assert len(EXACT) > 80
    assert len(PROTEGO) == 400


def test_what_google_excepts_is_counted():
    excepted = [case for case in GOOGLE["allowed"] if google_exception(case)]
    assert len(excepted) <= 8


def test_robots_txt_itself_is_always_allowed():
    robots = Robots.for_status(None)
    assert robots.allowed("crivello", "http://example.org/robots.txt")
    assert not robots.allowed("crivello", "http://example.org/")


def test_many_paths_are_decided_as_one_by_one():
    robots = Robots.parse(b"User-agent: *\nDisallow: /a*b$\nAllow: /a/c")
    paths = ["/", "/ab", "/a/b", "/a/c", "/abc", "/robots.txt"]
    each = [robots.allowed("x", f"http://h{path}") for path in paths]
    assert robots.allowed_paths("x", paths) == each


def test_lint_names_each_slip_with_its_line():
    body = b"Disallow: /early\nUser-agent: *\nDisalow /x\nAllow: y\nwhatever\nHost: a\n# fine\n"
    assert [(remark.line, remark.text) for remark in lint(body)] == [
        (1, '"Disallow" comes before any user-agent: it is ignored'),
        (3, '"Disalow" is understood as "disallow": correct the spelling'),
        (3, 'the colon after "Disalow" is missing'),
        (4, 'the path "y" does not begin with "/": it never matches'),
        (5, "there is no record on this line: it is ignored"),
        (6, '"Host" is not a known record: the line is ignored'),
    ]
    assert list(lint(b"User-agent: *\nDisallow: /x\n")) == []
