"""Records are judged by the field's own readers: warcio and FastWARC."""

from __future__ import annotations

import io
import json
import random
from dataclasses import dataclass

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from crivello._native import WarcRecords, cdxj_line

DATE_US = 1_763_501_743_000_042
URL = "http://example.org/a?b=c"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


@dataclass(frozen=True)
class Read:
    """What a reader says of a record; header names in lower case."""

    kind: str
    fields: dict[str, str]
    status: str
    http: dict[str, str]
    body: bytes


def by_warcio(packed: bytes) -> list[Read]:
    reads = []
    for record in ArchiveIterator(io.BytesIO(packed), check_digests="raise"):
        http = record.http_headers
        reads.append(
            Read(
                record.rec_type,
                {name.lower(): value for name, value in record.rec_headers.headers},
                http.get_statuscode() if http else "",
                {name.lower(): value for name, value in http.headers} if http else {},
                record.raw_stream.read(),
            )
        )
    return reads


def by_fastwarc(packed: bytes) -> list[Read]:
    reads = []
    for record in FastIterator(io.BytesIO(packed), record_types=WarcRecordType.any_type):
        http = record.http_headers
        body = record.reader.read()
        fields = {name.lower(): value for name, value in record.headers.items()}
        reads.append(
            Read(
                fields["warc-type"],
                fields,
                str(http.status_code) if http and http.status_code else "",
                {name.lower(): value for name, value in http.items()} if http else {},
                body,
            )
        )
    return reads


READERS = pytest.mark.parametrize("read", [by_warcio, by_fastwarc])


@READERS
def test_a_file_reads_back_record_by_record(read):
    warc = WarcRecords(key=9)
    info = warc.warcinfo({"software": "crivello"}, filename="a.warc.gz", date_us=DATE_US)
    response = warc.response(URL, DATE_US, "192.0.2.1", HEAD, b"<p>a", "length", 1)
    request = warc.request(URL, DATE_US, "192.0.2.1", b"GET /a?b=c HTTP/1.1\r\n\r\n", visit=1)
    revisit = warc.revisit(
        URL, DATE_US, "::1", HEAD, b"<p>a", original_url=URL, original_date_us=0, visit=2
    )
    reads = read(info + response + request + revisit)
    assert [each.kind for each in reads] == ["warcinfo", "response", "request", "revisit"]
    assert reads[0].fields["warc-filename"] == "a.warc.gz"
    assert reads[0].body == b"software: crivello\r\n"
    assert reads[1].fields["warc-date"] == "2025-11-18T21:35:43.000042Z"
    assert reads[1].fields["warc-target-uri"] == URL
    assert reads[1].fields["warc-ip-address"] == "192.0.2.1"
    assert reads[1].fields["warc-truncated"] == "length"
    assert (reads[1].status, reads[1].body) == ("200", b"<p>a")
    assert reads[1].http == {"content-type": "text/html", "content-length": "4"}
    assert reads[2].fields["warc-concurrent-to"] == reads[1].fields["warc-record-id"]
    assert reads[3].fields["warc-refers-to-target-uri"] == URL
    assert reads[3].fields["warc-payload-digest"] == reads[1].fields["warc-payload-digest"]
    assert (reads[3].status, reads[3].body) == ("200", b"")
    assert len({each.fields["warc-record-id"] for each in reads}) == 4


BAD_HEADS = {
    "bare line feeds": b"HTTP/1.1 200 OK\nX-A: 1\n\n",
    "no reason": b"HTTP/1.1 200\r\nX-A: 1\r\n\r\n",
    "folded": b"HTTP/1.1 200 OK\r\nX-B: 2\r\n  and\r\n\tmore\r\nX-A: 1\r\n\r\n",
    "fold without a field": b"HTTP/1.1 200 OK\r\n folded\r\nX-A: 1\r\n\r\n",
    "bytes above 127": b"HTTP/1.1 200 D\xe9j\xe0\r\nX-B: \xff\xfe\r\nX-A: 1\r\n\r\n",
    "utf-8": "HTTP/1.1 200 déjà\r\nX-B: vu\r\nX-A: 1\r\n\r\n".encode(),
    "no colon": b"HTTP/1.1 200 OK\r\ngarbage\r\nX-A: 1\r\n\r\n",
    "no name": b"HTTP/1.1 200 OK\r\n: x\r\nX-A: 1\r\n\r\n",
    "space before colon": b"HTTP/1.1 200 OK\r\nX-A : 1\r\n\r\n",
    "control bytes": b"HTTP/1.1 200 OK\r\nX-B: \x00\r\x01\r\nX-A: 1\r\n\r\n",
    "not http": b"ICY 200 OK\r\nX-A: 1\r\n\r\n",
    "a later version": b"HTTP/2 200\r\nX-A: 1\r\n\r\n",
    "no blank line": b"HTTP/1.1 200 OK\r\nX-A: 1",
    "wrong length": b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-A: 1\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 7\r\nX-A: 1\r\n\r\n",
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n",
    "coded": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nX-A: 1\r\n\r\n",
}


