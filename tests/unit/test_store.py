from __future__ import annotations

import errno
import json
import random
import subprocess
import sys
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_rows import pages, urls

from crivello._native import Files
from crivello.errors import Error
from crivello.store import Tables
from crivello.store.schema import TABLES, VERSION_KEY, conform
from crivello.store.spool import read


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def checkpoint(files: Files, tables: Tables) -> dict:
    """As the crawl's loop does it: flush, rename, reclaim."""
    state = json.loads(json.dumps(tables.checkpoint()))
    files.write_atomic("agents/0/checkpoint.json", json.dumps({"tables": state}).encode())
    tables.reclaim()
    return state


def recovered(root: Path, **settings: object) -> Tables:
    files = Files(str(root))
    path = root / "agents/0/checkpoint.json"
    state = json.loads(path.read_text())["tables"] if path.exists() else None
    return Tables(files, 0, state, **settings)


def all_urls(root: Path) -> list[str]:
    """Every row of `urls` after a finishing run, from the plain glob."""
    tables = recovered(root)
    tables.finish()
    checkpoint(Files(str(root)), tables)
    tables.close()
    return glob(root, "urls")["url"].to_pylist()


def glob(root: Path, table: str) -> pa.Table:
    found = sorted((root / "tables" / table).glob("*.parquet"))
    assert found, "no Parquet file"
    return pa.concat_tables([pq.read_table(path) for path in found])


def names(root: Path, folder: str) -> list[str]:
    return sorted(path.name for path in (root / folder).iterdir())


def test_after_finish_the_plain_glob_is_the_table(tmp_path):
    files = Files(str(tmp_path))
    tables = Tables(files, 0)
    for start in range(0, 1000, 100):
        assert tables.append("urls", urls(start, 100)) == 100
    tables.append("pages", pages(urls(0, 10), visit=1))
    tables.finish()
    checkpoint(files, tables)
    tables.close()
    found = glob(tmp_path, "urls")
    assert sorted(found["url_hash"].to_pylist()) == sorted(urls(0, 1000)["url_hash"].to_pylist())
    assert glob(tmp_path, "pages").num_rows == 10
    assert names(tmp_path, "agents/0/spool") == []


def test_a_sealed_file_is_sorted_typed_versioned_and_has_bloom_filters(tmp_path):
    files = Files(str(tmp_path))
    tables = Tables(files, 0)
    tables.append("urls", urls(0, 500))
    tables.finish()
    checkpoint(files, tables)
    tables.close()
    path = tmp_path / "tables/urls/0-000001.parquet"
    metadata = pq.read_metadata(path)
    assert metadata.metadata[VERSION_KEY.encode()] == b"1"
    table = pq.read_table(path)
    assert table.schema.equals(TABLES["urls"].schema)
    keys = list(zip(table["host"].to_pylist(), table["url"].to_pylist(), strict=True))
    assert keys == sorted(keys)
    assert metadata.row_group(0).column(2).statistics.has_min_max
    import duckdb

    filters = duckdb.sql(
        f"select path_in_schema, bloom_filter_offset from parquet_metadata('{path}')"
        " where bloom_filter_offset is not null"
    ).fetchall()
    assert [name for name, _ in filters] == ["url_hash"]


def test_the_manifest_numbers_its_entries_and_checks_its_files(tmp_path):
    files = Files(str(tmp_path))
    tables = Tables(files, 0)
    for start in (0, 10):
        tables.append("urls", urls(start, 10))
        tables.finish()
        checkpoint(files, tables)
    tables.close()
    lines = (tmp_path / "tables/urls/manifest.log").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert [entry["n"] for entry in entries] == [1, 2]
    assert [entry["op"] for entry in entries] == ["seal", "seal"]
    assert [entry["file"] for entry in entries] == ["0-000001.parquet", "0-000002.parquet"]
    for entry in entries:
        data = (tmp_path / "tables/urls" / entry["file"]).read_bytes()
        assert (len(data), zlib.crc32(data)) == (entry["len"], entry["crc"])


def test_a_full_segment_is_sealed_while_rows_go_on(tmp_path):
    files = Files(str(tmp_path))
    tables = Tables(files, 0, seal_bytes=1 << 16)
    sent = 0
    while not (tmp_path / "tables/urls/0-000002.parquet").exists():
        tables.append("urls", urls(sent, 200))
        sent += 200
        checkpoint(files, tables)
        assert sent < 10**7
    tables.close()
    assert len(all_urls(tmp_path)) == sent
    assert len(set(all_urls(tmp_path))) == sent


