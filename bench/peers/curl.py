"""The least that a crawler in Python can be: libcurl's multi interface, lexbor, a set.

python curl.py SEED DOMAIN CONNECTIONS
"""

from __future__ import annotations

import io
import sys
from collections import deque
from urllib.parse import urldefrag, urljoin, urlsplit

import pycurl
from selectolax.lexbor import LexborHTMLParser


def links(base: str, body: bytes) -> set[str]:
    """What the page's anchors lead to."""
    found = set()
    for node in LexborHTMLParser(body).css("a[href],area[href]"):
        try:
            found.add(urldefrag(urljoin(base, node.attributes["href"] or "")).url)
        except ValueError:
            continue
    return found


def main(seed: str, domain: str, connections: int) -> None:
    """Crawl until nothing is left."""
    multi = pycurl.CurlMulti()
    multi.setopt(pycurl.M_MAXCONNECTS, 2 * connections)
    idle = [pycurl.Curl() for _ in range(connections)]
    for curl in idle:
        curl.setopt(pycurl.FOLLOWLOCATION, 1)
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.DNS_CACHE_TIMEOUT, 3600)
    seen, waiting, pages, busy = {seed}, deque([seed]), 0, {}
    while waiting or busy:
        while waiting and idle:
            curl = idle.pop()
            busy[curl] = io.BytesIO()
            curl.setopt(pycurl.URL, waiting.popleft().encode())
            curl.setopt(pycurl.WRITEDATA, busy[curl])
            multi.add_handle(curl)
        while multi.perform()[0] == pycurl.E_CALL_MULTI_PERFORM:
            pass
        _, done, failed = multi.info_read()
        for curl in [*done, *(each[0] for each in failed)]:
            body = busy.pop(curl).getvalue()
            multi.remove_handle(curl)
            idle.append(curl)
            html = "html" in (curl.getinfo(pycurl.CONTENT_TYPE) or "")
            if curl.getinfo(pycurl.RESPONSE_CODE) != 200 or not html:
                continue
            pages += 1
            for url in links(curl.getinfo(pycurl.EFFECTIVE_URL), body) - seen:
                parts = urlsplit(url)
                if parts.scheme == "http" and f".{parts.hostname}".endswith(f".{domain}"):
                    seen.add(url)
                    waiting.append(url)
        if busy and not done:
            multi.select(0.05)
    print(pages, "pages")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
