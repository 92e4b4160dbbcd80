"""`crivello serve` from outside, without a browser: what it answers, to whom, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from commands import Command, until
from served import CHAPTERS, SCRIPT, Served, crawl, site
from small_web import SmallWeb

import crivello

PAGES = ["/", "/?q=sieve", "/?q=(", "/?q=nowhere", "/status", "/status/live", "/api", "/lost"]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    return Command(tmp_path_factory.mktemp("serve"))


@pytest.fixture(scope="module")
def web() -> Iterator[SmallWeb]:
    with SmallWeb(site()) as web:
        yield web


@pytest.fixture(scope="module")
def directory(command: Command, web: SmallWeb) -> Path:
    return crawl(command, web)


@pytest.fixture(scope="module")
def served(command: Command, directory: Path) -> Iterator[Served]:
    with Served(command, directory) as served:
        yield served


def words(html: str) -> str:
    """The text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def hits(html: str) -> list[str]:
    """The URLs of the results of a page."""
    return [unescape(url) for url in re.findall(r'<a href="(http[^"]*)" rel', html)]


def test_the_api_answers_what_the_commands_print(command, directory, served):
    for name, arguments, parameters in (
        ("search", ["sieve chapter", "-k", "3"], {"q": "sieve chapter", "k": 3}),
        ("search", ["sieve", "--offset", "20"], {"q": "sieve", "offset": 20}),
        ("status", [], {}),
    ):
        printed = json.loads(command(name, directory, *arguments, "--json").stdout)
        reply = served.get(f"/api/{name}", **parameters)
        assert reply.status == 200
        assert reply.headers["content-type"] == "application/json"
        assert reply.json | {"took_ms": 0} == printed | {"took_ms": 0}
    assert served.get("/api/search", q="sieve", k=3).json["total"] == CHAPTERS
    assert served.get("/healthz").json == {"status": "ok"}


def test_results_are_shown_page_by_page_each_once(web, served):
    found = []
    for number in (1, 2, 3):
        page = served.get("/", q="sieve", page=number)
        assert page.status == 200
        assert f"{CHAPTERS} pages" in words(page.text)
        found += hits(page.text)
    assert sorted(found) == sorted(f"{web.root}/chapter/{n}" for n in range(1, CHAPTERS + 1))
    assert 'aria-current="page">3<' in page.text
    assert ">Next<" not in page.text
    beyond = served.get("/", q="sieve", page=77)
    assert "There are no more results" in words(beyond.text)
    for nonsense in ("0", "-1", "x", "", "99999999999"):
        assert served.get("/", q="sieve", page=nonsense).status == 200


def test_a_query_that_cannot_be_read_is_an_error_in_its_place(served):
    page = served.get("/", q='sieve (chapter OR "one"')
    assert page.status == 400
    assert "<code>sieve <mark>(</mark>chapter OR &#34;one&#34;</code>" in page.text
    assert 'aria-invalid="true"' in page.text
    reply = served.get("/api/search", q='sieve (chapter OR "one"')
    assert reply.status == 400
    assert reply.json["position"] == 6
    assert reply.json["error"].startswith("query: character 7: ")


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({}, "q: "),
        ({"q": ""}, "q: "),
        ({"q": "x" * 1001}, "q: "),
        ({"q": "a", "k": 0}, "k: "),
        ({"q": "a", "k": 101}, "k: "),
        ({"q": "a", "k": "many"}, "k: "),
        ({"q": "a", "offset": -1}, "offset: "),
        ({"q": "a", "offset": 1001}, "offset: "),
    ],
)
def test_parameters_out_of_bounds_are_refused_in_one_line(served, parameters, told):
    reply = served.get("/api/search", **parameters)
    assert reply.status == 422
    assert reply.json["error"].startswith(told)
    assert "\n" not in reply.json["error"]


def test_a_query_that_is_too_long_is_refused_on_the_page(served):
    page = served.get("/", q="x" * 1001)
    assert page.status == 400
    assert "1,001 characters" in words(page.text)


def test_what_is_stored_of_a_page_is_shown(web, served):
    page = served.get("/page", url=f"{web.root}/chapter/3")
    assert page.status == 200
    told = words(page.text)
    assert "Chapter 3" in told
    assert f"on {web.root}/ , 1 link from a seed" in told
    assert "The sieve of chapter number3 lets every address out once." in told
    place = re.search(r"(agents/0/warc/\S+\.warc\.gz) , ([\d,]+) bytes from ([\d,]+) on", told)
    assert place is not None
    moved = served.get("/page", url=f"{web.root}/old")
    assert f"Leads to {web.root}/chapter/1" in words(moved.text)
    lost = served.get("/page", url=f"{web.root}/lost")
    assert "Answer 404, http-404" in words(lost.text)
    first, second = (words(served.get("/page", url=f"{web.root}/twin/{x}").text) for x in "ab")
    repeating, repeated = (first, second) if "Repeats" in first else (second, first)
    assert re.search(rf"Repeats {web.root}/twin/[ab] \(exact\)", repeating)
    assert re.search(rf"Repeated by {web.root}/twin/[ab] \(exact\)", repeated)


