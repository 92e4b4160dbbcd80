"""The public suites for HTML: html5lib's tokeniser, encodings and trees; meta robots; links."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

from crivello._native import parse_page, prescan, tokenise

DATA = Path(__file__).parent.parent / "data"
HTML5LIB = DATA / "html5lib"
STATES = {
    "Data state": "data",
    "RCDATA state": "rcdata",
    "RAWTEXT state": "rawtext",
    "Script data state": "script",
    "PLAINTEXT state": "plaintext",
    "CDATA section state": "cdata",
}


def unescape(text: str) -> str:
    """Resolves the `\\uXXXX` of tests that are escaped twice."""
    return re.sub(r"\\u([0-9A-Fa-f]{4})", lambda match: chr(int(match[1], 16)), text)


def unescaped(token: list[Any]) -> list[Any]:
    kind, *rest = token
    return [
        kind,
        *(
            unescape(part)
            if isinstance(part, str)
            else {unescape(name): unescape(value) for name, value in part.items()}
            if isinstance(part, dict)
            else part
            for part in rest
        ),
    ]


def comparable(tokens: list[Any]) -> list[Any]:
    """Joins neighbouring characters; of a document type only its being there counts."""
    result: list[Any] = []
    for kind, *rest in tokens:
        if kind == "Character" and result and result[-1][0] == "Character":
            result[-1] = ("Character", result[-1][1] + rest[0])
        elif kind == "DOCTYPE":
            result.append(("DOCTYPE",))
        elif kind == "StartTag":
            result.append((kind, rest[0], rest[1], len(rest) > 2 and bool(rest[2])))
        else:
            result.append((kind, *rest))
    return result


def surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


@pytest.mark.parametrize("suite", sorted(p.name for p in (HTML5LIB / "tokenizer").glob("*.test")))
def test_the_tokens_are_those_of_the_standard(suite: str) -> None:
    loaded = json.loads((HTML5LIB / "tokenizer" / suite).read_text("utf-8"))
    failed, ran = [], 0
    for case in loaded.get("tests", []):
        text, expected = case["input"], case["output"]
        if case.get("doubleEscaped"):
            text, expected = unescape(text), [unescaped(token) for token in expected]
        if surrogates(text):
            continue  # no Unicode text, so no input of ours
        for state in case.get("initialStates", ["Data state"]):
            ran += 1
            got = tokenise(text, STATES[state], case.get("lastStartTag", ""))
            if comparable(got) != comparable(expected):
                failed.append((case["description"], state, text, comparable(expected), got))
    assert not failed, failed[:5]
    assert ran or suite == "xmlViolation.test"  # that one asks for output fit for XML


def encoding_cases() -> Iterator[tuple[bytes, str]]:
    for path in sorted((HTML5LIB / "encoding").glob("*.dat")):
        for block in path.read_bytes().split(b"#data\n")[1:]:
            data, _, expected = block.partition(b"\n#encoding\n")
            yield data, expected.split(b"\n")[0].decode().lower()


def test_the_declared_encoding_is_found() -> None:
    aliases = {"iso8859-2": "iso-8859-2", "shift-jis": "shift_jis"}
    failed, ran = [], 0
    for data, expected in encoding_cases():
        found = parse_page(data, "text/html").charset.lower()
        if data.isascii() and found == "utf-8" and prescan(data) is None:
            found = "windows-1252"  # of ASCII alone we say UTF-8, where browsers have a default
        ran += 1
        if found != aliases.get(expected, expected):
            failed.append((data[:400], expected, found))
    assert ran == 82
    assert not failed, failed


def trees() -> Iterator[tuple[str, str, list[str]]]:
    """Documents that a parser without scripting reads whole: (file, data, lines of the tree)."""
    for path in sorted((HTML5LIB / "tree-construction").glob("*.dat")):
        text = path.read_text("utf-8", errors="surrogateescape")
        for block in re.split(r"(?:^|\n\n)#data\n", text)[1:]:
            if "\n#document-fragment\n" in block or "\n#script-on\n" in block:
                continue
            data = re.split(r"\n?#errors\n", block, maxsplit=1)[0]
            tree = block.split("#document\n", 1)[1]
            if not surrogates(data):
                yield path.name, data, tree.rstrip("\n").split("\n| ")


def references(tree: list[str]) -> set[tuple[str, str]]:
    """The `href` of `a` and `area` in a tree, the `src` of `img` and `iframe`."""
    wanted = {("a", "href"), ("area", "href"), ("img", "src"), ("iframe", "src")}
    found, element = set(), ""
    for line in tree:
        node = line.removeprefix("| ").strip()
        if match := re.fullmatch(r"<(\S+)>", node):
            element = match[1]
        elif (match := re.fullmatch(r'(\w+)="(.*)"', node)) and (element, match[1]) in wanted:
            found.add((element, match[2].strip()))
    return {pair for pair in found if pair[1]}


def test_the_links_are_those_of_the_tree() -> None:
    failed, ran = [], 0
    for name, data, tree in trees():
        page = parse_page(data.encode(), "text/html; charset=utf-8")
        expected = references(tree)
        kinds = ("a", "area", "img", "iframe")
        found = {(link.kind, link.href) for link in page.links if link.kind in kinds}
        ran += bool(expected)
        if found != expected:
            failed.append((name, data, expected, found))
    assert ran == 6
    assert not failed, failed


def visible(tree: list[str]) -> str:
    """The characters of a tree's text that a reader sees, white space apart, sorted."""
    hidden = {"script", "style", "title", "noframes", "iframe", "noembed"}
    hidden |= {"svg style", "svg script"}
    path: list[str] = []
    seen = ""
    for line in tree:
        node = line.removeprefix("| ")
        depth = (len(node) - len(node.lstrip(" "))) // 2
        node = node.lstrip(" ")
        if node.startswith('"') and not hidden.intersection(path[:depth]):
            seen += node[1:].rstrip("\n").removesuffix('"')
        elif node.startswith("<") and node.endswith(">") and not node.startswith("<!"):
            path[depth:] = [node[1:-1]]
    return "".join(sorted(c for c in seen if not c.isspace() and c != "\0"))


