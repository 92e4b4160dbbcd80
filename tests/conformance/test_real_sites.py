"""Pages that nobody here made: a crawl of Debian's documentation is held against another traversal.

The traversal (`scripts/traversal.py`) shares nothing with crivello: lxml and html5lib read the
pages, ada joins the URLs, the standard library sends the requests.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import crivello
from scripts.sites import DOMAIN, TEST, Sites, SitesError
from scripts.traversal import Client, by_html5lib, by_lxml, decoded, read, traverse

HTML = "text/html"
SAMPLE = 1000
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def sites():
    try:
        with Sites(TEST) as served:
            yield served
    except SitesError as error:
        if os.geteuid() == 0:
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def crawl(sites, tmp_path_factory):
    """A crawl of all sites by the command, from the page that links to them."""
    directory = tmp_path_factory.mktemp("real") / "crawl"
    command = [Path(sys.executable).with_name("crivello"), "crawl", sites.seed_url, "-o", directory]
    command += ["--scope", "domain", "--delay", "0", "--resolve", *sites.resolve]
    environment = {name: value for name, value in os.environ.items() if "CRIVELLO" not in name}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done
    return crivello.open(directory)


def rows(crawl, query):
    return crawl.sql(query).to_arrow().to_pylist()


def test_the_crawl_stores_exactly_what_an_independent_traversal_finds_each_url_once(sites, crawl):
    found = traverse(
        sites.seed_url, sites.port, lambda url: f".{urlsplit(url).hostname}".endswith(f".{DOMAIN}")
    )
    expected = {url: answer.status for url, answer in found.items()}
    pages = [url for url, answer in found.items() if (answer.status, answer.mime) == (200, HTML)]
    judged = sum(answer.judged for answer in found.values())
    print(f"{len(found)} URLs, {len(pages)} pages, {judged} of them read by html5lib")
    assert len(pages) >= 5000
    stored = rows(crawl, "select url, status, mime from pages")
    assert {row["url"]: row["status"] for row in stored} == expected
    assert len(stored) == len(expected)
    assert sorted(row["url"] for row in stored if (row["status"], row["mime"]) == (200, HTML)) == (
        sorted(pages)
    )
    admitted = [row["url"] for row in rows(crawl, "select url from urls")]
    assert sorted(admitted) == sorted(expected)


def test_links_and_titles_of_a_thousand_pages_are_those_an_independent_parser_sees(sites, crawl):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    query = f"select url, url_hash, title from pages where status = 200 and mime = '{HTML}'"
    pages = sorted(rows(crawl, query), key=lambda row: row["url"])
    sample = random.Random(seed).sample(pages, SAMPLE)
    links = defaultdict(set)
    for row in rows(crawl, "select src_hash, kind, dst_url from links"):
        links[row["src_hash"]].add((row["kind"], row["dst_url"]))
    client, compared, outside, wrong = Client(sites.port), 0, 0, []
    for page in sample:
        text = decoded(client.get(page["url"])[3])
        ours = (page["title"], links[page["url_hash"]])
        seen = read(by_lxml(text), page["url"])
        if ours != (seen.title, seen.references):  # libxml2 is no judge of broken HTML
            seen = read(by_html5lib(text), page["url"])
        if ours[0] != seen.title:
            wrong.append((page["url"], "title", seen.title, ours[0]))
        if ours[1] != seen.references:
            missing, extra = seen.references - ours[1], ours[1] - seen.references
            wrong.append((page["url"], "missing", sorted(missing), "extra", sorted(extra)))
        compared += len(seen.references)
        outside += sum(f".{DOMAIN}" not in url for _, url in seen.references)
    assert not wrong, wrong[:5]
    assert compared > 10 * SAMPLE
    assert outside > 0
