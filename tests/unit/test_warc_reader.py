"""The reader of archives gives what the field's own readers give, and survives any bytes."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pyarrow as pa
import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crivello._native import WarcReader

SAMPLE = Path(__file__).parents[1] / "data/links/link-extraction-test.warc"
CHUNKED = b"5\r\nhello\r\n7;x\r\n, world\r\n0\r\n\r\n"


def written(*, compressed: bool, version: str = "WARC/1.0") -> bytes:
    """A file with every type of record, by warcio."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=compressed, warc_version=version)
    writer.write_record(writer.create_warcinfo_record("a.warc", {"software": "warcio"}))
    for number, (headers, body) in enumerate(
        [
            ([("Content-Type", "text/html")], b"<title>plain</title>"),
            ([("Transfer-Encoding", "chunked")], CHUNKED),
            ([("Content-Encoding", "gzip")], gzip.compress(b"<p>packed", mtime=0)),
            ([("Content-Length", "99999")], b"much less"),
        ]
    ):
        url = f"http://example.org/{number}"
        head = StatusAndHeaders("200 OK", headers, protocol="HTTP/1.1")
        more = {"WARC-IP-Address": "192.0.2.7", "WARC-Date": f"2024-02-29T10:00:0{number}Z"}
        response = writer.create_warc_record(
            url, "response", payload=io.BytesIO(body), http_headers=head, warc_headers_dict=more
        )
        ask = StatusAndHeaders("GET / HTTP/1.1", [("Host", "example.org")], is_http_request=True)
        request = writer.create_warc_record(
            url, "request", payload=io.BytesIO(b""), http_headers=ask, warc_headers_dict=more
        )
        writer.write_request_response_pair(request, response)
    for kind, uri in (
        ("resource", "http://example.org/a.txt"),
        ("metadata", "urn:x:y"),
        ("conversion", "http://example.org/0"),
    ):
        writer.write_record(
            writer.create_warc_record(
                uri, kind, payload=io.BytesIO(b"some text"), warc_content_type="text/plain"
            )
        )
    return out.getvalue()


def rows(source: bytes | Path, **sizes: int) -> list[dict[str, object]]:
    reader = WarcReader(source)
    found: list[dict[str, object]] = []
    while (batch := reader.next_batch(**sizes)) is not None:
        found += pa.record_batch(batch).to_pylist()
    assert reader.problems() == []
    return found


@pytest.mark.parametrize("version", ["WARC/1.0", "WARC/1.1"])
@pytest.mark.parametrize("form", ["gzip", "plain", "whole gzip"])
def test_a_file_of_warcio_reads_as_warcio_and_fastwarc_read_it(form, version):
    data = written(compressed=form == "gzip", version=version)
    whole = data
    if form == "whole gzip":
        whole = gzip.compress(data)
    found = rows(whole, max_records=2)
    expected = []
    with io.BytesIO(data) as stream:
        records = ArchiveIterator(stream)
        for record in records:
            body = record.raw_stream.read() if record.http_headers is None else None
            if record.rec_type == "response":
                body = record.raw_stream.read()
                if record.http_headers.get_header("Transfer-Encoding"):
                    body = b"hello, world"
            expected.append(
                (
                    records.get_record_offset() if form != "whole gzip" else 0,
                    record.rec_type,
                    record.rec_headers.get_header("WARC-Target-URI"),
                    record.rec_headers.get_header("WARC-IP-Address"),
                    body,
                )
            )
    names = ("offset", "kind", "url", "ip")
    assert [tuple(row[name] for name in names) for row in found] == [row[:4] for row in expected]
    for row, (*_, body) in zip(found, expected, strict=True):
        if row["kind"] != "request":
            assert row["body"] == body, row["url"]
    if form != "whole gzip":
        fast = [
            (record.stream_pos, record.headers.get("WARC-Target-URI"))
            for record in FastIterator(io.BytesIO(data), parse_http=False)
        ]
        assert [(row["offset"], row["url"]) for row in found] == fast
    responses = [row for row in found if row["kind"] == "response"]
    assert [row["status"] for row in responses] == [200] * 4
    assert [row["date"] // 1_000_000 % 60 for row in responses] == [0, 1, 2, 3]
    assert b"Content-Length: 9\r\n" in responses[3]["head"]


def test_a_file_of_another_hand_reads_as_fastwarc_reads_it():
    found = rows(SAMPLE)
    fast = [
        (record.stream_pos, record.headers.get("WARC-Type"), record.reader.read())
        for record in FastIterator(SAMPLE.open("rb"), parse_http=False)
    ]
    assert len(found) == len(fast) > 1
    for row, (offset, kind, block) in zip(found, fast, strict=True):
        assert (row["offset"], row["kind"]) == (offset, kind)
        if row["status"] is None:
            assert row["body"] == block
        else:
            assert block.endswith(row["body"])


def test_a_file_that_cannot_be_read_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        WarcReader(tmp_path / "absent.warc")


FILES = [written(compressed=True), written(compressed=False)]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_bytes_break_the_reader(data):
    file = bytearray(data.draw(st.sampled_from(FILES)))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(file)))
        file[at : at + data.draw(st.integers(0, 60))] = data.draw(st.binary(max_size=40))
    reader = WarcReader(bytes(file))
    count = 0
    while (batch := reader.next_batch()) is not None:
        count += pa.record_batch(batch).num_rows
    assert count < 200


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400))
def test_bytes_that_are_no_archive_hold_no_record(data):
    reader = WarcReader(data)
    while (batch := reader.next_batch()) is not None:
        assert b"WARC/" in data or data[:1] in (b"\x1f", b"\x28"), batch


@pytest.mark.parametrize(
    ("date", "year"),
    [
        ("0001-01-01T00:00:00Z", 1),
        ("9999-12-31T23:59:59.999999Z", 9999),
        ("0000-12-31T23:59:59Z", None),
        ("9999-12-31T23:59:60Z", None),
        ("10000-01-01T00:00:00Z", None),
    ],
)
def test_a_date_that_no_calendar_here_can_hold_is_none(date, year):
    head = f"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Date: {date}\r\nContent-Length: 0\r\n\r\n"
    record = pa.record_batch(WarcReader(head.encode() + b"\r\n\r\n").next_batch())
    micros = record["date"][0].as_py()
    found = None if micros is None else pa.scalar(micros, pa.timestamp("us")).as_py().year
    assert found == year
