"""Small batches for the tests of the store."""

from __future__ import annotations

import pyarrow as pa


def urls(start: int, count: int, *, hosts: int = 3) -> pa.RecordBatch:
    numbers = range(start, start + count)
    host = [f"h{number * 7 % hosts}.example" for number in numbers]
    return pa.RecordBatch.from_pydict(
        {
            "url": [f"http://{name}/{number}" for name, number in zip(host, numbers, strict=True)],
            "url_hash": pa.array(
                [number * 0x9E3779B97F4A7C15 % 2**64 for number in numbers], pa.uint64()
            ),
            "host": host,
            "domain": host,
            "depth": pa.array([1] * count, pa.uint16()),
            "score": pa.array([0.0] * count, pa.float32()),
            "from_hash": pa.array([0] * count, pa.uint64()),
            "from_url": [""] * count,
            "state": ["queued"] * count,
            "admitted_at": pa.array(
                [1_700_000_000_000_000 + number for number in numbers], pa.int64()
            ),
        }
    )


def pages(
    of: pa.RecordBatch,
    *,
    visit: int,
    status: int | None = 200,
    error: str | None = None,
    record: bytes | None = None,
) -> pa.RecordBatch:
    count = of.num_rows
    return pa.RecordBatch.from_pydict(
        {
            "visit": pa.array(range(visit, visit + count), pa.uint64()),
            **{name: of[name] for name in ("url", "url_hash", "host", "domain", "depth", "score")},
            "fetched_at": pa.array([1_700_000_100_000_000] * count, pa.int64()),
            "status": pa.array([status] * count, pa.uint16()),
            "error": pa.array([error] * count, pa.string()),
            "mime": pa.array(["text/html"] * count),
            "title": pa.array([f"Page {number}" for number in range(visit, visit + count)]),
            "payload_digest": pa.array([bytes(16)] * count, pa.binary(16)),
            "warc_record": pa.array([record] * count, pa.binary()),
            "warc_digest": pa.nulls(count, pa.string()),
        }
    )
