"""WARC records, content codings, duplicates: our kernels against FastWARC, warcio and zlib.

Run after `make release`:  python bench/kernels_warc.py [DIRECTORY OF HTML FILES]
Without a directory the pages are pydoc's, of every module of the standard library. One thread,
CPU time, best of the rounds; every writer makes both digests and a member a record, into memory.
"""

from __future__ import annotations

import gzip
import importlib
import io
import pkgutil
import pydoc
import random
import sys
import time
import zlib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import fastwarc.stream_io as fast_io
import pyarrow as pa
from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crivello._native import Duplicates, WarcRecords, decode_content

FIELDS = [
    ("Server", "nginx"),
    ("Date", "Wed, 18 Nov 2026 19:17:23 GMT"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Connection", "keep-alive"),
]
LINES = "".join(f"{name}: {value}\r\n" for name, value in FIELDS)
DATE_US = 1_763_501_743_000_042
MOST_BYTES = 40 << 20


def pages(directory: str | None) -> list[bytes]:
    if directory:
        files = sorted(Path(directory).rglob("*.html"))
        random.Random(1).shuffle(files)
        found = [path.read_bytes() for path in files[:2000]]
    else:
        found = []
        for module in pkgutil.iter_modules():
            if module.name in sys.stdlib_module_names and module.name not in {
                "antigravity",
                "this",
            }:
                loaded = importlib.import_module(module.name)
                found.append(pydoc.HTMLDoc().document(loaded).encode())
    while sum(map(len, found)) > MOST_BYTES:
        found.pop()
    return found


def seconds(work: Callable[[], object], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


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


def write(bodies: list[bytes]) -> None:
    size = sum(map(len, bodies))
    print(f"WARC write: {len(bodies)} pages, {size / 1e6:.1f} MB, mean {size / len(bodies):.0f} B")
    runs: list[tuple[str, Callable[[], bytes], str]] = [
        (f"FastWARC gzip {level}", lambda level=level: by_fastwarc(bodies, "gzip", level), "gzip")
        for level in (1, 6)
    ]
    runs += [("FastWARC zstd 3", lambda: by_fastwarc(bodies, "zstd", 3), "zstd")]
    runs += [
        (f"crivello gzip {level}", lambda level=level: ours(bodies, "gzip", level), "gzip")
        for level in (1, 2, 3, 4, 6)
    ]
    runs += [
        (f"crivello zstd {level}", lambda level=level: ours(bodies, "zstd", level), "zstd")
        for level in (1, 3)
    ]
    runs += [("warcio gzip 9", lambda: by_warcio(bodies), "gzip")]
    peers: dict[str, float] = {}
    for name, run, codec in runs:
        packed = run()
        if codec == "gzip" or name.startswith("crivello"):
            assert stored(packed) == bodies, name
        rate = size / seconds(run, 3) / 1e6
        peers.setdefault(codec, rate)
        print(
            f"  {name:16} {rate:7.1f} MB/s {rate / peers[codec]:6.2f} x "
            f"{next(n for n, _, c in runs if c == codec)}   {len(packed) / size:.1%} of the bytes"
        )


def decode(bodies: list[bytes]) -> None:
    coded = [gzip.compress(body, 6) for body in bodies]
    size = sum(map(len, bodies))
    limit = 1 << 26
    assert [decode_content("gzip", each, limit=limit)[0] for each in coded] == bodies
    mine = size / seconds(lambda: [decode_content("gzip", e, limit=limit) for e in coded]) / 1e6
    theirs = size / seconds(lambda: [zlib.decompress(each, 31) for each in coded]) / 1e6
    print(f"gzip decode: crivello {mine:.0f} MB/s, zlib {theirs:.0f} MB/s, {mine / theirs:.2f} x")


def mark() -> None:
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
    for mebibytes in (16, 64, 256):
        duplicates = Duplicates(mebibytes << 20)
        start = time.process_time()
        for at in range(0, rows, 1024):
            duplicates.mark(batch.slice(at, 1024))
        each = (time.process_time() - start) / rows
        print(f"duplicates, {mebibytes} MiB, k 3: {each * 1e6:.2f} µs a page, all different")


def main() -> None:
    names = ("fastwarc", "warcio", "pyarrow")
    print(", ".join(f"{name} {version(name)}" for name in names))
    bodies = pages(sys.argv[1] if len(sys.argv) > 1 else None)
    write(bodies)
    decode(bodies)
    mark()


if __name__ == "__main__":
    main()
