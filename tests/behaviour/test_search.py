"""From a crawl to its search results, as a user goes."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from commands import resolving
from small_web import Answer, SmallWeb, page

import crivello
from crivello.crawl.lock import CrawlLock
from crivello.simweb import SimWeb


def prose(title, text, *hrefs):
    links = "".join(f'<a href="{href}">on</a>' for href in hrefs)
    return Answer(f"<!DOCTYPE html><title>{title}</title><p>{text}</p>{links}".encode())


SITE = {
    "/": page("Sieves of the world", "/mercator", "/bloom", "/coffee", "/kanji", "/secret"),
    "/mercator": prose(
        "The Mercator sieve", "It keeps signatures on disk. A static function maps keys to values."
    ),
    "/bloom": prose("Bloom filters", "They forget nothing, say yes too often. Function: static."),
    "/coffee": prose("Java & coffee", "A sieve for coffee from Java, with a <b>static</b> filter."),
    "/kanji": prose("日本語の検索", "全文検索の仕組みは漢字の並びを見る。"),
    "/secret": Answer(b"<title>Secret sieve</title><meta name=robots content=noindex><p>sieve"),
}  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A crawled site of a few pages that say what they are about."""
    directory = tmp_path_factory.mktemp("site") / "site"
    with SmallWeb(SITE) as web:
        crivello.Crawl(directory, seeds=[web.root + "/"], delay=0).run()
    return directory


def paths(results):
    return [hit.url.rpartition("/")[2] for hit in results]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("mercator", ["mercator"]),
        ("SIEVE", ["mercator", "coffee"]),
        ("static function", ["bloom", "mercator"]),
        ('"static function"', ["mercator"]),
        ('"static function" OR sieve -java', ["mercator"]),
        ("sieve -(java OR coffee)", ["mercator"]),
        ("title:sieve", ["mercator"]),
        ("title:static", []),
        ("検索", ["kanji"]),
        ("漢字", ["kanji"]),
        ("字漢", []),
        ("secret", []),
        ("nothing of the kind", []),
    ],
)
def test_a_site_is_found_by_what_it_says(site, query, expected):
    results = crivello.open(site).search(query)
    assert sorted(paths(results)) == sorted(expected)
    assert results.total == len(expected)
    scores = [hit.score for hit in results]
    assert scores == sorted(scores, reverse=True)


def test_a_hit_says_what_was_found_and_where(site):
    [hit] = crivello.open(site).search('"static function"')
    assert hit.title == "The Mercator sieve"
    assert hit.snippet == "It keeps signatures on disk. A static function maps keys to values."
    marked = {hit.snippet[start:end] for start, end in hit.highlights}
    assert marked in ({"static function"}, {"static", "function"})
    [hit] = crivello.open(site).search("coffee filter")
    assert "<b>" not in hit.marked()
    assert "<mark>coffee</mark>" in hit.marked()


def test_results_come_in_pages(site):
    crawl = crivello.open(site)
    query = "sieve OR static OR filters"
    whole = paths(crawl.search(query))
    assert len(whole) >= 3
    again = [path for n in range(5) for path in paths(crawl.search(query, k=1, offset=n))]
    assert again == whole
    assert paths(crawl.search(query, k=1 << 70)) == whole
    assert paths(crawl.search(query, k=1 << 70, offset=1)) == whole[1:]
    assert paths(crawl.search(query, offset=1 << 70)) == []


def test_the_command_prints_what_the_api_finds(site, command):
    found = json.loads(command("search", site, "sieve", "--json").stdout)
    assert set(found) == {"query", "total", "took_ms", "hits"}
    assert (found["query"], found["total"]) == ("sieve", 2)
    assert found["took_ms"] > 0
    for told, hit in zip(found["hits"], crivello.open(site).search("sieve"), strict=True):
        assert set(told) == {"url", "title", "score", "snippet", "fetched_at", "lang"}
        assert (told["url"], told["score"], told["snippet"]) == (hit.url, hit.score, hit.snippet)
    shown = command("search", site, '"static', 'function"').stdout
    assert shown.startswith("1 page in ")
    for part in ("1  The Mercator sieve", "/mercator\n", "A static function maps keys"):
        assert part in shown
    assert command("search", site, "sieve", "-k", "1").stdout.count("http://") == 1


def test_a_query_that_finds_nothing_says_how_to_go_on(site, command):
    done = command("search", site, "sieve nowhere")
    assert done.stdout.startswith("0 pages in ")
    assert done.returncode == 0
    assert "--explain" in done.stderr
    assert command("search", site, "sieve nowhere", "--explain").stderr == ""
    assert command("search", site, "sieve nowhere", "--json").stderr == ""