def test_an_old_segment_is_closed_by_a_checkpoint(tmp_path):
    clock = Clock()
    tables = Tables(Files(str(tmp_path)), 0, seal_seconds=900, clock=clock)
    tables.append("urls", urls(0, 5))
    clock.now = 899.0
    tables.checkpoint()
    assert tables.sealing() == 0
    clock.now = 900.0
    tables.checkpoint()
    assert tables.sealing() == 1
    tables.close()


def test_a_column_of_another_type_or_missing_is_an_error_that_names_it():
    with pytest.raises(Error, match=r"table urls: column url_hash is missing"):
        conform("urls", urls(0, 1).drop_columns(["url_hash"]))
    wrong = urls(0, 1).set_column(4, "depth", pa.array(["deep"]))
    with pytest.raises(Error, match=r"table urls: column depth: "):
        conform("urls", wrong)
    null = urls(0, 1).set_column(0, "url", pa.array([None], pa.string()))
    with pytest.raises(Error, match=r"table urls: column url may not be null"):
        conform("urls", null)
    with pytest.raises(Error, match=r"table 'page': there is none; the tables are urls, pages"):
        conform("page", urls(0, 1))


# --- recovery, case by case -----------------------------------------------------------------


def test_recovery_of_a_crash_before_the_first_checkpoint_starts_anew(tmp_path):
    tables = Tables(Files(str(tmp_path)), 0)
    tables.append("urls", urls(0, 5000))
    tables.seal()
    tables.checkpoint()  # but checkpoint.json is never written
    tables.close()
    assert recovered(tmp_path).append("urls", urls(7, 1)) == 1
    assert names(tmp_path, "tables/urls") == []


def test_recovery_cuts_rows_written_after_the_checkpoint(tmp_path):
    files = Files(str(tmp_path))
    tables = Tables(files, 0)
    tables.append("urls", urls(0, 10))
    checkpoint(files, tables)
    tables.append("urls", urls(10, 10_000))
    tables.checkpoint()
    tables.close()
    assert sorted(all_urls(tmp_path)) == sorted(urls(0, 10)["url"].to_pylist())


def test_recovery_cuts_a_torn_frame(tmp_path):
    files = Files(str(tmp_path))
    tables = Tables(files, 0)
    tables.append("urls", urls(0, 10))
    checkpoint(files, tables)
    with (tmp_path / "agents/0/spool/urls-000001.spool").open("ab") as segment:
        segment.write(b"\x20\x00\x00\x00torn")
    assert len(all_urls(tmp_path)) == 10


def test_recovery_goes_on_in_the_open_segment(tmp_path):
    files = Files(str(tmp_path))
    tables = Tables(files, 0)
    tables.append("urls", urls(0, 10))
    checkpoint(files, tables)
    again = recovered(tmp_path)
    again.append("urls", urls(10, 10))
    checkpoint(files, again)
    assert names(tmp_path, "agents/0/spool") == ["urls-000001.spool"]
    assert len(all_urls(tmp_path)) == 20


def test_recovery_drops_a_seal_that_no_checkpoint_lists(tmp_path):
    files = Files(str(tmp_path))
    tables = Tables(files, 0)
    tables.append("urls", urls(0, 10))
    checkpoint(files, tables)
    tables.finish()
    tables.close()
    assert names(tmp_path, "tables/urls") == ["0-000001.parquet.sealing", "manifest.log"]
    again = recovered(tmp_path)
    assert names(tmp_path, "tables/urls") == []
    again.close()
    assert len(all_urls(tmp_path)) == 10


def test_recovery_rolls_a_seal_forward_after_the_rename_of_the_checkpoint(tmp_path):
    files = Files(str(tmp_path))
    tables = Tables(files, 0)
    tables.append("urls", urls(0, 10))
    tables.finish()
    state = tables.checkpoint()
    files.write_atomic("agents/0/checkpoint.json", json.dumps({"tables": state}).encode())
    tables.close()  # killed before reclaim
    assert "0-000001.parquet.sealing" in names(tmp_path, "tables/urls")
    again = recovered(tmp_path)
    assert names(tmp_path, "tables/urls") == ["0-000001.parquet", "manifest.log"]
    assert names(tmp_path, "agents/0/spool") == []
    again.append("urls", urls(10, 10))
    again.finish()
    checkpoint(files, again)
    assert names(tmp_path, "tables/urls") == [
        "0-000001.parquet",
        "0-000002.parquet",
        "manifest.log",
    ]
    assert len(all_urls(tmp_path)) == 20


