"""Content codings as Scrapy's suite has met them (tests/data/http-compression)."""

from __future__ import annotations

import gzip
import resource
from pathlib import Path

import pytest

from crivello._native import decode_content

DATA = Path(__file__).parent.parent / "data" / "http-compression"
NO_LIMIT = 1 << 26


def read(name: str) -> bytes:
    return (DATA / name).read_bytes()


HTML = gzip.decompress(read("html-gzip.bin"))


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("html-br.bin", "br"),
        ("html-gzip.bin", "gzip"),
        ("html-gzip.bin", "x-gzip"),
        ("html-rawdeflate.bin", "deflate"),
        ("html-zlibdeflate.bin", "deflate"),
        ("html-zstd-static-content-size.bin", "zstd"),
        ("html-zstd-static-no-content-size.bin", "zstd"),
        ("html-zstd-streaming-no-content-size.bin", "zstd"),
        ("html-gzip-deflate.bin", "gzip, deflate"),
        ("html-gzip-deflate-gzip.bin", "gzip, deflate, gzip"),
    ],
)
def test_a_page_comes_back_whole(name, header):
    body, truncated, error = decode_content(header, read(name), limit=NO_LIMIT)
    assert (truncated, error) == (False, None)
    assert body == (HTML.replace(b"gzip", b"deflate") if header == "deflate" else HTML)


def test_a_feed_comes_back_whole():
    body, truncated, error = decode_content("gzip", read("feed-sample1.xml.gz"), limit=NO_LIMIT)
    assert (body, truncated, error) == (read("feed-sample1.xml"), False, None)


@pytest.mark.parametrize(
    ("name", "size", "ending"),
    [
        ("truncated-crc-error.gz", 25_542, b"</body>\n</html"),
        ("truncated-crc-error-short.gz", 3_741, b"</body>\n</html>"),
    ],
)
def test_a_page_without_its_checksum_is_kept(name, size, ending):
    body, truncated, error = decode_content("gzip", read(name), limit=NO_LIMIT)
    assert (len(body), body.endswith(ending)) == (size, True)
    assert (truncated, error) == (True, "coding-unfinished")


def test_what_came_before_an_early_end_is_kept():
    body, truncated, error = decode_content("gzip", read("unexpected-eof.gz"), limit=NO_LIMIT)
    expected = read("unexpected-eof-output.txt").decode()
    assert body.decode("cp1252", "replace") == expected
    assert (truncated, error) == (True, "coding-unfinished")


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip", "zstd"])
@pytest.mark.parametrize("limit", [0, 1, 1000, 1 << 20])
def test_a_bomb_stops_at_the_limit(coding, limit):
    bomb = read(f"bomb-{coding}.bin")
    body, truncated, error = decode_content(coding, bomb, limit=limit)
    assert (len(body), truncated, error) == (limit, True, None)


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip", "zstd"])
def test_a_bomb_costs_bounded_memory(coding):
    bomb = read(f"bomb-{coding}.bin")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        decode_content(coding, bomb, limit=10_000)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 32 * 1024
