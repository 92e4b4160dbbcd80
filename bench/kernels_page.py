"""How fast is a page read: its links and text, and its simhash?

    python -m bench kernels_page [DIRECTORY] [--pages 2000]

One thread, UTF-8 in memory, decoded input. Ours is measured in Rust (`examples/page_throughput.rs`,
best of five) on the same pages; the others from Python, where their own time dominates.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import lxml.html
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree
from selectolax.lexbor import LexborHTMLParser
from simhash import Simhash

from bench._figures import Figures, rate
from bench._pages import corpus, sample
from crivello._native import parse_page, simhash

REPEATS = 5
ROOT = Path(__file__).parent.parent
ANCHOR = re.compile(rb"<a\s[^>]*?href\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))", re.I)
UTF8 = lxml.html.HTMLParser(encoding="utf-8")


def by_regex(page: bytes) -> object:
    return ANCHOR.findall(page)


def by_selectolax(page: bytes) -> object:
    return [a.attributes.get("href") for a in LexborHTMLParser(page).css("a[href],area[href]")]


def by_selectolax_with_text(page: bytes) -> object:
    parser = LexborHTMLParser(page)
    links = [a.attributes.get("href") for a in parser.css("a[href],area[href]")]
    parser.strip_tags(["script", "style"])
    return links, parser.body.text(separator=" ") if parser.body else ""


def by_lxml(page: bytes) -> object:
    tree = lxml.html.document_fromstring(page, parser=UTF8)
    links = tree.xpath("//a/@href|//area/@href")
    for element in tree.xpath("//script|//style"):
        element.drop_tree()
    return links, tree.text_content()


def by_resiliparse(page: bytes) -> object:
    tree = HTMLTree.parse_from_bytes(page, "utf-8")
    anchors = tree.document.query_selector_all("a[href],area[href]")[:]
    return [a.getattr("href") for a in anchors], extract_plain_text(tree, main_content=False)


PEERS: dict[str, Callable[[bytes], object]] = {
    "selectolax, links + text": by_selectolax_with_text,
    "selectolax, links": by_selectolax,
    "lxml, links + text": by_lxml,
    "resiliparse, links + text": by_resiliparse,
    "a regular expression, links": by_regex,
}


def ours(pages: list[bytes]) -> dict[str, float]:
    """The Rust example over the same pages."""
    with tempfile.TemporaryDirectory(prefix="crivello-pages-") as folder:
        for n, page in enumerate(pages):
            Path(folder, f"{n:06}.html").write_bytes(page)
        subprocess.run([ROOT / "scripts/claim.sh"], check=True)
        command = ["cargo", "run", "--quiet", "--release", "--locked", "-p", "crivello-crawl"]
        command += ["--example", "page_throughput", "--", folder, str(len(pages)), str(REPEATS)]
        out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=os.environ)
    found: dict[str, float] = json.loads(out.stdout)
    if (found["pages"], found["bytes"]) != (len(pages), sum(map(len, pages))):
        raise SystemExit(f"bench: not the same pages: {found['pages']} and {len(pages)}")
    return found


def read(figures: Figures, pages: list[bytes]) -> None:
    size = sum(map(len, pages)) / 1e6
    found = ours(pages)
    rows: list[dict[str, object]] = [
        {"reader": "crivello, links + text", "MB/s": found["extract_mb_s"]},
        {"reader": "crivello, all of a page's row", "MB/s": found["parse_mb_s"]},
    ]
    best: dict[str, float] = {}
    for name, reader in PEERS.items():
        speed = rate(size, lambda reader=reader: [reader(page) for page in pages], 3)  # type: ignore[misc]
        best[name] = speed["most"]
        rows.append({"reader": name, "MB/s": speed})
    figures.table("Reading HTML", rows, "a page's row: also metadata, digests and simhash")
    for name, target in (
        ("selectolax, links + text", 2.0),
        ("lxml, links + text", None),
        ("resiliparse, links + text", None),
        ("a regular expression, links", None),
    ):
        figures.ratio(
            f"HTML: crivello, links + text ÷ {name}",
            found["extract_mb_s"], best[name], target=target,
        )  # fmt: skip


def hash_texts(figures: Figures, pages: list[bytes]) -> None:
    texts = [parse_page(page, "text/html; charset=utf-8").text for page in pages]
    texts = [text for text in texts if text][:300]
    few = texts[:60]

    def megabytes(some: list[str]) -> float:
        return sum(len(text.encode()) for text in some) / 1e6

    def words(text: str) -> object:
        try:
            return Simhash(text.split())
        except OverflowError:  # it counts a word in a byte
            return None

    def shingles(text: str) -> object:
        try:
            return Simhash(text)
        except OverflowError:
            return None

    mine = rate(megabytes(texts), lambda: [simhash(text) for text in texts])
    by_words = rate(megabytes(texts), lambda: [words(text) for text in texts], 2)
    by_shingles = rate(megabytes(few), lambda: [shingles(text) for text in few], 1)
    rows = [
        {"function": "crivello, words", "MB/s of text": mine},
        {"function": "simhash, words", "MB/s of text": by_words},
        {"function": "simhash, 4 characters", "MB/s of text": by_shingles},
    ]
    note = "pysimhash has no wheel: it wants a compiler and Boost.Python, and is left out"
    figures.table("Simhash of a page's text", rows, note)
    figures.ratio("simhash: crivello ÷ simhash, both of words", mine, by_words)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench kernels_page")
    parser.add_argument("directory", nargs="?", help="HTML files [Debian's documentation]")
    parser.add_argument("--pages", type=int, default=2000)
    options = parser.parse_args()
    pages = sample(options.pages, options.directory)
    figures = Figures(
        "kernels_page",
        "How fast is a page read: its links and text, and its simhash?",
        corpus=corpus(pages, options.directory),
        packages=["selectolax", "lxml", "resiliparse", "simhash"],
    )
    bodies = [text.encode() for _, text in pages]
    read(figures, bodies)
    hash_texts(figures, bodies)
    figures.finish()


if __name__ == "__main__":
    main()
