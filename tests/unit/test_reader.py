from __future__ import annotations

import json
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_rows import pages, urls

from crivello._native import Files
from crivello.errors import Error, UsageError
from crivello.store import Snapshot, Tables
from crivello.store.checkpoint import encode
from crivello.store.export import export


class Crawled:
    """A directory with what the crawl's loop would have written."""

    def __init__(self, root: Path, **settings: object) -> None:
        self.root = root
        self.files = Files(str(root))
        self.files.write_atomic("crivello.toml", b"")
        self.tables = Tables(self.files, 0, **settings)
        self.epoch = 0

    def describe(self) -> bytes:
        self.epoch += 1
        state = {"agent": 0, "epoch": self.epoch, "at": self.epoch}
        return encode({**state, "tables": self.tables.checkpoint()})

    def checkpoint(self) -> None:
        self.files.write_atomic("agents/0/checkpoint.json", self.describe())
        self.tables.reclaim()


@pytest.fixture
def crawled(tmp_path):
    made = Crawled(tmp_path)
    yield made
    made.tables.close()


def test_a_snapshot_is_the_last_checkpoint_and_no_more(crawled):
    crawled.tables.append("urls", urls(0, 100))
    crawled.tables.finish()
    crawled.checkpoint()
    crawled.tables.append("urls", urls(100, 50))
    crawled.checkpoint()
    crawled.tables.append("urls", urls(150, 50))
    crawled.tables.checkpoint()  # flushed, but no checkpoint.json
    with Snapshot.open(crawled.root) as snapshot:
        assert snapshot.count("urls") == 150
        found = snapshot.table("urls", columns=["url"])
        assert sorted(found["url"].to_pylist()) == sorted(urls(0, 150)["url"].to_pylist())
        assert snapshot.at == 2
        assert snapshot.count("links") == 0


def test_a_snapshot_outlives_the_reclaim_of_its_segments(crawled):
    crawled.tables.append("urls", urls(0, 100))
    crawled.checkpoint()
    with Snapshot.open(crawled.root) as snapshot:
        crawled.tables.finish()
        crawled.checkpoint()
        assert list((crawled.root / "agents/0/spool").iterdir()) == []
        assert snapshot.count("urls") == 100


def test_a_file_that_is_sealed_but_not_yet_named_is_read(crawled):
    crawled.tables.append("urls", urls(0, 100))
    crawled.tables.finish()
    crawled.files.write_atomic("agents/0/checkpoint.json", crawled.describe())
    with Snapshot.open(crawled.root) as snapshot:
        assert snapshot.files("urls") == []
        assert snapshot.count("urls") == 100
        crawled.tables.reclaim()
        assert snapshot.count("urls") == 100
        assert list(snapshot.sql("select count(*) from urls")) == [(100,)]


def test_readers_of_a_crawl_that_runs_see_whole_checkpoints_that_only_grow(tmp_path):
    crawled = Crawled(tmp_path, seal_bytes=1 << 16)
    failures: list[BaseException] = []
    seen: list[int] = []
    done = threading.Event()

    def watch() -> None:
        try:
            while not done.is_set() or len(seen) < 3:
                with Snapshot.open(tmp_path) as snapshot:
                    known = snapshot.table("urls", columns=["url_hash"])["url_hash"].to_pylist()
                assert len(known) == len(set(known))
                assert len(known) % 200 == 0
                seen.append(len(known))
        except BaseException as error:
            failures.append(error)

    reader = threading.Thread(target=watch)
    reader.start()
    for start in range(0, 40_000, 200):
        crawled.tables.append("urls", urls(start, 200))
        crawled.checkpoint()
    done.set()
    reader.join(60)
    crawled.tables.close()
    assert not failures, failures
    assert seen == sorted(seen)


def test_urls_state_is_the_latest_visit(crawled):
    crawled.tables.append("urls", urls(0, 60))
    crawled.tables.append("pages", pages(urls(0, 10), visit=1))
    crawled.tables.finish()
    crawled.checkpoint()
    for visit, (start, status, error) in enumerate(
        [
            (5, 404, "http-404"),
            (20, None, "robots"),
            (30, 301, None),
            (40, None, "timeout"),
        ],
        1,
    ):
        rows = pages(urls(start, 5), visit=visit * 100, status=status, error=error)
        crawled.tables.append("pages", rows)
    crawled.checkpoint()
    with Snapshot.open(crawled.root) as snapshot:
        counted = dict(snapshot.sql("select state, count(*) from urls_state group by 1"))
    assert counted == {"stored": 5, "failed": 10, "denied": 5, "redirect": 5, "queued": 35}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("selec 1", 'syntax error at or near "selec"'),
        ("select nope from urls", 'Referenced column "nope" not found'),
        ("select * from page", "Table with name page does not exist"),
        ("delete from urls", "the tables are read-only; DELETE is not possible"),
        ("copy urls to 'x.csv'", "the tables are read-only; COPY is not possible"),
        ("attach 'x.db'", "the tables are read-only; ATTACH is not possible"),
        ("set memory_limit = '1TB'", "the tables are read-only; SET is not possible"),
        ("select 1; select 2", "give one query, not 2"),
        ("", "give one query, not 0"),
        ("select * from read_text('/etc/hostname')", "file system operations are disabled"),
        ("select * from '/etc/hostname'", "does not exist"),
        ("select cast(url as int) from urls", "Could not convert string"),
    ],
)
def test_a_bad_query_is_one_line(crawled, query, message):
    crawled.tables.append("urls", urls(0, 3))
    crawled.checkpoint()
    with Snapshot.open(crawled.root) as snapshot, pytest.raises(Error) as caught:
        snapshot.sql(query).to_arrow()
    assert message in str(caught.value)
    assert str(caught.value).startswith("sql: ")
    assert "\n" not in str(caught.value)