@READERS
@pytest.mark.parametrize("name", BAD_HEADS)
def test_a_bad_head_still_reads(read, name):
    packed = WarcRecords().response(URL, DATE_US, None, BAD_HEADS[name], b"\x1f\x8bab")
    [record] = read(packed)
    assert record.status == "200"
    assert record.http["x-a"] == "1"
    assert record.http["content-length"] == "4"
    assert record.body == b"\x1f\x8bab"


def test_hostile_heads_never_break_a_file():
    seed = 20261118
    rng = random.Random(seed)
    print(f"seed {seed}")
    warc = WarcRecords()
    bits = [b"\r\n", b"\n", b"\r", b":", b" ", b"\t", b"HTTP/1.1", b"200", b"X", b"\x00", b"\xe9"]
    bits += [b"Content-Length", b"Transfer-Encoding", b"WARC/1.1", b"4"]
    heads = [b"".join(rng.choices(bits, k=rng.randrange(40))) for _ in range(300)]
    packed = b"".join(
        warc.response(URL, DATE_US, None, head, b"body", visit=i) for i, head in enumerate(heads)
    )
    for read in (by_warcio, by_fastwarc):
        reads = read(packed)
        assert [each.body for each in reads] == [b"body"] * len(heads)
        assert {each.http["content-length"] for each in reads} == {"4"}


@pytest.mark.parametrize("body", [b"", b"x", b"<p>caf\xe9" * 10_000])
def test_digests_are_what_readers_recompute(tmp_path, body):
    path = tmp_path / "a.warc.gz"
    path.write_bytes(WarcRecords().response(URL, DATE_US, None, HEAD, body))
    checker = Checker(type("Options", (), {"inputs": [str(path)], "verbose": False})())
    checker.process_all()
    assert checker.exit_value == 0
    whole = iter(FastIterator(io.BytesIO(path.read_bytes()), parse_http=False))
    assert next(whole).verify_block_digest()
    parsed = iter(FastIterator(io.BytesIO(path.read_bytes())))
    assert next(parsed).verify_payload_digest()


def test_zstd_files_read_back():
    warc = WarcRecords(compression="zstd")
    assert warc.extension == "warc.zst"
    bodies = [b"a" * 1000, b"", b"<p>b"]
    packed = b"".join(
        warc.response(URL, DATE_US, None, HEAD, body, visit=i) for i, body in enumerate(bodies)
    )
    assert [each.body for each in by_fastwarc(packed)] == bodies


def test_a_record_can_be_read_alone_by_its_offset():
    warc = WarcRecords()
    first = warc.response(URL, DATE_US, None, HEAD, b"one", visit=1)
    second = warc.response(URL, DATE_US, None, HEAD, b"two", visit=2)
    packed = first + second
    line = cdxj_line(
        URL,
        DATE_US,
        status=200,
        mime="text/html",
        digest="sha1:x",
        filename="a.warc.gz",
        offset=len(first),
        length=len(second),
    )
    key, stamp, fields = line.split(" ", 2)
    found = json.loads(fields)
    assert (key, stamp, found["status"]) == ("org,example)/a?b=c", "20251118213543", "200")
    start, length = int(found["offset"]), int(found["length"])
    [record] = by_warcio(packed[start : start + length])
    assert record.body == b"two"


def test_writing_a_visit_again_gives_the_same_bytes():
    def make(key: int, visit: int) -> bytes:
        return WarcRecords(key=key).response(URL, DATE_US, None, HEAD, b"x", visit=visit)

    assert make(1, 2) == make(1, 2)
    assert len({make(1, 2), make(1, 3), make(2, 2)}) == 3


def test_wrong_arguments_are_refused_in_one_line():
    with pytest.raises(ValueError, match="level 13"):
        WarcRecords(level=13)
    with pytest.raises(ValueError, match="neither"):
        WarcRecords(compression="lzma")
    with pytest.raises(ValueError, match="no IP address"):
        WarcRecords().response(URL, DATE_US, "localhost", HEAD, b"")