def test_the_place_in_the_archive_is_the_right_one(web, served, directory):
    told = words(served.get("/page", url=f"{web.root}/chapter/3").text)
    file, length, offset = re.search(
        r"(agents/0/warc/\S+\.warc\.gz) , ([\d,]+) bytes from ([\d,]+) on", told
    ).groups()
    start, size = int(offset.replace(",", "")), int(length.replace(",", ""))
    import gzip

    record = gzip.decompress((directory / file).read_bytes()[start : start + size])
    assert f"WARC-Target-URI: {web.root}/chapter/3\r\n".encode() in record


@pytest.mark.parametrize(
    ("url", "status", "told"),
    [
        ("http://never.example/", 404, "has not met this URL"),
        ("javascript:alert(1)", 400, "url: "),
        ("", 400, "url: "),
        ("http://x.example/" + "x" * 4096, 400, "characters"),
    ],
)
def test_a_url_that_is_not_there_or_is_none_is_an_error(served, url, status, told):
    page = served.get("/page", url=url)
    assert page.status == status
    assert told in words(page.text)


def test_what_a_page_says_stays_text(web, served):
    search = served.get("/", q="hostility")
    stored = served.get("/page", url=f"{web.root}/hostile")
    for page in (search, stored):
        assert page.status == 200
        assert SCRIPT not in page.text
        assert "onerror=&#34;" in page.text
        assert "<img src=x" not in page.text
        assert 'onclick="' not in page.text
        assert f'A {SCRIPT} "title"' in unescape(page.text)
    echoed = served.get("/", q=f"{SCRIPT}\"'")
    assert SCRIPT not in echoed.text
    lost = served.get("/page", url=f"http://x.example/{SCRIPT}")
    assert SCRIPT not in lost.text


def test_every_answer_says_what_browsers_must_refuse(served):
    others = ["/api/status", "/api/search?q=(", "/api/nothing", "/static/style.css", "/healthz"]
    replies = [served.get(path) for path in [*PAGES, *others]]
    for reply in [*replies, served.get("/", host="evil.example")]:
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert "server" not in reply.headers


def test_pages_load_nothing_from_outside_and_links_out_tell_nothing(served):
    for path in PAGES:
        html = served.get(path).text
        loaded = re.findall(r"<(?:link|script|img)\b[^>]*?(?:href|src)=\"([^\"]*)\"", html)
        assert all(url.startswith("/static/") for url in loaded), path
        assert "style=" not in html
        assert not re.search(r"<script[^>]*>[^<]", html)
        for tag in re.findall(r"<a [^>]*href=\"http[^>]*>", html):
            assert 'rel="noreferrer nofollow"' in tag
    for file in ("style.css", "pages.js", "sieve.svg"):
        text = served.get(f"/static/{file}").text.replace("http://www.w3.org/2000/svg", "")
        assert "//" not in re.sub(r"^// .*$|\s// .*$", "", text, flags=re.M)


@pytest.mark.parametrize(
    ("host", "answered"),
    [
        ("127.0.0.1:{port}", True),
        ("localhost:{port}", True),
        ("LOCALHOST", True),
        ("[::1]:{port}", True),
        ("evil.example:{port}", False),
        ("localhost.evil.example", False),
        ("evil.example@localhost", False),
        ("", False),
        ("localhost:{port}:1", False),
    ],
)
def test_only_addresses_and_own_names_are_answered(served, host, answered):
    reply = served.get("/api/status", host=host.format(port=served.port))
    assert reply.status == (200 if answered else 421), reply
    assert ("pages_stored" in reply.text) == answered


def test_a_name_that_is_allowed_is_answered(command, directory):
    with Served(command, directory, "--name", "search.example.org") as served:
        assert served.get("/", host="Search.example.org").status == 200
        assert served.get("/", host="evil.example").status == 421
    with Served(command, directory, "--name", "*") as served:
        assert served.get("/", host="any.example").status == 200


def test_the_api_is_documented_from_its_code(served):
    schema = served.get("/api/openapi.json").json
    assert set(schema["paths"]) == {"/api/search", "/api/status", "/healthz"}
    told = words(served.get("/api").text)
    for path in schema["paths"]:
        assert f"GET {path}" in told
    assert "offset How many of the best to pass over. 0 to 1,000 0" in told
    assert served.get("/docs").status == 404


def test_the_status_page_tells_what_the_tables_hold(web, served, directory):
    told = words(served.get("/status").text)
    status = crivello.open(directory).status()
    assert "finished nothing is left to crawl" in told
    assert f"Pages {status['pages_stored']}" in told
    assert f"{urlsplit(web.root).netloc} {status['pages_stored']} 1 " in told
    assert "http-404 1" in told
    assert f"exact {status['duplicates']['exact']}" in told
    assert re.search(r"sieve [\d.]+ \w+", told)
    assert re.search(r"Index \d+ pages, 1 segment", told)
    assert "a bar: " in told