def test_a_query_may_use_more_than_its_memory(crawled):
    crawled.tables.append("urls", urls(0, 10))
    crawled.checkpoint()
    with Snapshot.open(crawled.root) as snapshot:
        query = "select i, md5(i::text) m from range(2_000_000) r(i) order by m"
        assert snapshot.sql(query, memory=64 << 20).to_arrow().num_rows == 2_000_000


def test_a_directory_without_a_crawl_is_one_line(tmp_path):
    with pytest.raises(UsageError, match="there is no such directory"):
        Snapshot.open(tmp_path / "none")
    with pytest.raises(UsageError, match=r"is not a crawl \(it holds no crivello\.toml\)"):
        Snapshot.open(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file, not a directory"):
        Snapshot.open(tmp_path / "file")


def test_a_crawl_without_a_checkpoint_has_empty_tables(tmp_path):
    (tmp_path / "crivello.toml").touch()
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.at is None
        assert list(snapshot.sql("select count(*) from urls_state")) == [(0,)]


def test_damage_is_one_line_that_names_the_file(crawled):
    crawled.tables.append("urls", urls(0, 3))
    crawled.checkpoint()
    spool = crawled.root / "agents/0/spool/urls-000001.spool"
    data = spool.read_bytes()
    spool.write_bytes(data[:-1] + b"x")
    with Snapshot.open(crawled.root) as snapshot, pytest.raises(Error, match=r"urls-000001\.spool"):
        snapshot.count("urls")
    spool.unlink()
    with pytest.raises(Error, match=r"urls-000001\.spool: is gone"):
        Snapshot.open(crawled.root)
    (crawled.root / "agents/0/checkpoint.json").write_text("{")
    with pytest.raises(Error, match=r"checkpoint\.json: is damaged"):
        Snapshot.open(crawled.root)


@pytest.mark.parametrize("to", ["jsonl", "parquet"])
def test_an_export_is_the_whole_table(crawled, tmp_path, to):
    crawled.tables.append("pages", pages(urls(0, 30), visit=1))
    crawled.tables.finish()
    crawled.tables.append("pages", pages(urls(30, 20), visit=31))
    crawled.checkpoint()
    output = tmp_path / f"out.{to}"
    told: list[tuple[int, int]] = []
    count = export(crawled.root, output, to=to, on_progress=lambda *step: told.append(step))
    assert count == 50
    assert told[-1] == (50, 50)
    if to == "parquet":
        assert sorted(pq.read_table(output)["visit"].to_pylist()) == list(range(1, 51))
        return
    rows = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert sorted(row["visit"] for row in rows) == list(range(1, 51))
    first = min(rows, key=lambda row: row["visit"])
    assert first["url_hash"] == "0" * 16
    assert first["fetched_at"] == "2023-11-14T22:15:00Z"
    assert first["payload_digest"] == "0" * 32
    assert first["text"] is None


def test_an_export_is_complete_or_not_there(crawled, tmp_path):
    crawled.tables.append("urls", urls(0, 30))
    crawled.checkpoint()

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(crawled.root, tmp_path / "out.jsonl", table="urls", on_progress=stop)
    assert [path.name for path in tmp_path.glob("*out*")] == []
    export(crawled.root, tmp_path / "out.jsonl", table="urls", columns=["url", "depth"])
    assert json.loads((tmp_path / "out.jsonl").open().readline()).keys() == {"url", "depth"}
    with pytest.raises(UsageError, match=r"out\.jsonl: exists; choose another name, or --force"):
        export(crawled.root, tmp_path / "out.jsonl", table="urls")
    with pytest.raises(UsageError, match="has no column link; it has url, url_hash"):
        export(crawled.root, tmp_path / "o", table="urls", columns=["link"])
    with pytest.raises(UsageError, match="the formats are jsonl, parquet"):
        export(crawled.root, tmp_path / "o", table="urls", to="xml")
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        export(crawled.root, tmp_path / "none/o", table="urls")


def test_a_column_that_an_older_file_lacks_reads_as_null(crawled):
    from crivello.store.reader import _fitted
    from crivello.store.schema import layout

    schema = layout("urls").schema
    old = pa.Table.from_batches([urls(0, 3).drop_columns(["state"])])
    assert _fitted(old, schema)["state"].null_count == 3
