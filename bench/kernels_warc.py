"""How fast are WARC records written, content codings undone, duplicates marked?

    python -m bench kernels_warc [DIRECTORY]

One thread, CPU time; every writer makes both digests and a member a record, into memory, and what
it has written is read back first.
"""

from __future__ import annotations

import gzip
import io
import random
import sys
import time
import zlib
from collections.abc import Callable

import fastwarc.stream_io as fast_io
import pyarrow as pa
from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from bench._figures import Figures, rate
from bench._pages import corpus, sample
from crivello._native import Duplicates, WarcRecords, decode_content

FIELDS = [
    ("Server", "nginx"),
    ("Date", "Wed, 18 Nov 2026 19:17:23 GMT"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Connection", "keep-alive"),
]
LINES = "".join(f"{name}: {value}\r\n" for name, value in FIELDS)
DATE_US = 1_763_501_743_000_042
MOST_BYTES = 20 << 20


def ours(bodies: list[bytes], compression: str, level: int) -> bytes:
    warc = WarcRecords(compression=compression, level=level)
    out = io.BytesIO()
    for visit, body in enumerate(bodies):
        head = f"HTTP/1.1 200 OK\r\n{LINES}Content-Length: {len(body)}\r\n\r\n".encode()
        url = f"http://example.org/{visit}"
        out.write(warc.response(url, DATE_US, "192.0.2.1", head, body, visit=visit))
    return out.getvalue()


def by_fastwarc(bodies: list[bytes], compression: str, level: int) -> bytes:
    out = io.BytesIO()
    writer = fast_io.GzipWriter if compression == "gzip" else fast_io.ZstdWriter
    stream = writer(out, compression_level=level)
    for visit, body in enumerate(bodies):
        record = WarcRecord()
        record.init_headers(record_type=WarcRecordType.response)
        record.headers["WARC-Target-URI"] = f"http://example.org/{visit}"
        head = f"HTTP/1.1 200 OK\r\n{LINES}Content-Length: {len(body)}\r\n\r\n".encode()
        record.headers["Content-Type"] = "application/http; msgtype=response"
        record.is_http = True
        record.set_bytes_content(head + body)
        record.parse_http()
        record.write(stream, checksum_data=True)
        stream.finish()
    return out.getvalue()


def by_warcio(bodies: list[bytes]) -> bytes:
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    for visit, body in enumerate(bodies):
        fields = [*FIELDS, ("Content-Length", str(len(body)))]
        head = StatusAndHeaders("200 OK", fields, protocol="HTTP/1.1")
        url = f"http://example.org/{visit}"
        payload = io.BytesIO(body)
        record = writer.create_warc_record(url, "response", payload=payload, http_headers=head)
        writer.write_record(record)
    return out.getvalue()


def stored(packed: bytes) -> list[bytes]:
    return [record.reader.read() for record in ArchiveIterator(io.BytesIO(packed))]


def write(figures: Figures, bodies: list[bytes]) -> None:
    size = sum(map(len, bodies))
    runs: list[tuple[str, Callable[[], bytes]]] = [
        ("FastWARC, gzip 1", lambda: by_fastwarc(bodies, "gzip", 1)),
        ("FastWARC, gzip 6", lambda: by_fastwarc(bodies, "gzip", 6)),
        ("FastWARC, zstd 3", lambda: by_fastwarc(bodies, "zstd", 3)),
        ("warcio, gzip 9", lambda: by_warcio(bodies)),
    ]
    runs += [
        (f"crivello, gzip {level}", lambda level=level: ours(bodies, "gzip", level))  # type: ignore[misc]
        for level in (1, 3, 6)
    ]
    runs += [
        (f"crivello, zstd {level}", lambda level=level: ours(bodies, "zstd", level))  # type: ignore[misc]
        for level in (1, 3)
    ]
    speeds, rows = {}, []
    for name, run in runs:
        packed = run()
        if name != "FastWARC, zstd 3":  # which its own reader does not read
            assert stored(packed) == bodies, name
        speeds[name] = rate(size / 1e6, run, 3)
        rows.append({"writer": name, "MB/s": speeds[name], "% of bytes": 100 * len(packed) / size})
    figures.table("Writing records", rows)
    for codec, target in (("gzip 1", 1.0), ("gzip 6", None), ("zstd 3", 3.0)):
        pair = (speeds[f"crivello, {codec}"], speeds[f"FastWARC, {codec}"])
        figures.ratio(f"WARC, {codec}: crivello ÷ FastWARC", *pair, target=target)
    pair = (speeds["crivello, gzip 6"], speeds["warcio, gzip 9"])
    figures.ratio("WARC: crivello, gzip 6 ÷ warcio, gzip 9", *pair)


def decode(figures: Figures, bodies: list[bytes]) -> None:
    coded = [gzip.compress(body, 6) for body in bodies]
    size = sum(map(len, bodies)) / 1e6
    limit = 1 << 26
    assert [decode_content("gzip", each, limit=limit)[0] for each in coded] == bodies
    mine = rate(size, lambda: [decode_content("gzip", e, limit=limit) for e in coded])
    theirs = rate(size, lambda: [zlib.decompress(each, 31) for each in coded])
    rows = [{"decoder": "crivello", "MB/s": mine}, {"decoder": "zlib", "MB/s": theirs}]
    figures.table("Undoing gzip", rows)
    figures.ratio("gzip undone: crivello ÷ zlib", mine, theirs)


def mark(figures: Figures) -> None:
    rng = random.Random(7)
    rows = 1_000_000
    schema = [("simhash", 64), ("url_hash", 64), ("digest", 128)]
    columns = {name: [rng.getrandbits(bits) for _ in range(rows)] for name, bits in schema}
    digests = pa.array([each.to_bytes(16, "little") for each in columns["digest"]], pa.binary(16))
    batch = pa.RecordBatch.from_arrays(
        [
            digests,
            pa.array(columns["simhash"], pa.uint64()),
            pa.array(columns["url_hash"], pa.uint64()),
            pa.array([1] * rows, pa.uint32()),
        ],
        names=["text_digest", "simhash", "url_hash", "text_len"],
    )
    found = []
    for mebibytes in (16, 64, 256):
        duplicates = Duplicates(mebibytes << 20)
        start = time.process_time()
        for at in range(0, rows, 1024):
            duplicates.mark(batch.slice(at, 1024))
        each = (time.process_time() - start) / rows * 1e6
        found.append({"memory MiB": mebibytes, "µs a page": each})
    figures.table("Marking duplicates", found, "k 3, a million pages, all different")


def main() -> None:
    directory = sys.argv[1] if len(sys.argv) > 1 else None
    pages = sample(2000, directory)
    while sum(len(text.encode()) for _, text in pages) > MOST_BYTES:
        pages.pop()
    figures = Figures(
        "kernels_warc",
        "How fast are WARC records written, content codings undone, duplicates marked?",
        corpus=corpus(pages, directory),
        packages=["fastwarc", "warcio"],
    )
    bodies = [text.encode() for _, text in pages]
    write(figures, bodies)
    decode(figures, bodies)
    mark(figures)
    figures.finish()


if __name__ == "__main__":
    main()