# Where text is lost or doubled by the tree alone, which we do not build.
TREE_ALONE = {
    "a frameset has no text": lambda data: "<frameset>" in data,
    "NUL in foreign text is U+FFFD": lambda data: "<svg>" in data and "\0" in data,
    "the selected option is shown twice": lambda data: "<selectedcontent>" in data,
    "a template of columns has no text": lambda data: "<template><col>" in data,
}


def test_the_text_is_that_of_the_tree() -> None:
    failed, excepted, ran = [], 0, 0
    for name, data, tree in trees():
        text = parse_page(data.encode(), "text/html; charset=utf-8").text
        found = "".join(sorted(c for c in text if not c.isspace()))
        ran += 1
        if found != visible(tree):
            if any(reason(data) for reason in TREE_ALONE.values()):
                excepted += 1
            else:
                failed.append((name, data, visible(tree), found))
    assert not failed, failed
    assert (ran, excepted) == (1592, 19)


def test_meta_robots() -> None:
    cases = json.loads((DATA / "meta-robots" / "cases.json").read_text("utf-8"))
    assert len(cases) == 9
    for case in cases:
        page = parse_page(case["html"].encode(), "text/html")
        got = (page.noindex, page.nofollow, bool(page.robots_flags & 64))
        assert got == (case["noindex"], case["nofollow"], case["nocache"]), case["html"]


# What an archiver guesses and a crawler does not: links written by scripts, and markup in
# comments that only one old browser reads.
SPECULATIVE = {
    "testSpeculativeLinkExtraction": "an address in a script",
    "testConditionalComment1": "markup in a comment",
}


def link_cases() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((DATA / "links" / "cases.json").read_text("utf-8"))[
        "html"
    ]
    return cases


@pytest.mark.parametrize("case", link_cases(), ids=lambda case: case["name"])
def test_links_of_archive_crawlers(case: dict[str, Any]) -> None:
    page = parse_page(case["html"].encode(), "text/html; charset=utf-8")
    base = urljoin(case["base"], page.base or "")
    links = [link for link in page.links if not (link.kind == "form" and link.rel == "post")]
    if case.get("meta_robots"):
        assert page.nofollow
        return
    if case.get("obey_rel_nofollow"):
        links = [link for link in links if "nofollow" not in link.rel.split()]
    found = {urljoin(base, link.href) for link in links}
    expected = {url if urlsplit(url).path else f"{url}/" for url in case["links"]}
    found = {url if urlsplit(url).path else f"{url}/" for url in found}
    if case["name"] in SPECULATIVE:
        assert not found & expected, SPECULATIVE[case["name"]]
    elif case.get("must_contain"):
        assert expected <= found
    else:
        assert found == expected


def test_links_of_scrapy_with_their_anchors() -> None:
    [case] = json.loads((DATA / "links" / "cases.json").read_text("utf-8"))["scrapy"]
    page = parse_page((DATA / "links" / case["file"]).read_bytes(), "text/html")
    found: dict[str, str] = {}
    for link in page.links:
        if link.kind in ("a", "area"):
            url = urljoin(urljoin(case["base"], page.base or ""), link.href).replace(" ", "%20")
            found.setdefault(url, link.anchor)
    expected = dict(case["links"])
    # Scrapy leaves out what stands for an image.
    expected["http://example.com/sample1.html"] = "sample1"
    expected["http://example.com/sample2.html"] = "sample 2 sample2"
    assert found == expected


def test_links_of_archived_pages() -> None:
    """The `a/@href` part of the pages in webarchive-commons' WARC file.

    Its records are split by hand, because some of their lengths are wrong.
    """
    files = {
        "html4.html": "html4links",
        "link-extraction-test-html5-video.html": "html5links",
        "poor_html5.html": "html5links2",
        "fb-video.html": "html5links2",
        "data-href.examples.html": "dataHrefLinks",
        "fb-social-plugins.html": "fbSocialLinks",
    }
    suite = json.loads((DATA / "links" / "cases.json").read_text("utf-8"))["warc_pages"]
    expected = {
        case["page"]: {href for href, place, *_ in case["links"] if place.upper() == "A@/HREF"}
        for case in suite
    }
    archive = (DATA / "links" / "link-extraction-test.warc").read_bytes()
    found: dict[str, set[str]] = {}
    for record in archive.split(b"WARC/1.0\r\n")[2:]:
        warc, _, response = record.partition(b"\r\n\r\n")
        target = re.search(rb"WARC-Target-URI: \S+/(\S+)", warc)
        name = files.get(target[1].decode()) if target else None
        if name is None:
            continue
        page = parse_page(response.partition(b"\r\n\r\n")[2], "text/html")
        found.setdefault(name, set()).update(link.href for link in page.links if link.kind == "a")
    assert found == {name: expected[name] for name in files.values()}
