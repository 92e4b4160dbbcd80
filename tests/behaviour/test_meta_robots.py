"""What pages ask of robots is obeyed and kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import crivello

LINKS = "<a href=/one>one</a> <a href=/two rel=nofollow>two</a>"
PAGES = {
    "/": "<a href=/meta>m</a> <a href=/header>h</a> <a href=/both>b</a>",
    "/meta": f"<meta name=robots content='noindex, nofollow'>{LINKS}",
    "/header": LINKS.replace("one", "three"),
    "/both": "<meta name=crivello content=noarchive>" + LINKS.replace("one", "four"),
    "/four": "the end",
}
TAGS = {"/header": "otherbot: noindex\r\nX-Robots-Tag: crivello: none", "/both": "nosnippet"}


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        body = PAGES.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        if self.path in TAGS:
            self.send_header("X-Robots-Tag", TAGS[self.path])
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_directives_of_pages_and_headers_are_obeyed_and_kept(tmp_path):
    with site() as origin:
        crawl = crivello.Crawl(tmp_path / "crawl", seeds=[f"{origin}/"], delay=0)
        crawl.run()
    rows = crawl.sql("select url, robots_flags from pages where status = 200")
    assert {url.removeprefix(origin): flags for url, flags in rows} == {
        "/": None,
        "/meta": 1 | 2,
        "/header": 1 | 2,
        "/both": 4 | 8,
        "/four": None,
    }
    links = crawl.sql("select distinct dst_url from links")
    assert {f"{origin}/one", f"{origin}/two", f"{origin}/three"} < {url for (url,) in links}
    asked = {url.removeprefix(origin) for (url,) in crawl.sql("select url from urls")}
    assert asked == {*PAGES}
