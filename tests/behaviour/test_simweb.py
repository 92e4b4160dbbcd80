"""The simulated web: what it says is true is true, and what it breaks is broken."""

from __future__ import annotations

import gzip
import http.client
import json
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections import Counter
from urllib.parse import urldefrag, urljoin, urlsplit

import lxml.html
import pyarrow.parquet as pq
import pytest

from crivello.errors import Error, UsageError
from crivello.simweb import SimWeb

RUN = "import typer; from crivello.cli.simweb import simweb; typer.run(simweb)"


class Client:
    """Asks over one kept-alive connection, as plainly as the standard library can."""

    def __init__(self, web: SimWeb) -> None:
        self.web = web
        self.connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=10)

    def get(self, url: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
        parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request("GET", path, headers={"Host": parts.netloc, **names})
        try:
            response = self.connection.getresponse()
            return response, response.read()
        except (http.client.HTTPException, OSError):
            self.connection.close()
            raise


def links(url: str, response: http.client.HTTPResponse, body: bytes) -> set[str]:
    """What `a` elements lead to, as lxml reads them."""
    charset = response.headers.get_content_charset()
    parser = lxml.html.HTMLParser(encoding=charset) if charset else None
    document = lxml.html.document_fromstring(body, parser=parser)
    base = (document.xpath("//base/@href") or [url])[0]
    targets = {urldefrag(urljoin(base, href.strip()))[0] for href in document.xpath("//a/@href")}
    return {target for target in targets if target.startswith("http")}


def raw(web: SimWeb, url: str) -> bytes:
    """All bytes until the server closes, stops for a second, or resets (which raises)."""
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    with socket.create_connection(("127.0.0.1", web.port), timeout=1) as stream:
        stream.sendall(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
        received = b""
        while True:
            try:
                more = stream.recv(65536)
            except TimeoutError:
                return received
            if not more:
                return received
            received += more


@pytest.fixture(scope="module")
def wild():
    with SimWeb(hosts=20, pages=2000, profile="wild", time_scale=0.2) as web:
        yield web


@pytest.fixture(scope="module")
def rows(wild):
    return wild.truth().to_pylist()


def found(rows, **wanted):
    """The rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


@pytest.mark.parametrize("seed", [1, 7, 8])
def test_a_traversal_of_a_clean_web_finds_exactly_the_truth(seed):
    with SimWeb(hosts=20, pages=300, seed=seed) as web:
        truth = web.truth()
        assert truth.num_rows == web.pages == 300
        assert set(truth["status"].to_pylist()) == {200}
        client = Client(web)
        seen, queue, refused = {web.seed_url}, [web.seed_url], []
        while queue:
            url = queue.pop()
            response, body = client.get(url)
            if response.status != 200:
                refused.append(url)
            elif response.headers.get_content_type() == "text/html":
                fresh = links(url, response, body) - seen
                seen |= fresh
                queue += fresh
        assert refused == []
        assert seen == set(truth["url"].to_pylist())
        assert web.served == 300


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    with SimWeb(seed=7) as one, SimWeb(seed=7) as same, SimWeb(seed=8) as other:
        urls = one.truth()["url"].to_pylist()
        assert urls == same.truth()["url"].to_pylist()
        assert all(one.page(url) == same.page(url) for url in urls[::7])
        assert len(set(urls) & set(other.truth()["url"].to_pylist())) < 20
        assert one.page(one.seed_url) != other.page(other.seed_url)
        assert Client(one).get(urls[5])[1] == one.page(urls[5])[1]


def test_every_page_reads_as_its_truth_says_and_declares_it():
    with SimWeb(hosts=40, pages=1500) as web:
        client, charsets = Client(web), Counter()
        for row in web.truth().to_pylist():
            if row["charset"] is None or row["kind"] == "frames":
                continue
            response, body = client.get(row["url"])
            text = body.decode(row["charset"])
            charsets[row["charset"]] += 1
            assert "\ufffd" not in text
            assert f'<html lang="{row["lang"]}">' in text
            declared = (response.headers.get_content_charset() or "") + text[:400].lower()
            assert row["charset"] in declared or "utf-16" in declared or text[0] == "\ufeff"
        assert len(charsets) >= 10, charsets
        assert charsets["utf-8"] > 500


def test_pages_are_as_large_and_as_linked_as_real_ones():
    with SimWeb(hosts=50, pages=3000) as web:
        bodies = [web.page(url)[1] for url in web.truth()["url"].to_pylist()[::3]]
        hrefs = [body.count(b"href") for body in bodies]
        assert 13_000 < sum(map(len, bodies)) / len(bodies) < 19_000
        assert 40 < sum(hrefs) / len(hrefs) < 90
        assert max(hrefs) > 4 * sum(hrefs) / len(hrefs)


def test_answers_are_packed_in_chunks_and_conditional():
    with SimWeb(hosts=5, pages=400) as web:
        client, seen = Client(web), Counter()
        for url in web.truth()["url"].to_pylist():
            response, body = client.get(url, Accept_Encoding="gzip")
            if response.headers["Content-Encoding"] == "gzip":
                seen["gzip"] += 1
                assert gzip.decompress(body) == web.page(url)[1]
            seen["chunked"] += response.headers["Transfer-Encoding"] == "chunked"
            if tag := response.headers["ETag"]:
                again, nothing = client.get(url, If_None_Match=tag)
                assert (again.status, nothing) == (304, b"")
                seen["304"] += 1
        assert min(seen["gzip"], seen["chunked"]) > 15, seen
        assert seen["304"] > 100


def test_head_has_the_header_without_the_body_and_unknown_hosts_have_nothing():
    with SimWeb(hosts=3, pages=30) as web:
        connection = http.client.HTTPConnection("127.0.0.1", web.port)
        for method in ("HEAD", "GET"):
            connection.request(method, "/", headers={"Host": "www.sim"})
            response = connection.getresponse()
            body = response.read()
            length = int(response.headers["Content-Length"])
            assert len(body) == (length if method == "GET" else 0)
        for host, path in [("nobody.sim", "/"), ("www.sim", "/no/such-3.html")]:
            connection.request("GET", path, headers={"Host": host})
            response = connection.getresponse()
            response.read()
            assert response.status == 404
        connection.request("GET", "http://www.sim/", headers={"Host": "elsewhere"})
        assert connection.getresponse().read() == web.page("http://www.sim/")[1]


def test_the_largest_host_holds_at_most_a_twentieth():
    for profile in ("clean", "wild"):
        with SimWeb(hosts=200, pages=10_000, profile=profile) as web:
            counts = Counter(web.truth()["host"].to_pylist())
            assert max(counts.values()) <= 600
            assert sorted(counts.values())[-1] > 20 * sorted(counts.values())[50]


def test_the_log_has_a_line_a_request_in_order_of_arrival(tmp_path):
    with SimWeb(hosts=5, pages=60, log=tmp_path / "log") as web:
        client = Client(web)
        urls = web.truth()["url"].to_pylist()[:20]
        for url in urls:
            client.get(url)
        requests = web.requests()
        assert [f"http://{r.host}{r.path}" for r in requests] == urls
        times = [r.time_us for r in requests]
        assert times == sorted(times)
        assert abs(times[0] - time.time() * 1e6) < 60e6
        assert {(r.ip, r.status, r.connection) for r in requests} == {("127.0.0.1", 200, 1)}


def test_hosts_are_spread_over_addresses(tmp_path):
    with SimWeb(hosts=30, pages=100, addresses=3, log=tmp_path / "log") as web:
        places = dict(entry.split("=") for entry in web.resolve)
        assert set(places.values()) == {f"127.0.0.{n}:{web.port}" for n in (1, 2, 3)}
        assert list(places)[-1] == "*.sim"
        for host, place in places.items():
            connection = http.client.HTTPConnection(place.split(":")[0], web.port)
            connection.request("GET", "/", headers={"Host": host.replace("*", "www")})
            assert connection.getresponse().status == 200
        assert {r.ip for r in web.requests()} == {"127.0.0.1", "127.0.0.2", "127.0.0.3"}


def test_what_cannot_be_is_said_in_one_line(tmp_path):
    with SimWeb(hosts=1, pages=1) as web, pytest.raises(Error, match="give another port"):
        SimWeb(hosts=1, pages=1, port=web.port)
    with pytest.raises(UsageError, match="pages >= hosts"):
        SimWeb(hosts=10, pages=1)
    with pytest.raises(Error, match="cannot write the log"):
        SimWeb(hosts=1, pages=1, log=tmp_path / "no" / "log")
    with SimWeb(hosts=1, pages=1) as web:
        with pytest.raises(Error, match="cannot write the truth"):
            web.write_truth(tmp_path / "no" / "truth.parquet")
        with pytest.raises(UsageError, match="give SimWeb"):
            web.requests()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_one_line_and_serves_until_interrupted(tmp_path, number):
    truth = tmp_path / "truth.parquet"
    command = [sys.executable, "-c", RUN, "--hosts", "5", "--pages", "50", "--truth", str(truth)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        facts = json.loads(process.stdout.readline())
        assert facts["seed_url"] == "http://www.sim/"
        assert facts["pages"] == facts["truth_rows"] == pq.read_table(truth).num_rows == 50
        connection = http.client.HTTPConnection("127.0.0.1", facts["port"])
        connection.request("GET", "/", headers={"Host": "www.sim"})
        assert connection.getresponse().status == 200
        process.send_signal(number)
        assert process.stdout.read() == b""
        assert process.wait(10) == 0


@pytest.mark.parametrize("seed", [1, 7, 8])
def test_a_small_wild_web_shows_every_oddity(seed):
    with SimWeb(hosts=20, pages=2000, seed=seed, profile="wild") as web:
        rows = web.truth().to_pylist()
    assert len({row["url"] for row in rows}) == len(rows)
    names = {(row["kind"], row["reason"]) for row in rows}
    pages = {
        "redirect": "relative absolute other_host fragment chain loop itself no_location",
        "error": "not_found gone forbidden server_error",
        "busy": "429_once 503_twice 503_for_ever",
        "slow": "late_answer stalled_body",
        "broken": "closed_without_answer reset_without_answer closed_in_body reset_in_body "
        "not_http gzip_corrupt gzip_cut gzip_plain chunk_size chunks_cut",
        "framing": "no_length http/1.0 early_hints bare_head trailers",
        "content": "no_type binary empty charset_lie",
        "near": "words_changed same_text",
        "calendar": "trap",
        "session": "trap",
        "endless": "64_MiB",
        "refused": "connection",
        "page": "robots robots_unreachable slow_host http/1.0_host",
    }
    for kind, reasons in pages.items():
        for reason in reasons.split():
            assert (kind, reason.replace("_", " ")) in names, (kind, reason)
    assert any(row["kind"] == "mirror" for row in rows)
    assert {301, 302, 303, 307, 308} <= {row["status"] for row in rows}
    assert sum(row["changes_per_day"] > 0 for row in rows) > 50
    stored = found(rows, outcome="stored")
    assert len(stored) > 600
    assert all(row["status"] == 200 and row["certain"] for row in stored)


def test_a_traversal_of_a_wild_web_finds_all_that_is_certain(wild, rows):
    truth = {row["url"]: row for row in rows}
    client = Client(wild)
    seen, queue = {wild.seed_url}, [wild.seed_url]
    while queue:
        url = queue.pop()
        row = truth.get(url)
        if row is None:
            assert wild.page(url)[0] == 404, url
            continue
        fresh = set()
        if row["outcome"] == "redirect":
            fresh = {urldefrag(urljoin(url, row["location"]))[0]} if row["location"] else set()
        elif row["outcome"] == "stored" and row["lang"]:
            for _ in range(row["refusals"]):
                assert client.get(url)[0].status in (429, 503)
            response, body = client.get(url)
            if row["reason"] == "early hints":  # the standard library takes it for the answer
                client.connection.close()
                continue
            assert response.status == 200, row
            if row["kind"] not in ("near", "mirror", "content"):
                assert body == wild.page(url)[1] or row["changes_per_day"] or row["refusals"]
            fresh = links(url, response, body)
        fresh = {to for to in fresh if ":80/" not in to and "\\" not in to and "/some/" not in to}
        queue += fresh - seen
        seen |= fresh
    missing = [row for row in rows if row["certain"] and row["url"] not in seen]
    assert missing == []


def test_redirects_lead_where_the_truth_says(wild, rows):
    client = Client(wild)
    for row in found(rows, kind="redirect", outcome="redirect"):
        response, _ = client.get(row["url"])
        assert (response.status, response.headers["Location"]) == (row["status"], row["location"])


def test_what_is_broken_is_broken(wild, rows):
    bodies = {}
    for reason in ("closed without answer", "reset without answer", "reset in body"):
        url = found(rows, reason=reason)[0]["url"]
        try:
            bodies[reason] = raw(wild, url)
        except ConnectionResetError:
            bodies[reason] = None
    assert bodies == {
        "closed without answer": b"",
        "reset without answer": None,
        "reset in body": None,
    }
    for reason in ("closed in body", "chunk size", "chunks cut"):
        with pytest.raises(http.client.IncompleteRead):
            Client(wild).get(found(rows, reason=reason)[0]["url"])
    with pytest.raises(http.client.BadStatusLine):
        Client(wild).get(found(rows, reason="not http")[0]["url"])
    for reason in ("gzip corrupt", "gzip cut", "gzip plain"):
        _, body = Client(wild).get(found(rows, reason=reason)[0]["url"])
        with pytest.raises((EOFError, zlib.error, OSError)):
            gzip.decompress(body)


def test_odd_framing_still_holds_the_whole_page(wild, rows):
    for row in found(rows, kind="framing"):
        if row["reason"] == "early hints":
            answer = raw(wild, row["url"])
            assert answer.startswith(b"HTTP/1.1 103 ")
            body = answer.split(b"\r\n\r\n", 2)[2]
        else:
            body = Client(wild).get(row["url"])[1]
        assert body == wild.page(row["url"])[1], row


def test_waits_are_as_long_as_said(wild, rows):
    for reason, least in (("late answer", 0.1), ("stalled body", 0.5)):
        began = time.monotonic()
        Client(wild).get(found(rows, reason=reason)[0]["url"])
        assert 0.2 * least <= time.monotonic() - began < 5


def test_an_endless_page_is_longer_than_anybody_reads(wild, rows):
    url = found(rows, kind="endless")[0]["url"]
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", wild.port)
    connection.request("GET", parts.path, headers={"Host": parts.netloc})
    response = connection.getresponse()
    assert response.headers["Content-Length"] is None
    assert len(response.read(20 << 20)) == 20 << 20


def test_refused_hosts_refuse(wild, rows):
    row = found(rows, kind="refused")[0]
    place = dict(entry.split("=") for entry in wild.resolve)[row["host"]]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((place.split(":")[0], int(place.split(":")[1])), timeout=1)


def test_mirrors_have_the_bytes_of_their_originals(wild, rows):
    mirrored = [r for r in found(rows, kind="mirror") if r["changes_per_day"] == 0]
    assert len(mirrored) > 3
    for row in mirrored:
        assert wild.page(row["url"])[1] == wild.page(row["duplicate_of"])[1]


def test_near_duplicates_differ_in_as_many_words_as_the_truth_says(wild, rows):
    def words(url, charset):
        text = wild.page(url)[1].decode(charset)
        text = text.replace("><", "> <")
        return lxml.html.fromstring(text.split("?>")[-1].encode(), parser=PARSER).text_content()

    checked = 0
    for row in found(rows, kind="near"):
        if row["lang"] in ("ja", "zh"):
            continue
        one = words(row["url"], row["charset"]).split()
        two = words(row["duplicate_of"], row["charset"]).split()
        assert len(one) == len(two)
        assert sum(a != b for a, b in zip(one, two, strict=True)) == row["distance"], row
        checked += 1
    assert checked > 5


PARSER = lxml.html.HTMLParser(encoding="utf-8")


def test_robots_say_what_the_truth_says(wild, rows):
    from protego import Protego

    robots = {}
    client = Client(wild)
    for host in {row["host"] for row in rows}:
        status, location, body = 300, "/robots.txt", b""
        while 300 <= status < 400:
            response, body = None, None
            try:
                response, body = client.get(f"http://{host}{location}")
            except (http.client.HTTPException, OSError):
                break
            status = response.status
            location = urljoin(location, response.headers["Location"] or "")
        if body is not None:
            robots[host] = (status, body)
    sizes = [len(body) for _, body in robots.values()]
    assert max(sizes) > 500 << 10
    assert {200, 404, 503} <= {status for status, _ in robots.values()}
    for host, (status, body) in robots.items():
        mine = [row for row in rows if row["host"] == host]
        if status >= 500:
            assert {row["reason"] for row in mine} == {"robots unreachable"}
            continue
        text = body.decode("utf-8-sig", "replace").replace("\r", "\n")
        rules = Protego.parse(text if status == 200 else "")
        for row in mine:
            denied = not rules.can_fetch(row["url"], "crivello")
            assert denied == (row["outcome"] == "denied"), row