def test_recovery_leaves_the_files_of_other_agents_alone(tmp_path):
    files = Files(str(tmp_path))
    for agent in (0, 10):
        tables = Tables(files, agent)
        tables.append("urls", urls(agent * 100, 10))
        tables.finish()
        state = tables.checkpoint()
        path = f"agents/{agent}/checkpoint.json"
        files.write_atomic(path, json.dumps({"tables": state}).encode())
        tables.reclaim()
        tables.close()
    Tables(files, 0).close()  # agent 0 starts anew
    assert names(tmp_path, "tables/urls") == ["10-000001.parquet", "manifest-10.log"]


def test_recovery_refuses_a_segment_with_other_bytes(tmp_path):
    files = Files(str(tmp_path))
    tables = Tables(files, 0)
    tables.append("urls", urls(0, 10))
    checkpoint(files, tables)
    path = tmp_path / "agents/0/spool/urls-000001.spool"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(OSError, match=r"urls-000001\.spool: damaged"):
        recovered(tmp_path)
    with pytest.raises(Error, match="damaged at byte"):
        read(bytes(data), "urls-000001.spool")


def test_recovery_refuses_a_crawl_whose_table_file_is_gone(tmp_path):
    files = Files(str(tmp_path))
    tables = Tables(files, 0)
    tables.append("urls", urls(0, 10))
    tables.finish()
    checkpoint(files, tables)
    (tmp_path / "tables/urls/0-000001.parquet").unlink()
    with pytest.raises(Error, match=r"0-000001\.parquet: is gone, though the manifest names it"):
        recovered(tmp_path)


def test_a_failed_operation_fails_one_call_and_loses_nothing(tmp_path):
    """Every durable operation in turn fails once; the caller makes the failed call again."""

    def stubborn(call, *arguments):
        try:
            return call(*arguments)
        except OSError as error:
            assert error.errno == errno.EIO
            return call(*arguments)

    done = False
    operation = 0
    while not done:
        operation += 1
        root = tmp_path / str(operation)
        files = Files(str(root), fault=f"error:{operation}")
        tables = Tables(files, 0, seal_bytes=1 << 16)
        for start in range(0, 1200, 300):
            stubborn(tables.append, "urls", urls(start, 300))
            stubborn(tables.finish)
            stubborn(checkpoint, files, tables)
        tables.close()
        done = files.operations < operation
        assert sorted(all_urls(root)) == sorted(urls(0, 1200)["url"].to_pylist()), operation
    assert operation > 30


KILLED = """
import json, sys
sys.path.insert(0, sys.argv[3])
from crivello._native import Files
from crivello.store import Tables
from store_rows import urls
from pathlib import Path
root, fault = sys.argv[1:3]
files = Files(root, fault=fault)
path = Path(root) / "agents/0/checkpoint.json"
old = json.loads(path.read_text()) if path.exists() else {"tables": None, "at": 0}
tables = Tables(files, 0, old["tables"], seal_bytes=1 << 16)
for start in range(old["at"], old["at"] + 2000, 200):
    tables.append("urls", urls(start, 200))
    if start % 600 == 0:
        tables.finish()
    state = {"tables": tables.checkpoint(), "at": start + 200}
    files.write_atomic("agents/0/checkpoint.json", json.dumps(state).encode())
    tables.reclaim()
"""


def test_kill_at_any_operation_leaves_the_rows_of_the_last_checkpoint(tmp_path):
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    kinds = set()
    for turn in range(12):
        fault = f"{chance.choice(['kill', 'torn'])}:{chance.randint(1, 60)}"
        for _ in range(2):  # killed, resumed, killed again
            subprocess.run(
                [sys.executable, "-c", KILLED, str(tmp_path / str(turn)), fault,
                 str(Path(__file__).parent)],
                check=False, capture_output=True, timeout=120,
            )  # fmt: skip
        root = tmp_path / str(turn)
        path = root / "agents/0/checkpoint.json"
        at = json.loads(path.read_text())["at"] if path.exists() else 0
        kinds.add(at)
        if at:
            assert sorted(all_urls(root)) == sorted(urls(0, at)["url"].to_pylist()), fault
    assert len(kinds) > 2, "the faults never struck"
