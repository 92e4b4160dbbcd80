"""Archives of others become pages like any: by warcio, by wget, whole, twice, broken."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from commands import Command, asked, column
from small_web import HTML, Answer, SmallWeb, moved, page
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

import crivello

TEXT = [("Content-Type", "text/plain")]
TYPE = ("Content-Type", HTML)
WEB = {
    "/robots.txt": Answer(b"User-agent: *\nDisallow: /secret\n", headers=dict(TEXT)),
    "/": page("Home", "/a", "/b", "/moved", "/lost"),
    "/a": page("A", "/b", "/secret", "/late"),
    "/b": page("B", "/a"),
    "/moved": moved("/b"),
    "/late": page("Late", "/later"),
    "/later": page("Later"),
}  # fmt: skip


def archive(path: Path, pages: dict[str, tuple[int, list[tuple[str, str]], bytes]]) -> Path:
    """A file of response records by warcio, dated one second apart."""
    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=path.suffix == ".gz")
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "warcio"}))
        for number, (url, (status, headers, body)) in enumerate(pages.items()):
            writer.write_record(
                writer.create_warc_record(
                    url,
                    "response",
                    payload=io.BytesIO(body),
                    http_headers=StatusAndHeaders(f"{status} X", headers, protocol="HTTP/1.1"),
                    warc_headers_dict={
                        "WARC-Date": f"2024-02-29T10:00:{number:02}Z",
                        "WARC-IP-Address": "192.0.2.7",
                    },
                )
            )
    return path


def html(title: str, *hrefs: str) -> tuple[int, list[tuple[str, str]], bytes]:
    return 200, [("Content-Type", HTML)], page(title, *hrefs).body


@pytest.fixture
def old(tmp_path) -> Path:
    chunked = b"1c\r\n<title>Chunked</title>words \r\n4\r\nmore\r\n0\r\n\r\n"
    packed = gzip.compress("<title>Gepackt</title>Grüße".encode())
    return archive(
        tmp_path / "old.warc.gz",
        {
            "HTTP://Old.test:80/": html("Home", "/b", "/x"),
            "http://old.test/b": (200, [TYPE, ("Transfer-Encoding", "chunked")], chunked),
            "http://old.test/c": (200, [TYPE, ("Content-Encoding", "gzip")], packed),
            "http://old.test/gone": (404, [TYPE], b"gone"),
            "http://old.test/moved": (301, [("Location", "/b")], b""),
            "http://old.test/robots.txt": (200, TEXT, b"User-agent: *\nDisallow: /x"),
            "http://old.test/pic": (200, [("Content-Type", "image/png")], b"\x89PNG\r\n\x1a\n"),
            "dns:old.test": (200, [], b"192.0.2.7"),
        },
    )  # fmt: skip


def test_a_file_of_warcio_becomes_pages_with_their_dates_and_bytes(tmp_path, command: Command, old):
    done = command("import", "crawl", old, "--json")
    assert done.returncode == 0, done
    told = json.loads(done.stdout)
    assert (told["ending"], told["records"], told["pages"], told["robots"]) == ("finished", 9, 6, 1)
    assert told["skipped"] == {"other kinds of record": 1, "not an http(s) URL": 1}
    crawl = tmp_path / "crawl"
    rows = {row["url"]: row for row in asked(crawl, "select * from pages").to_pylist()}
    home = rows["http://old.test/"]
    assert (home["title"], home["status"], home["ip"]) == ("Home", 200, "192.0.2.7")
    assert home["fetched_at"].isoformat() == "2024-02-29T10:00:00+00:00"
    assert home["fetch_ms"] is None
    assert rows["http://old.test/b"]["text"].endswith("words more")
    assert rows["http://old.test/c"]["title"] == "Gepackt"
    assert rows["http://old.test/gone"]["error"] == "http-404"
    assert rows["http://old.test/moved"]["redirect_to"] == "http://old.test/b"
    assert rows["http://old.test/pic"]["mime"] == "image/png"
    assert set(column(crawl, "select state from urls")) == {"imported"}
    assert set(column(crawl, "select url from urls")) == set(rows)
    assert column(crawl, "select body from robots") == [b"User-agent: *\nDisallow: /x"]
    body = command("get", "crawl", "http://old.test/c", "--body").stdout
    assert body == "<title>Gepackt</title>Grüße"
    known = crivello.open(crawl).why("http://old.test/x")
    assert (known.state, known.robots and known.robots.line) == ("refused", 2)
    assert [step.link for step in crivello.open(crawl).why("http://old.test/b").chain] == [
        "imported"
    ]


def test_what_was_imported_can_be_searched(command, old):
    assert command("import", "crawl", old).returncode == 0
    found = json.loads(command("search", "crawl", "grüße title:gepackt", "--json").stdout)
    assert [hit["url"] for hit in found["hits"]] == ["http://old.test/c"]
    assert found["hits"][0]["fetched_at"] == "2024-02-29T10:00:02Z"
    assert json.loads(command("search", "crawl", "gone", "--json").stdout)["total"] == 0


def test_the_archive_of_an_import_reads_and_says_where_each_page_is(tmp_path, command, old):
    assert command("import", "crawl", old).returncode == 0
    places = {}
    (warc,) = (tmp_path / "crawl/agents/0/warc").glob("*.warc.gz")
    with warc.open("rb") as stream:
        records = ArchiveIterator(stream, check_digests="raise")
        for record in records:
            record.content_stream().read()
            places[record.rec_headers.get_header("WARC-Target-URI")] = records.get_record_offset()
    rows = asked(tmp_path / "crawl", "select url, warc_offset from pages").to_pylist()
    del places[None]
    assert places == {row["url"]: row["warc_offset"] for row in rows}


def test_an_import_again_adds_nothing(tmp_path, command, old):
    assert command("import", "crawl", old).returncode == 0
    copy = tmp_path / "copy.warc"
    copy.write_bytes(gzip.decompress(old.read_bytes()))
    again = json.loads(command("import", "crawl", copy, old, "--json").stdout)
    assert (again["pages"], again["robots"]) == (0, 0)
    assert again["skipped"]["already here"] == 14
    for table, count in (("pages", 6), ("urls", 6), ("robots", 1)):
        assert column(tmp_path / "crawl", f"select count(*) from {table}") == [count]


def test_a_later_capture_is_another_visit_and_the_latest_by_date_counts(tmp_path, command):
    url = "http://old.test/"
    new = archive(tmp_path / "new.warc", {"http://old.test/z": html("Z"), url: html("New")})
    before = archive(tmp_path / "before.warc", {url: html("Before")})
    assert command("import", "crawl", new, before).returncode == 0
    assert column(tmp_path / "crawl", "select count(*) from pages") == [3]
    assert crivello.open(tmp_path / "crawl").get(url).title == "New"


def test_the_same_page_captured_twice_is_no_copy_of_itself(tmp_path, command):
    url = "http://old.test/"
    for number, name in enumerate(("one.warc", "two.warc")):
        fillers = {f"http://old.test/{n}": html(f"Page {n}") for n in range(number)}
        warc = archive(tmp_path / name, {**fillers, url: html("Home", "/b")})
        assert command("import", "crawl", warc).returncode == 0
    assert len(asked(tmp_path / "crawl", "select * from clusters")) == 1
    why = crivello.open(tmp_path / "crawl").why(url)
    assert (why.duplicate_of, why.copies) == (None, [])


def test_a_crawl_goes_on_from_an_import_and_asks_for_nothing_that_came_with_it(tmp_path, command):
    with SmallWeb(WEB) as web:

        def record(path: str) -> tuple[int, list[tuple[str, str]], bytes]:
            answer = WEB[path]
            return answer.status, list(answer.headers.items()), answer.body

        imported = ("/", "/a", "/moved")
        file = archive(
            tmp_path / "old.warc.gz", {web.root + path: record(path) for path in imported}
        )
        assert command("import", "crawl", file).returncode == 0
        seedless = command("crawl", "-o", "crawl")
        assert seedless.returncode == 2
        assert "has no seed, so nothing is in its scope" in seedless.stderr
        done = command("crawl", f"{web.root}/", "-o", "crawl", "--delay", "0")
        assert done.returncode == 0, done
        asked_for = Counter(web.paths)
        assert asked_for == Counter(["/robots.txt", "/b", "/lost", "/late", "/later"])
        rows = asked(tmp_path / "crawl", "select url, state from urls_state").to_pylist()
        assert {row["url"].removeprefix(web.root): row["state"] for row in rows} == {
            "/": "stored", "/a": "stored", "/moved": "redirect", "/b": "stored",
            "/lost": "failed", "/late": "stored", "/later": "stored", "/secret": "denied",
        }  # fmt: skip
        chain = crivello.open(tmp_path / "crawl").why(f"{web.root}/later").chain
        assert [step.link for step in chain] == ["imported", "a", "a"]
        web.answers = {}
        assert command("crawl", "-o", "crawl").returncode == 0
        assert Counter(web.paths) == asked_for


def test_a_crawl_takes_an_archive_in_between(tmp_path, command, old):
    with SmallWeb(WEB) as web:
        begun = ["crawl", f"{web.root}/", "-o", "crawl", "--delay", "0", "--max-pages", "1"]
        assert command(*begun).returncode == 0
        assert command("import", "crawl", old).returncode == 0
        assert command("crawl", "-o", "crawl", "--max-pages", "100").returncode == 0
        assert sorted(Counter(web.paths).values())[-1] == 1
    assert column(tmp_path / "crawl", "select count(distinct visit) = count(*) from pages") == [
        True
    ]
    hosts = column(tmp_path / "crawl", "select distinct host from pages order by 1")
    assert hosts == [web.root.removeprefix("http://"), "old.test"]
    # What is linked from the import but out of the crawl's scope is not asked for.
    assert "http://old.test/x" not in column(tmp_path / "crawl", "select url from urls")


@pytest.mark.skipif(shutil.which("wget") is None, reason="needs wget")
@pytest.mark.parametrize("more", [[], ["--no-warc-compression"]])
def test_a_site_that_wget_has_archived_is_the_site(tmp_path, command, more):
    with SmallWeb(WEB) as web:
        subprocess.run(
            ["wget", "-q", "-r", "--delete-after", "--warc-file=site", *more, f"{web.root}/"],
            cwd=tmp_path, check=False, timeout=60,
        )  # fmt: skip
        (file,) = tmp_path.glob("site.warc*")
        done = command("import", "crawl", file, "--json")
        assert done.returncode == 0, done
        rows = asked(
            tmp_path / "crawl",
            "select url, status, title, links from pages left join (select src_hash,"
            " count(*) links from links group by 1) on url_hash = src_hash",
        )
        found = {row["url"].removeprefix(web.root): row for row in rows.to_pylist()}
        assert set(found) == {"/", "/a", "/b", "/moved", "/lost", "/late", "/later"}
        assert found["/a"]["title"] == "A"
        assert found["/a"]["links"] == 3
        assert found["/lost"]["status"] == 404
        assert column(tmp_path / "crawl", "select count(*) from robots") == [1]
        assert command("get", "crawl", f"{web.root}/a", "--body").stdout.encode() == WEB["/a"].body
        before = web.paths
        assert command("crawl", f"{web.root}/", "-o", "crawl", "--delay", "0").returncode == 0
        assert web.paths == before


def test_damage_is_told_and_the_rest_imported(tmp_path, command, old):
    data = old.read_bytes()
    broken = tmp_path / "broken.warc.gz"
    broken.write_bytes(data[:-20])
    done = command("import", "crawl", broken, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["pages"] == 6
    assert "broken.warc.gz: byte" in done.stderr


def test_what_is_no_archive_is_refused_in_one_line(tmp_path, command, old):
    assert "No such file" in command.refuses("import", "crawl", "absent.warc")
    (tmp_path / "page.html").write_text("<p>no archive")
    done = command("import", "other", "page.html")
    assert done.returncode == 1
    assert "holds no WARC record" in done.stderr
    assert "is a directory" in command.refuses("import", "crawl", ".")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").write_text("x")
    assert "not a crawl" in command.refuses("import", "full", old)