def test_a_crawl_that_was_not_begun_says_so(command):
    crivello.Crawl(command.directory / "made", seeds=["http://127.0.0.1:9/"])
    with Served(command, "made") as served:
        assert "has not been crawled yet" in words(served.get("/status").text)
        assert served.get("/api/status").status == 503
        assert "crivello index made" in words(served.get("/").text)


def test_an_index_that_comes_and_grows_is_searched_without_a_restart(tmp_path):
    command = Command(tmp_path)
    with SmallWeb(site(3)) as web:
        crawl(command, web, "--no-index")
        with Served(command, "crawl") as served:
            assert served.get("/api/search", q="sieve").status == 503
            page = served.get("/", q="sieve")
            assert page.status == 503
            assert "crivello index crawl" in words(page.text)
            made = command("index", "crawl")
            assert made.returncode == 0, made.stderr
            assert served.get("/api/search", q="sieve").json["total"] == 3
            web.answers |= {"/new": site(1)["/chapter/1"]}
            again = command("crawl", f"{web.root}/new", "-o", "crawl", "--index")
            assert again.returncode == 0, again.stderr
            assert served.get("/api/search", q="sieve").json["total"] == 4


def test_an_error_of_the_server_is_no_traceback(tmp_path, directory):
    import shutil

    shutil.copytree(directory, tmp_path / "copy")
    (tmp_path / "copy/index/index.json").write_text("{", "utf-8")
    (tmp_path / "copy/agents/0/status.json").write_text("[]", "utf-8")
    with Served(Command(tmp_path), "copy") as served:
        page = served.get("/", q="sieve")
        assert page.status == 500
        assert "is damaged" in words(page.text)
        for path in ("/status", "/api/status"):
            broken = served.get(path)
            assert broken.status == 500
            assert "an error of the server; its terminal says which" in broken.text
        assert served.get("/healthz").status == 200
        code, told = served.end()
    assert code == 0
    assert "Traceback" not in told
    assert [line.split(": ")[1] for line in told.splitlines()] == ["'/status'", "'/api/status'"]


def test_what_is_wrong_at_the_start_is_one_line(command, directory):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = command.refuses("serve", directory, "--port", port, code=1)
        assert f"port {port} is in use" in told
    assert "no such directory" in command.refuses("serve", "nowhere")
    assert "is not a crawl" in command.refuses("serve", command.directory)
    assert "--port" in command.refuses("serve", directory, "--port", "70000")
    assert "--host" in command.refuses("serve", directory, "--host", "no name")
    assert "--host 192.0.2.1" in command.refuses("serve", directory, "--host", "192.0.2.1")


def test_who_else_can_read_the_crawl_is_said(command, directory):
    with Served(command, directory, "--host", "0.0.0.0") as served:
        assert served.get("/healthz", host="127.0.0.1").status == 200
        code, told = served.end()
    assert code == 0
    assert "0.0.0.0 is not loopback" in told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(command, directory, number):
    served = Served(command, directory)
    assert served.get("/healthz").status == 200
    assert served.end(number) == (0, "")


def test_what_a_running_crawl_stores_is_seen(tmp_path):
    command = Command(tmp_path)
    with SmallWeb(site(60)) as web:
        options = ["-o", "crawl", "--delay", "0.1", "--checkpoint-every", "0.2"]
        running = command.start("crawl", f"{web.root}/", *options)
        until((tmp_path / "crawl/agents/0/status.json").exists, "the crawl has begun")
        with Served(command, "crawl") as served:
            seen = until(lambda: served.get("/api/status").json["pages_stored"], "a page is stored")
            assert 'class="badge running"' in served.get("/status").text
            assert 'data-every="2"' in served.get("/status/live").text
            until(lambda: served.get("/api/status").json["pages_stored"] > seen, "more are stored")
            until(lambda: served.get("/page", url=f"{web.root}/").status == 200, "one is shown")
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60)
            assert served.get("/api/status").json["state"] != "running"
            assert 'data-every="10"' in served.get("/status/live").text


@pytest.mark.parametrize(
    "odd", ["%FF%FE", "%00", "%ED%A0%80", "(" * 300, "%22" * 301, "%F0%9F%98%80"]
)
def test_odd_bytes_are_answered_and_no_error_of_the_server(served, odd):
    for path in ("/?q=", "/api/search?q=", "/page?url=", "/page?url=http://x.example/"):
        reply = served.get(path + odd)
        assert reply.status in (200, 400, 404), (path, reply)
        reply.text.encode("utf-8")
    assert served.get("/static/..%2f..%2fapp.py").status == 404
    assert served.get("/static/../app.py").status == 404
