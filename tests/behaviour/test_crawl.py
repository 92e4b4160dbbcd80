"""A crawl finds what is there, all of it, each page once, and says so in every table."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from commands import Command, asked, column, resolving
from small_web import HTML, Answer, SmallWeb, moved, page
from warcio.archiveiterator import ArchiveIterator

import crivello
from crivello.simweb import SimWeb

ROBOTS = b"User-agent: *\nDisallow: /private/\nAllow: /private/open.html\n"
LATIN = "text/html; charset=iso-8859-1"
TABLES = ("urls", "pages", "links", "robots", "clusters")


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """A crawl of 20,000 pages by the command, and the truth about them."""
    directory = tmp_path_factory.mktemp("clean")
    with SimWeb(hosts=200, pages=20_000, log=directory / "log") as web:
        done = Command(directory)(
            "crawl", web.seed_url, "-o", "crawl", "--scope", "any", "--delay", "0", "--json",
            *resolving(web),
        )  # fmt: skip
        assert done.returncode == 0, done
        yield directory / "crawl", json.loads(done.stdout), web.truth(), web.requests()


@pytest.mark.slow
def test_a_clean_web_is_stored_whole_and_each_page_once(clean):
    crawl, ended, truth, requests = clean
    expected = set(truth["url"].to_pylist())
    stored = column(crawl, "select url from pages")
    assert len(stored) == len(expected) == 20_000
    assert set(stored) == expected
    assert set(column(crawl, "select url from urls")) == expected
    assert column(crawl, "select count(*) from urls") == [20_000]
    assert column(crawl, "select distinct state from urls_state") == ["stored"]
    assert ended["ending"] == ended["state"] == "finished"
    assert ended["pages_stored"] == ended["urls_known"] == 20_000
    assert (ended["urls_queued"], ended["failures"]) == (0, {})
    pages = Counter(r.path for r in requests if r.path == "/robots.txt")
    assert pages["/robots.txt"] == 200
    assert len(requests) == 20_000 + 200


@pytest.mark.slow
def test_every_page_has_its_host_depth_and_the_page_that_led_to_it(clean):
    crawl, _, truth, _ = clean
    hosts = dict(zip(truth["url"].to_pylist(), truth["host"].to_pylist(), strict=True))
    rows = asked(crawl, "select url, host, depth, from_url from urls").to_pylist()
    depth = {row["url"]: row["depth"] for row in rows}
    for row in rows:
        assert row["host"] == hosts[row["url"]]
        if row["depth"] == 0:
            assert (row["url"], row["from_url"]) == ("http://www.sim/", "")
        elif row["from_url"].endswith("/robots.txt"):
            assert row["depth"] == 1
        else:
            assert row["depth"] == depth[row["from_url"]] + 1, row
    # Whoever led to a page has a link to it, unless its robots.txt did.
    led = """
        select count(*) from urls u anti join links l
            on l.src_hash = u.from_hash and l.dst_hash = u.url_hash
        where u.depth > 0 and u.from_url not like '%/robots.txt'"""
    assert column(crawl, led) == [0]
    assert column(crawl, "select count(*) from links anti join urls on dst_hash = url_hash "
                         "where kind = 'a'") == [0]  # fmt: skip


@pytest.mark.slow
def test_the_archive_holds_a_response_for_each_page_where_the_table_says(clean):
    crawl, _, _, _ = clean
    warcs = sorted(crawl.glob("agents/0/warc/*.warc.gz"))
    responses = {}
    for path in warcs:
        with path.open("rb") as stream:
            records = ArchiveIterator(stream)
            for record in records:
                if record.rec_type != "response":
                    continue
                url = record.rec_headers.get_header("WARC-Target-URI")
                assert url not in responses
                record.raw_stream.read()
                responses[url] = (path.name, records.get_record_offset())
    rows = asked(crawl, "select url, warc_file, warc_offset, warc_length from pages").to_pylist()
    assert len(rows) == len(responses)
    for row in rows:
        assert responses[row["url"]] == (row["warc_file"], row["warc_offset"])
    for row in rows[:: len(rows) // 50]:
        with (crawl / "agents/0/warc" / row["warc_file"]).open("rb") as stream:
            stream.seek(row["warc_offset"])
            record = gzip.decompress(stream.read(row["warc_length"]))
        first = next(iter(ArchiveIterator(io.BytesIO(record))))
        assert first.rec_headers.get_header("WARC-Target-URI") == row["url"]
        assert first.http_headers.get_statuscode() == "200"
    lines = [line for path in crawl.glob("agents/0/warc/*.cdxj") for line in path.open()]
    assert len(lines) == len(responses)
    assert all(json.loads(line.split(" ", 2)[2])["url"] in responses for line in lines)


@pytest.mark.slow
def test_pages_read_as_the_generator_made_them(clean):
    crawl, _, truth, _ = clean
    charsets = {row["url"]: row["charset"] for row in truth.to_pylist() if row["charset"]}
    rows = asked(crawl, "select url, charset, text, title from pages where mime = 'text/html'")
    wrong = Counter()
    for row in rows.to_pylist():
        assert "\ufffd" not in (row["title"] or "") + (row["text"] or ""), row["url"]
        # What calls itself Latin-1 is windows-1252: the WHATWG's standard says so.
        expected = charsets[row["url"]].replace("iso-8859-1", "windows-1252")
        if row["charset"].lower() != expected:
            wrong[row["charset"], expected] += 1
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_with_no_crawl_running_the_plain_files_are_the_table(clean, table):
    crawl, _, _, _ = clean
    files = sorted(crawl.glob(f"tables/{table}/*"))
    sealed = [path for path in files if path.suffix == ".parquet"]
    assert {path.name for path in files} - {path.name for path in sealed} == {"manifest.log"}
    rows = sum(pq.read_metadata(path).num_rows for path in sealed)
    assert column(crawl, f"select count(*) from {table}") == [rows]
    if rows:
        key = {"pages": "visit", "urls": "url_hash", "links": "src_hash", "robots": "host"}
        name = key.get(table, "url_hash")
        query = f"select count(*), count(distinct {name}), min({name}), max({name})"
        plain = duckdb.sql(f"{query} from '{crawl}/tables/{table}/*.parquet'").fetchall()
        assert tuple(asked(crawl, f"{query} from {table}").to_pylist()[0].values()) == plain[0]


@pytest.mark.slow
def test_a_finished_crawl_asks_nothing_when_it_is_run_again(clean):
    crawl, _, _, requests = clean
    done = Command(crawl.parent)("crawl", "-o", "crawl", "--json")
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["pages_stored"] == 20_000
    assert column(crawl, "select count(*), count(distinct url) from pages") == [20_000]
    assert len((crawl.parent / "log").read_text("utf-8").splitlines()) == len(requests)


def test_plain_python_parts_store_the_same_pages(tmp_path):
    stored = {}
    for parts in ({"sieve": "mercator", "frontier": "disk"},
                  {"sieve": "memory", "frontier": "memory"}):  # fmt: skip
        with SimWeb(hosts=20, pages=1000) as web:
            path = tmp_path / parts["sieve"]
            crawl = crivello.Crawl(
                path, seeds=[web.seed_url], scope="any", delay=0, resolve=web.resolve, **parts
            )
            assert crawl.run().exit_code == 0
            stored[parts["sieve"]] = sorted(column(path, "select url from pages"))
            assert stored[parts["sieve"]] == sorted(web.truth()["url"].to_pylist())
    assert stored["memory"] == stored["mercator"]


def small_answers() -> dict[str, Answer]:
    """A site of twenty pages with the oddities of hand-made ones."""
    front = page(
        "the front",
        "a.html", "b/", "./c.html", "private/secret.html", "/private/open.html", "moved",
        "gone.html", "#top", "mailto:me@example.org", "javascript:void(0)", "latin.html",
        "sjis.html", "?q=1&amp;r=2", "b/../A.html", "wide.html", "/loop", "http:c.html",
        "  spaced.html\n", "broken.html", "data:text/html,hello", "http://[::bad/", "a.html#part",
        extra='<img src="picture.png"><script src="code.js"></script>',
    )  # fmt: skip
    japanese = "<meta charset=Shift_JIS><title>日本語の題</title><p>水曜日".encode("shift_jis")
    return {
        "/robots.txt": Answer(ROBOTS, headers={"Content-Type": "text/plain"}),
        "/": front,
        "/a.html": page("a", "deep/1.html"),
        "/A.html": page("A, another page than a"),
        "/deep/1.html": page("one", "2.html"),
        "/deep/2.html": page("two", "../deep/3.html"),
        "/deep/3.html": page("three"),
        "/b/": page("b", "x.html", "../a.html", "based.html"),
        "/b/x.html": page("x"),
        "/b/based.html": page("based", "y.html", extra='<base href="/other/">'),
        "/other/y.html": page("y"),
        "/c.html": page("c"),
        "/private/secret.html": page("secret"),
        "/private/open.html": page("open"),
        "/moved": moved("landing.html"),
        "/landing.html": page("landing"),
        "/loop": moved("/pool", 301),
        "/pool": moved("/loop", 307),
        "/latin.html": Answer(
            '<title>café</title><a href="caf\xe9.html">x</a>'.encode("latin-1"),
            headers={"Content-Type": LATIN},
        ),
        "/caf%C3%A9.html": page("coffee"),
        "/sjis.html": Answer(japanese, headers={"Content-Type": "text/html"}),
        "/?q=1&r=2": page("a query"),
        "/wide.html": Answer(
            "<title>wide ☃</title>".encode("utf-16"), headers={"Content-Type": HTML}
        ),
        "/spaced.html": page("spaced"),
        "/broken.html": Answer(b"<title>bro<ken</title><a href='c.html'<p><a href=x-y.html>z"),
        "/x-y.html": page("after the breakage"),
        "/picture.png": Answer(b"\x89PNG\r\n\x1a\n", headers={"Content-Type": "image/png"}),
    }


# What is known of each URL: how many links from the seed it is (a redirect is none), which page
# led to it, and what came of it.
SMALL = {
    "/": (0, "", 200),
    "/a.html": (1, "/", 200),
    "/b/": (1, "/", 200),
    "/c.html": (1, "/", 200),
    "/private/secret.html": (1, "/", "robots"),
    "/private/open.html": (1, "/", 200),
    "/moved": (1, "/", 302),
    "/gone.html": (1, "/", 404),
    "/latin.html": (1, "/", 200),
    "/sjis.html": (1, "/", 200),
    "/?q=1&r=2": (1, "/", 200),
    "/A.html": (1, "/", 200),
    "/wide.html": (1, "/", 200),
    "/loop": (1, "/", 301),
    "/spaced.html": (1, "/", 200),
    "/broken.html": (1, "/", 200),
    "/deep/1.html": (2, "/a.html", 200),
    "/b/x.html": (2, "/b/", 200),
    "/b/based.html": (2, "/b/", 200),
    "/landing.html": (1, "/moved", 200),
    "/caf%C3%A9.html": (2, "/latin.html", 200),
    "/pool": (1, "/loop", 307),
    "/x-y.html": (2, "/broken.html", 200),
    "/deep/2.html": (3, "/deep/1.html", 200),
    "/other/y.html": (3, "/b/based.html", 200),
    "/deep/3.html": (4, "/deep/2.html", 200),
}


@pytest.fixture
def small():
    with SmallWeb(small_answers()) as web:
        yield web


def crawled(web: SmallWeb, path: Path, start: str = "/", **options) -> dict[str, tuple]:
    """What a crawl from `start` found: depth, source and outcome by path."""
    summary = crivello.Crawl(path, seeds=[web.root + start], delay=0, **options).run()
    assert summary.exit_code == 0
    query = """select url, depth, from_url, coalesce(p.status, 0) as status, p.error
               from urls u left join pages p using (url_hash, url, depth)"""
    found = {}
    for row in asked(path, query).to_pylist():
        outcome = row["status"] or row["error"]
        source = row["from_url"].removeprefix(web.root)
        assert row["url"] not in found
        found[row["url"].removeprefix(web.root)] = (row["depth"], source, outcome)
    return found


@pytest.mark.parametrize("parts", [{}, {"sieve": "memory", "frontier": "memory"}], ids=str)
def test_a_hand_made_site_is_read_as_browsers_read_it(small, tmp_path, parts):
    found = crawled(small, tmp_path / "crawl", **parts)
    assert found == SMALL
    requested = Counter(small.paths)
    outcomes = {path for path, (_, _, outcome) in SMALL.items() if outcome != "robots"}
    assert requested == dict.fromkeys([*outcomes, "/robots.txt"], 1)
    titles = {
        row["url"].removeprefix(small.root): row["title"]
        for row in asked(tmp_path / "crawl", "select url, title from pages").to_pylist()
    }
    assert titles["/latin.html"] == "café"
    assert titles["/sjis.html"] == "日本語の題"
    assert titles["/wide.html"] == "wide ☃"
    recorded = asked(tmp_path / "crawl", "select dst_url, kind from links where kind <> 'a'")
    kinds = {row["dst_url"].removeprefix(small.root): row["kind"] for row in recorded.to_pylist()}
    assert kinds == {"/picture.png": "img", "/code.js": "script"}
    targets = column(tmp_path / "crawl", "select redirect_to from pages where status = 302")
    assert targets == [small.root + "/landing.html"]


@pytest.mark.parametrize("limit", [1, 7, 12])
def test_max_pages_is_exact_and_the_rest_comes_later(small, tmp_path, limit):
    first = crivello.Crawl(tmp_path / "crawl", seeds=[small.root], delay=0, max_pages=limit).run()
    assert (first.ending, first.exit_code) == ("limit", 0)
    assert first.status.pages_stored == limit
    stored = "select count(*) from pages where status = 200"
    assert column(tmp_path / "crawl", stored) == [limit]
    rest = crivello.Crawl(tmp_path / "crawl").run(max_pages=1000)
    assert (rest.ending, rest.exit_code) == ("finished", 0)
    twice = "select url from pages group by url having count(*) > 1"
    assert column(tmp_path / "crawl", twice) == []
    urls = column(tmp_path / "crawl", "select url from pages")
    assert {url.removeprefix(small.root) for url in urls} == set(SMALL)
    assert rest.status.pages_stored == len(
        [True for *_, outcome in SMALL.values() if outcome == 200]
    )


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_max_depth_is_the_most_links_from_a_seed(small, tmp_path, depth):
    found = crawled(small, tmp_path / "crawl", max_depth=depth)
    assert found == {path: known for path, known in SMALL.items() if known[0] <= depth}


@pytest.mark.parametrize(
    ("scope", "start", "inside"),
    [
        ("page", "/b/", {"/b/"}),
        ("prefix", "/b/based.html", {"/b/based.html"}),
        ("prefix", "/b/", {"/b/", "/b/x.html", "/b/based.html"}),
        ("prefix", "/deep/1.html", {"/deep/1.html", "/deep/2.html", "/deep/3.html"}),
        ("host", "/deep/1.html", {"/deep/1.html", "/deep/2.html", "/deep/3.html"}),
        ("host", "/", set(SMALL)),
        ("any", "/", set(SMALL)),
    ],
)
def test_the_scope_is_where_links_are_followed(small, tmp_path, scope, start, inside):
    assert set(crawled(small, tmp_path / "crawl", start, scope=scope)) == inside


def test_another_authority_is_outside_the_host_and_a_private_one_is_never_asked(tmp_path):
    with SmallWeb({"/": page("the neighbour")}) as other:
        with SmallWeb(
            {"/": page("home", other.root + "/", "in.html"), "/in.html": page("in")}
        ) as web:
            assert set(crawled(web, tmp_path / "host")) == {"/", "/in.html"}
            found = crawled(web, tmp_path / "any", scope="any")
            assert found[f"{other.root}/"] == (1, "/", "private")
            assert other.asked == []
            found = crawled(web, tmp_path / "allowed", scope="any", allow_private=True)
            assert found[f"{other.root}/"] == (1, "/", 200)
        assert other.paths == ["/robots.txt", "/"]


def test_a_seed_that_moves_to_another_authority_takes_the_scope_along(tmp_path):
    with SmallWeb({}) as web:
        there = f"http://localhost:{web.port}"
        web.answers["/"] = moved(f"{there}/home/")
        web.answers["/home/"] = page("home", "in.html", web.root + "/back.html")
        web.answers["/home/in.html"] = page("in")
        web.answers["/back.html"] = page("back", f"{there}/more.html", "http://elsewhere.invalid/")
        web.answers["/more.html"] = page("more")
        crawl = tmp_path / "crawl"
        found = crawled(web, crawl, resolve=["localhost=127.0.0.1"])
        assert found == {
            "/": (0, "", 302),
            f"{there}/home/": (0, "/", 200),
            f"{there}/home/in.html": (1, f"{there}/home/", 200),
            "/back.html": (1, f"{there}/home/", 200),
            f"{there}/more.html": (2, "/back.html", 200),
        }
        robots = [asked.host for asked in web.asked if asked.path == "/robots.txt"]
        assert sorted(robots) == [f"127.0.0.1:{web.port}", f"localhost:{web.port}"]


def test_a_page_that_links_elsewhere_by_redirect_does_not_widen_the_scope(tmp_path):
    with SmallWeb({}) as web:
        web.answers["/"] = page("home", "out")
        web.answers["/out"] = moved(f"http://localhost:{web.port}/there")
        found = crawled(web, tmp_path / "crawl", resolve=["localhost=127.0.0.1"])
        assert found == {"/": (0, "", 200), "/out": (1, "/", 302)}


def test_only_kinds_of_links_that_are_asked_for_are_followed(small, tmp_path):
    found = crawled(small, tmp_path / "crawl", follow=["a", "img"], max_depth=1)
    assert {"/picture.png", "/moved"} <= set(found)
    assert not {"/landing.html", "/code.js"} & set(found)


def test_what_is_not_kept_is_not_there(small, tmp_path):
    crawl = tmp_path / "crawl"
    assert set(crawled(small, crawl, store=["pages"])) == set(SMALL)
    assert list(crawl.glob("agents/0/warc/*")) == []
    assert column(crawl, "select count(*) from links") == [0]
    assert column(crawl, "select count(text) from pages") == [0]
    assert column(crawl, "select count(title) > 10 from pages") == [True]


def test_a_crawl_of_links_alone_finds_what_a_whole_one_does(small, tmp_path):
    whole = crawled(small, tmp_path / "whole")
    links = "select dst_url, anchor, rel, kind from links order by all"
    for store in (["links"], "none"):
        crawl = tmp_path / str(store)
        found = crawled(small, crawl, store=store)
        assert {path: row[:2] for path, row in found.items()} == {
            path: row[:2] for path, row in whole.items()
        }
        assert column(crawl, "select count(*) from pages") == [0]
        assert column(crawl, "select count(*) from clusters") == [0]
        kept = asked(crawl, links).to_pylist()
        assert kept == (asked(tmp_path / "whole", links).to_pylist() if store != "none" else [])


def test_new_seeds_are_added_and_known_ones_are_not_asked_again(small, tmp_path):
    crawl = tmp_path / "crawl"
    crawled(small, crawl, "/deep/3.html")
    crivello.Crawl(crawl, seeds=[f"{small.root}/deep/3.html", f"{small.root}/b/x.html"]).run()
    urls = column(crawl, "select url from pages order by visit")
    assert [url.removeprefix(small.root) for url in urls] == ["/deep/3.html", "/b/x.html"]
    assert Counter(small.paths)["/deep/3.html"] == 1


def test_a_long_base_does_not_make_gigabytes_of_a_pages_links(command, tmp_path):
    hrefs = [f"{number}.html" for number in range(10_000)]
    base = f'<base href="/{"b" * 8000}/">'
    with SmallWeb({"/": page("front", *hrefs, extra=base)}) as web:
        done = command("crawl", web.root, "-o", "crawl", "--delay", "0", "--max-pages", "1")
        assert done.returncode == 0, done
    [(links, size)] = crivello.open(tmp_path / "crawl").sql(
        "select count(*), sum(strlen(dst_url)) from links"
    )
    assert 7 << 20 < size <= 8 << 20
    assert links < 1100