def test_the_command_explains_how_it_read_a_query(site, command):
    shown = command("search", site, 'Static OR "static function" -java', "--explain").stdout
    assert shown.splitlines()[:3] == [
        'read as  (static OR "static function") -java',
        "          3 pages match  static",
        '          1 pages match  "static function"',
    ]
    told = command("search", site, "漢字", "--explain", "--json").stdout
    assert json.loads(told)["parts"] == [{"part": '"漢 字"', "pages": 1}]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ('"static', "query: character 1: the quote that opens here is not closed"),
        ("-- -java", "query: character 1: only exclusions"),
        ("&", "query: character 1: there is no word to search for"),
        ("sieve -k 0", "Invalid value for '-k'"),
        ("sieve --offset -1", "Invalid value for '--offset'"),
    ],
)
def test_a_query_that_cannot_be_read_is_one_line(site, command, query, told):
    assert told in command.refuses("search", site, *query.split())


def test_a_crawl_without_an_index_says_how_to_make_one(command):
    with SimWeb(hosts=3, pages=60, seed=3) as web:
        done = command("crawl", web.seed_url, "-o", "crawl", "--scope", "any", "--delay", "0",
                       "--no-index", *resolving(web))  # fmt: skip
    assert done.returncode == 0
    assert "crivello search" not in done.stdout
    told = command.refuses("search", "crawl", "word")
    assert told == "crivello: crawl: has no index yet; `crivello index crawl` makes it"
    assert "index       0 pages" in command("status", "crawl").stdout
    assert command("index", "crawl").stdout.startswith("60 pages in 1 segment, ")
    assert "index       60 pages" in command("status", "crawl").stdout
    done = json.loads(command("index", "crawl", "--merge", "--json").stdout)
    assert (done["documents"], done["added"], done["segments"]) == (60, 0, 1)
    assert json.loads(command("search", "crawl", "www OR sim", "--json").stdout)["total"] > 0


def test_a_crawl_keeps_its_index_and_goes_on_with_it(command):
    with SimWeb(hosts=5, pages=300, seed=5) as web:
        arguments = ["--scope", "any", "--delay", "0", *resolving(web)]
        done = command("crawl", web.seed_url, "-o", "crawl", "--max-pages", "100", *arguments)
        assert done.returncode == 0, done.stderr
        assert "index       100 pages" in done.stdout
        assert "Search it: crivello search crawl" in done.stdout
        done = command("crawl", "-o", "crawl", "--max-pages", "1000", "--json")
    ended = json.loads(done.stdout)
    assert (ended["pages_stored"], ended["documents_indexed"]) == (300, 300)
    assert json.loads(command("status", "crawl", "--json").stdout)["documents_indexed"] == 300


def test_an_index_that_cannot_be_written_does_not_end_the_crawl(command, tmp_path):
    with SimWeb(hosts=3, pages=60, seed=3) as web:
        arguments = ["--scope", "any", "--delay", "0", *resolving(web)]
        command("crawl", web.seed_url, "-o", "crawl", "--max-pages", "10", *arguments)
        with CrawlLock(tmp_path / "crawl/index/lock"):
            done = command("crawl", "-o", "crawl", "--max-pages", "30")
            told = f"crivello: crawl/index: process {os.getpid()} is indexing this crawl"
            assert done.returncode == 0
            assert told in done.stderr
            assert "; `crivello index crawl` adds the rest" in done.stderr
        (tmp_path / "crawl/index/index.json").write_text("{}")
        done = command("crawl", "-o", "crawl", "--max-pages", "60")
    assert done.returncode == 0
    assert "`crivello index crawl --rebuild` makes the index anew" in done.stderr
    assert "--rebuild" in command.refuses("search", "crawl", "word", code=1)
    assert "--rebuild" in command.refuses("index", "crawl", code=1)
    assert command("index", "crawl", "--rebuild").stdout.startswith("60 pages in 1 segment, ")
    shutil.rmtree(tmp_path / "crawl/index")
    assert command("index", "crawl").stdout.startswith("60 pages in 1 segment, ")


def test_settings_of_the_index_are_checked(command):
    command.refuses("index", "nowhere")
    assert "--memory '1 banana'" in command.refuses("index", "nowhere", "--memory", "1 banana")


def test_a_crawl_that_keeps_no_text_has_nothing_to_index(command, tmp_path):
    with SimWeb(hosts=3, pages=60, seed=3) as web:
        done = command("crawl", web.seed_url, "-o", "crawl", "--scope", "any", "--delay", "0",
                       "--store", "warc,pages", *resolving(web))  # fmt: skip
    assert done.returncode == 0
    assert not (tmp_path / "crawl/index").exists()
    done = command("index", "crawl")
    assert done.stdout.startswith("0 pages in 0 segments")
    assert "store.keep" in done.stderr
