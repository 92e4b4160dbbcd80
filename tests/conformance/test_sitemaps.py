"""Sitemaps and feeds as crawler-commons reads them: the URLs that a crawler takes from each."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from crivello._native import parse_page
from crivello.url import normalise

DATA = Path(__file__).parents[1] / "data" / "sitemaps"
CASES: list[dict[str, Any]] = json.loads((DATA / "cases.json").read_text("utf-8"))

# Where we differ: what is read there, and why.
DIFFERENT = {
    "testPartialSitemapsAllowed": "a URL whose element is cut off may be cut off itself",
    "testSitemapXMLfilterUrls": "`www.example.com/` is no URL; a filter of the test makes it one",
    "testSitemapTXTfilterUrls": "the same, and text is a list only if each line is a URL",
    "testSitemapTXTWithWrongMimeType": "application/bogus is not text",
}
PERMANENT = "https://www.example.com/guid.html"  # stated to be no permanent link


def body(case: dict[str, Any]) -> bytes:
    if "file" in case:
        return (DATA / "files" / case["file"]).read_bytes()
    if "content_b64" in case:
        return base64.b64decode(case["content_b64"])
    return case["content"].encode()


def found(case: dict[str, Any]) -> set[str]:
    kind = "sitemap" if case.get("index") else "a"
    links = parse_page(body(case), case["content_type"]).links
    return {normalise(link.href, case["url"]) for link in links if link.kind == kind}


def test_the_suite_is_there():
    assert len(CASES) == 57
    assert {case["test"].split(".")[1] for case in CASES} >= DIFFERENT.keys()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["test"])
def test_the_urls_of_sitemaps_and_feeds_are_found(case):
    name = case["test"].split(".")[1]
    if "error" in case or name in DIFFERENT:
        assert not any("&" in url.split("?")[0] for url in found(case))  # no entity is a URL
        return
    expected = {normalise(entry["loc"]) for entry in case["entries"]} - {PERMANENT}
    got = found(case)
    assert expected <= got
    if case["type"] in {"RSS", "ATOM"}:  # their own sites and other forms are links too
        return
    if (
        case["strict"] and not case["index"]
    ):  # which URLs a sitemap may speak of is the scope's to say
        got = {url for url in got if url.startswith(urljoin(case["url"], "."))}
    assert got == expected
