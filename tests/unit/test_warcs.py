from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from store_rows import pages, urls
from warcio.archiveiterator import ArchiveIterator
from warcio.indexer import Indexer

from crivello._native import Files, WarcRecords, decode_content
from crivello.store import Warcs
from crivello.store.schema import conform

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def fetched(start: int, count: int, compression: str = "gzip") -> pa.RecordBatch:
    """Pages with records, but for every third, which has none."""
    rows = pages(urls(start, count), visit=start + 1)
    writer = WarcRecords(key=7, compression=compression)
    records = [
        None
        if number % 3 == 2
        else writer.response(url, 1_700_000_100_000_000, "127.0.0.1", HEAD, b"<p>%d" % number)
        for number, url in enumerate(rows["url"].to_pylist(), start)
    ]
    digests = [
        "sha1:" + base64.b32encode(hashlib.sha1(b"<p>%d" % number).digest()).decode()
        for number in range(start, start + count)
    ]
    for name, values in (
        ("warc_record", pa.array(records, pa.binary())),
        ("warc_digest", pa.array(digests, pa.string())),
    ):
        rows = rows.set_column(rows.schema.get_field_index(name), name, values)
    return rows


def archive(root: Path) -> Path:
    return root / "agents/0/warc"


def uris(root: Path) -> list[str]:
    """Target URIs of all response records, as warcio reads them."""
    found = []
    for path in sorted(archive(root).glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                if record.rec_type == "response":
                    record.content_stream().read()
                    found.append(record.rec_headers.get_header("WARC-Target-URI"))
    return found


def archived(rows: pa.RecordBatch) -> list[str]:
    return [
        url
        for url, record in zip(
            rows["url"].to_pylist(), rows["warc_record"].to_pylist(), strict=True
        )
        if record
    ]


def test_pages_say_where_their_records_are(tmp_path):
    warcs = Warcs(Files(str(tmp_path)), 0)
    stored = [warcs.append(fetched(start, 10)) for start in (0, 10)]
    warcs.finish()
    for row in pa.Table.from_batches([conform("pages", rows) for rows in stored]).to_pylist():
        if row["visit"] % 3 == 0:
            assert row["warc_file"] is row["warc_offset"] is row["warc_length"] is None
            continue
        data = (archive(tmp_path) / row["warc_file"]).read_bytes()
        at = row["warc_offset"]
        record = gzip.decompress(data[at : at + row["warc_length"]])
        assert f"WARC-Target-URI: {row['url']}\r\n".encode() in record


def test_other_readers_read_files_and_index(tmp_path):
    warcs = Warcs(Files(str(tmp_path)), 0)
    rows = fetched(0, 60)
    warcs.append(rows)
    warcs.finish()
    warcs.checkpoint()
    warcs.reclaim()
    assert uris(tmp_path) == archived(rows)
    path = archive(tmp_path) / "crivello-0-000001.warc.gz"
    with path.open("rb") as file:
        first = next(iter(ArchiveIterator(file)))
        assert first.rec_type == "warcinfo"
        assert b"software: crivello/" in first.content_stream().read()
    lines = path.with_name("crivello-0-000001.cdxj").read_bytes().splitlines()
    assert lines == sorted(lines)
    assert [entry.name for entry in sorted(archive(tmp_path).iterdir())] == [
        "crivello-0-000001.cdxj",
        "crivello-0-000001.warc.gz",
    ]
    index = tmp_path / "index"
    fields = ["warc-target-uri", "offset", "length", "http:status", "warc-payload-digest"]
    Indexer(fields=fields, inputs=[str(path)], output=str(index)).process_all()
    theirs = {}
    for line in index.read_text().splitlines():
        entry = json.loads(line)
        if "warc-target-uri" in entry:
            theirs[entry["warc-target-uri"]] = entry
    for line in lines:
        entry = json.loads(line.split(b" ", 2)[2])
        other = theirs.pop(entry["url"])
        assert entry["offset"] == other["offset"]
        assert entry["length"] == other["length"]
        assert entry["status"] == other["http:status"]
        assert entry["digest"] == other["warc-payload-digest"]
    assert not theirs


def test_a_full_file_is_closed_and_indexed(tmp_path):
    warcs = Warcs(Files(str(tmp_path)), 0, limit=4096)
    rows = [fetched(start, 30) for start in range(0, 300, 30)]
    for batch in rows:
        warcs.append(batch)
    warcs.finish()
    warcs.checkpoint()
    warcs.reclaim()
    names = [path.name for path in sorted(archive(tmp_path).glob("*.warc.gz"))]
    assert len(names) > 2
    assert len(list(archive(tmp_path).glob("*.cdxj"))) == len(names)
    assert uris(tmp_path) == [url for batch in rows for url in archived(batch)]


# --- recovery, case by case -----------------------------------------------------------------


@pytest.mark.parametrize("limit", [1 << 30, 4096])
def test_recovery_cuts_records_written_after_the_checkpoint(tmp_path, limit):
    warcs = Warcs(Files(str(tmp_path)), 0, limit=limit)
    first, second, third = fetched(0, 120), fetched(120, 120), fetched(240, 120)
    warcs.append(first)
    state = json.loads(json.dumps(warcs.checkpoint()))
    warcs.append(second)
    warcs.append(third)
    warcs.finish()  # but no checkpoint
    again = Warcs(Files(str(tmp_path)), 0, state, limit=limit)
    assert uris(tmp_path) == archived(first)
    assert not list(archive(tmp_path).glob("*.cdxj"))
    again.append(third)
    again.finish()
    again.checkpoint()
    again.reclaim()
    assert uris(tmp_path) == archived(first) + archived(third)
    lines = [
        line
        for path in archive(tmp_path).glob("*.cdxj")
        for line in path.read_text("utf-8").splitlines()
    ]
    assert len(lines) == len(archived(first) + archived(third))


def test_recovery_after_a_finished_run_begins_another_file(tmp_path):
    warcs = Warcs(Files(str(tmp_path)), 0)
    warcs.append(fetched(0, 10))
    warcs.finish()
    state = warcs.checkpoint()  # killed before reclaim
    again = Warcs(Files(str(tmp_path)), 0, state)
    assert not list(archive(tmp_path).glob("*.part"))
    again.append(fetched(10, 10))
    again.finish()
    assert uris(tmp_path) == archived(fetched(0, 10)) + archived(fetched(10, 10))


def test_recovery_of_a_crash_before_the_first_checkpoint_starts_anew(tmp_path):
    warcs = Warcs(Files(str(tmp_path)), 0)
    warcs.append(fetched(0, 10))
    warcs.checkpoint()
    Warcs(Files(str(tmp_path)), 0)
    assert list(archive(tmp_path).iterdir()) == []


def test_a_failed_operation_fails_one_call_and_loses_nothing(tmp_path):
    def stubborn(call, *arguments):
        try:
            return call(*arguments)
        except OSError:
            return call(*arguments)

    operation = 0
    done = False
    while not done:
        operation += 1
        root = tmp_path / str(operation)
        files = Files(str(root), fault=f"error:{operation}")
        warcs = Warcs(files, 0, limit=4096)
        for start in (0, 60, 120):
            stubborn(warcs.append, fetched(start, 60))
            stubborn(warcs.checkpoint)
            stubborn(warcs.reclaim)
        stubborn(warcs.finish)
        stubborn(warcs.checkpoint)
        stubborn(warcs.reclaim)
        done = files.operations < operation
        assert uris(root) == archived(fetched(0, 180)), operation
        indexed = sum(
            len(path.read_text("utf-8").splitlines()) for path in archive(root).glob("*.cdxj")
        )
        assert indexed == len(archived(fetched(0, 180)))
    assert operation > 10


def test_another_compression_begins_another_file(tmp_path):
    files = Files(str(tmp_path))
    warcs = Warcs(files, 0)
    first = warcs.append(fetched(0, 6))
    state = warcs.checkpoint()
    warcs = Warcs(files, 0, state, compression="zstd")
    second = warcs.append(fetched(6, 6, "zstd"))
    state = warcs.checkpoint()
    warcs.reclaim()
    warcs = Warcs(files, 0, state, compression="zstd")
    third = warcs.append(fetched(12, 6, "zstd"))
    warcs.finish()
    warcs.checkpoint()
    warcs.reclaim()
    assert sorted(path.name for path in archive(tmp_path).iterdir()) == [
        "crivello-0-000001.cdxj",
        "crivello-0-000001.warc.gz",
        "crivello-0-000002.cdxj",
        "crivello-0-000002.warc.zst",
    ]
    assert uris(tmp_path) == archived(fetched(0, 6))
    with (archive(tmp_path) / "crivello-0-000002.warc.zst").open("rb") as file:
        records = FastIterator(file, record_types=WarcRecordType.response, verify_digests=True)
        found = [record.headers["WARC-Target-URI"] for record in records]
    assert found == archived(fetched(6, 12))
    for rows in (second, third):
        for row in rows.to_pylist():
            if row["warc_file"] is not None:
                data = (archive(tmp_path) / row["warc_file"]).read_bytes()
                record = data[row["warc_offset"] :][: row["warc_length"]]
                assert decode_content("zstd", record, limit=1 << 20)[1:] == (False, None)
    assert {row["warc_file"] for row in first.to_pylist()} == {"crivello-0-000001.warc.gz", None}
