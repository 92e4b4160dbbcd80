"""How fast is a link resolved, normalised and hashed?

    python -m bench kernels_url [DIRECTORY] [--pages 1500]

Every `href` of real pages with its page's address, repeats counted, one thread. What comes out is
compared with ada first. The others resolve or parse alone, a URL a call; ours takes a page's links
in a batch, and `normalise` one a call.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from urllib.parse import urljoin

import ada_url
import can_ada
import pyarrow as pa
from selectolax.lexbor import LexborHTMLParser
from w3lib.url import canonicalize_url

from bench._figures import Figures, rate
from bench._pages import corpus, sample
from crivello import _native
from scripts.traversal import STRIPPED, resolve

FEW = 40_000


def lenient(function: Callable[..., object]) -> Callable[..., object]:
    """None where there is no URL."""

    def call(*arguments: str) -> object:
        try:
            return function(*arguments)
        except ValueError:
            return None

    return call


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench kernels_url")
    parser.add_argument("directory", nargs="?", help="HTML files [Debian's documentation]")
    parser.add_argument("--pages", type=int, default=1500)
    options = parser.parse_args()
    pages = sample(options.pages, options.directory)
    hrefs = [
        (url, [(a.attributes.get("href") or "") for a in LexborHTMLParser(text).css("a[href]")])
        for url, text in pages
    ]
    hrefs = [(url, [href.strip(STRIPPED) for href in links]) for url, links in hrefs if links]
    pairs = [(url, href) for url, links in hrefs for href in links]
    batches = [(url, pa.record_batch({"url": pa.array(links)})) for url, links in hrefs]
    figures = Figures(
        "kernels_url",
        "How fast is a link resolved, normalised and hashed?",
        corpus=f"{len(pairs):,} links of {corpus(pages, options.directory)}",
        packages=["ada-url", "can-ada", "w3lib"],
    )
    for (url, links), (_, batch) in zip(hrefs[:200], batches[:200], strict=True):
        made = pa.record_batch(_native.normalise_batch(batch, url))["url"].to_pylist()
        assert made == [resolve(url, href) for href in links], url

    few = pairs[:FEW]
    join, parse = lenient(ada_url.join_url), lenient(lambda url: can_ada.parse(url).href)
    absolute = [str(url) for base, href in few if (url := join(base, href))]
    single = lenient(_native.normalise)
    canonical = lenient(lambda base, href: canonicalize_url(urljoin(base, href)))
    count = len(few) / 1e6
    speeds = {
        "crivello, a page's links": rate(
            len(pairs) / 1e6,
            lambda: [_native.normalise_batch(batch, url) for url, batch in batches],
        ),
        "crivello, one a call": rate(count, lambda: [single(href, base) for base, href in few]),
        "can_ada, parse only": rate(len(absolute) / 1e6, lambda: [parse(u) for u in absolute]),
        "ada-url, join": rate(count, lambda: [join(base, href) for base, href in few]),
        "urllib, urljoin": rate(count, lambda: [lenient(urljoin)(*pair) for pair in few], 3),
        "w3lib, urljoin + canonicalize_url": rate(
            count, lambda: [canonical(base, href) for base, href in few], 2
        ),
    }
    rows = [{"function": name, "million/s": speed} for name, speed in speeds.items()]
    figures.table("Links resolved and normalised", rows, "aimed at are 3 million a second")
    mine = speeds["crivello, a page's links"]
    for name, theirs in list(speeds.items())[2:]:
        figures.ratio(f"URLs: crivello, a page's links ÷ {name}", mine, theirs)
    figures.finish()


if __name__ == "__main__":
    main()
