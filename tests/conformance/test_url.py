"""The WHATWG suite, seen through the identity of URLs: http(s), no fragment, no userinfo."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import pyarrow as pa
import pytest

import crivello.fetch.robots
import crivello.url
from crivello import _native
from crivello.url import Scope, domain, normalise, split, url_hash

DATA = Path(__file__).parents[1] / "data"
SUITE = json.loads((DATA / "url-wpt" / "urltestdata.json").read_text(encoding="utf-8"))
CASES = [case for case in SUITE if isinstance(case, dict)]

# Bases that are not http(s) cannot be those of a page that was fetched.
WEB = [
    case
    for case in CASES
    if case.get("base") is None or case["base"].lower().startswith(("http:", "https:"))
]


def expected(case: dict) -> str | None:
    """The suite's serialisation without fragment and userinfo; None when it is refused."""
    if case.get("failure") or case["protocol"] not in {"http:", "https:"}:
        return None
    query = case["search"]
    if not query and case["href"].split("#")[0].endswith("?"):
        query = "?"
    return f"{case['protocol']}//{case['host']}{case['pathname']}{query}"


def got(case: dict) -> str | None:
    try:
        return normalise(case["input"], case.get("base"))
    except ValueError:
        return None


def well_formed(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def test_the_suite_is_there():
    assert len(CASES) > 850
    assert len(WEB) > 600


@pytest.mark.parametrize("case", WEB, ids=lambda case: repr(case["input"])[:60])
def test_urls_are_parsed_as_the_web_platform_does(case):
    if not well_formed(case["input"]):
        pytest.skip("a lone surrogate is no text in Python's UTF-8")
    assert got(case) == expected(case)


def test_a_normal_form_is_its_own():
    for case in WEB:
        if well_formed(case["input"]) and (url := got(case)):
            assert normalise(url) == url
            parts = split(url)
            assert parts.origin + parts.target == url


def test_a_batch_is_parsed_as_its_urls_are():
    base = "http://example.org/foo/bar"
    links = [case["input"] for case in CASES if well_formed(case["input"])]
    for given in (base, None):
        batch = _native.normalise_batch(pa.record_batch({"url": links}), given)
        table = pa.record_batch(batch)
        singles = [got({"input": link, "base": given}) for link in links]
        assert table.column("url").to_pylist() == singles
        hashes = [url and url_hash(url) for url in singles]
        assert table.column("url_hash").to_pylist() == hashes


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mailto:a@example.org", "the URL's scheme is not http or https"),
        ("example.org", "not an absolute URL: it does not begin with http:// or https://"),
        ("http://", "the URL has no host"),
        ("http://a b/", "not a valid URL: its host or port is malformed"),
        ("http://a/" + "x" * 8192, "the URL is longer than 8192 bytes"),
    ],
)
def test_a_refusal_says_why_in_one_line(url, reason):
    with pytest.raises(ValueError, match=r"^[^\n]*$") as error:
        normalise(url)
    assert str(error.value).startswith(reason + ": ")


def test_identity_forgets_fragment_and_userinfo_and_nothing_else():
    assert url_hash("http://u:p@a.org/?b=2&a=1&a=1#top") == url_hash("http://a.org:80/?b=2&a=1&a=1")
    assert url_hash("http://a.org/?") != url_hash("http://a.org/")
    assert url_hash("http://a.org/A") != url_hash("http://a.org/a")
    assert url_hash("https://a.org/") != url_hash("http://a.org/")


def test_a_scope_is_asked_with_any_spelling():
    scope = Scope("host", ["HTTP://Example.org:80/a"])
    assert scope.kind == "host"
    assert scope.contains("https://example.ORG/b#c")
    assert not scope.contains("http://www.example.org/")
    assert scope.add("http://www.example.org/")
    assert scope.contains("http://www.example.org/x")
    with pytest.raises(ValueError, match='unknown scope "site": use page, prefix'):
        Scope("site", [])


def test_a_domain_may_be_asked_in_upper_case():
    assert domain("WWW.Example.CO.UK") == "example.co.uk"


@pytest.mark.parametrize("module", [crivello.url, crivello.fetch.robots])
def test_the_examples_of_the_documentation_run(module):
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0
