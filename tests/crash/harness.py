"""Crawls that die and go on, and the judgement of what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from warcio.archiveiterator import ArchiveIterator

from crivello.crawl import read_status
from crivello.simweb import SimWeb
from crivello.store import Snapshot
from crivello.store.schema import TABLES

CHILD = Path(__file__).with_name("child.py")
PATIENCE = 120


def options(web: SimWeb, *, delay: float = 0, checkpoint_every: float = 0.2) -> list[str]:
    """What a crawl of all of `web` is told when it is made."""
    told = [web.seed_url, "--scope", "any", "--delay", str(delay), "--memory", "256MiB"]
    told += ["--checkpoint-every", str(checkpoint_every)]
    return told + [word for rule in web.resolve for word in ("--resolve", rule)]


def start(*arguments: str | Path, **own: str | Path) -> subprocess.Popen[str]:
    """`crivello ARGUMENTS` in a process; `own` are options of child.py."""
    ours = [word for name, value in own.items() for word in (f"--{name}", str(value))]
    return subprocess.Popen(
        [sys.executable, str(CHILD), *ours, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


def alive(process: subprocess.Popen[str]) -> bool:
    """True; an error with what it said if the process has ended."""
    if process.poll() is not None:
        raise AssertionError(process.communicate())
    return True


@contextmanager
def running(*arguments: str | Path, **own: str | Path) -> Iterator[subprocess.Popen[str]]:
    """The same, for as long as it is looked at: then it is killed with SIGKILL."""
    process = start(*arguments, **own)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


def crivello(*arguments: str | Path, **own: str | Path) -> subprocess.CompletedProcess[str]:
    """The same, to its end."""
    process = start(*arguments, **own)
    try:
        out, told = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, told)


def again(directory: Path, arguments: list[str]) -> list[str]:
    """What the next run has to be told: nothing, unless the last one died before all else."""
    return [] if (directory / "crivello.toml").exists() else arguments


def resumed(directory: Path, arguments: Sequence[str] = ()) -> None:
    """Go on with a crawl, without faults, to its good end."""
    done = crivello("crawl", "-o", directory, *again(directory, list(arguments)))
    assert done.returncode == 0, done.stderr


def refused(done: subprocess.CompletedProcess[str], *told: str | Path) -> None:
    """The process ended with exit code 1 and one clear line that says all of `told`."""
    lines = [line for line in done.stderr.splitlines() if "going on with the crawl" not in line]
    assert done.returncode == 1, done
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("crivello: "), lines
    for part in ("Traceback", "Error:"):
        assert part not in lines[0], lines
    for part in told:
        assert str(part) in lines[0], lines


def table(directory: Path, name: str) -> pa.Table:
    """A table as a reader sees it."""
    with Snapshot.open(directory) as snapshot:
        return snapshot.table(name)


def visible(directory: Path) -> dict[str, set[str]]:
    """What a reader sees at the last checkpoint: visits, URLs admitted, origins asked."""
    with Snapshot.open(directory) as snapshot:
        return {
            "pages": set(map(str, snapshot.table("pages")["visit"].to_pylist())),
            "fetched": set(snapshot.table("pages")["url"].to_pylist()),
            "urls": set(snapshot.table("urls")["url"].to_pylist()),
            "robots": set(snapshot.table("robots")["origin"].to_pylist()),
        }


def stored(directory: Path) -> Counter[str]:
    """URLs of the pages with status 200, with how often they are there."""
    pages = table(directory, "pages").select(["url", "status"])
    return Counter(row["url"] for row in pages.to_pylist() if row["status"] == 200)


def twice(values: Iterable[object]) -> list[object]:
    return [value for value, count in Counter(values).items() if count > 1]


def check_whole(directory: Path, *, retried: bool = False) -> None:
    """What must hold of any crawl that ended well: nothing twice, nothing in part, no left-overs.

    `retried`: failures are asked again, so that a URL may have several rows without an answer.
    """
    pages = table(directory, "pages")
    rows = pages.select(["visit", "url", "url_hash", "status"]).to_pylist()
    urls = table(directory, "urls")
    assert twice(row["visit"] for row in rows) == []
    assert twice(row["url"] for row in rows if row["status"] == 200) == []
    if not retried:
        assert twice(row["url"] for row in rows) == []
    assert twice(urls["url_hash"].to_pylist()) == []
    assert {row["url_hash"] for row in rows} == set(urls["url_hash"].to_pylist())
    status = read_status(directory)
    assert status["state"] == "finished"
    assert status["urls_known"] == urls.num_rows
    assert status["visits"] == pages.num_rows
    assert status["pages_stored"] == sum(row["status"] == 200 for row in rows)
    check_archive(directory, pages)
    check_left_overs(directory)


@dataclass(frozen=True)
class Place:
    """Where a record stands."""

    file: str
    offset: int
    length: int


def check_archive(directory: Path, pages: pa.Table) -> None:
    """Every answer has one record, where its row says, and there are no others."""
    places: dict[Place, str] = {}
    for path in sorted((directory / "agents/0/warc").glob("*.warc.gz")):
        with path.open("rb") as file:
            records = ArchiveIterator(file, check_digests="raise")
            for record in records:
                kind = record.rec_type
                url = record.rec_headers.get_header("WARC-Target-URI")
                while record.raw_stream.read(1 << 16):
                    pass
                offset, length = records.get_record_offset(), records.get_record_length()
                if kind == "warcinfo":
                    assert offset == 0
                else:
                    assert kind in ("response", "revisit")
                    places[Place(path.name, offset, length)] = url
        lines = path.with_suffix("").with_suffix(".cdxj").read_text().splitlines()
        assert lines == sorted(lines)
        assert len(lines) == sum(place.file == path.name for place in places)
    columns = pages.select(["warc_file", "warc_offset", "warc_length", "url", "status"])
    claimed: dict[Place, str] = {}
    for file, offset, length, url, status in zip(
        *(column.to_pylist() for column in columns.columns), strict=True
    ):
        assert (file is not None) == (status is not None), url
        if file is not None:
            assert Place(file, offset, length) not in claimed
            claimed[Place(file, offset, length)] = url
    assert claimed == places


def check_left_overs(directory: Path) -> None:
    """With no crawl running the plain glob is the table, and nothing half-made lies about."""
    with Snapshot.open(directory) as snapshot:
        for name in TABLES:
            files = sorted((directory / "tables" / name).glob("*.parquet"))
            assert sum(pq.read_metadata(file).num_rows for file in files) == snapshot.count(name)
    odd = [
        str(path)
        for path in directory.rglob("*")
        if path.suffix in (".tmp", ".sealing", ".spool", ".part")
    ]
    assert odd == []


def check_polite(web: SimWeb, delay: float) -> None:
    """No host was asked twice within the delay, whichever process asked."""
    last: dict[str, int] = {}
    for request in web.requests():
        before = last.get(request.host)
        if before is not None:
            gap = (request.time_us - before) / 1e6
            assert gap >= delay, f"{request.host}{request.path}: {gap:.6f} s after the one before"
        last[request.host] = request.time_us
