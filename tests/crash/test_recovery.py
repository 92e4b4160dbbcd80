"""Recovery, case by case."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from child import PLACES
from harness import (
    alive,
    check_whole,
    crivello,
    options,
    refused,
    resumed,
    running,
    stored,
)

from crivello.errors import Error
from crivello.store import Snapshot

CHECKPOINT = "agents/0/checkpoint.json"
# Segments are merged when there are many: test_index.py sees to that.
CRAWLING = [place for place in PLACES if "merged" not in place]


@pytest.mark.parametrize("place", CRAWLING)
def test_a_crawl_goes_on_that_died(directory, small, place):
    told = options(small, checkpoint_every=0.05)
    died = crivello("crawl", "-o", directory, *told, die=place)
    assert died.returncode == -signal.SIGKILL, died
    resumed(directory)
    assert set(stored(directory)) == set(small.truth()["url"].to_pylist())
    check_whole(directory)


def test_a_crawl_goes_on_that_died_at_every_place_in_turn(directory, small):
    arguments = options(small, checkpoint_every=0.05)
    for place in CRAWLING:
        crivello("crawl", "-o", directory, *arguments, die=place)
        arguments = []
    resumed(directory)
    assert set(stored(directory)) == set(small.truth()["url"].to_pylist())
    check_whole(directory)


@pytest.fixture(scope="module")
def halfway(small, tmp_path_factory):
    """A crawl that was killed on its way, with checkpoints and with rows that are not sealed.

    With a delay it is slow enough for some of everything to be there, on any machine.
    """
    directory = tmp_path_factory.mktemp("halfway") / "crawl"
    config = directory.with_name("config.toml")
    config.write_text('[store]\nseal_bytes = "64KiB"\n')
    arguments = [*options(small, delay=0.02, checkpoint_every=0.02), "--config", str(config)]
    place = "with half of the pages stored"
    died = crivello("crawl", "-o", directory, *arguments, die=place, tight="yes")
    assert died.returncode == -signal.SIGKILL, died
    yield directory
    resumed(directory)
    assert set(stored(directory)) == set(small.truth()["url"].to_pylist())
    check_whole(directory)


@pytest.fixture
def interrupted(halfway, directory):
    """A copy of it, to be harmed."""
    return shutil.copytree(halfway, directory)


def shorten(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x20
    path.write_bytes(data)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"version": 1}', b"\xff\xfe", b'{"version": 99}']
)
def test_a_damaged_checkpoint_is_one_clear_error(interrupted, content):
    (interrupted / CHECKPOINT).write_bytes(content)
    refused(crivello("crawl", "-o", interrupted), CHECKPOINT)
    with pytest.raises(Error, match=CHECKPOINT):
        Snapshot.open(interrupted)


@pytest.mark.parametrize("harm", [shorten, spoil, os.unlink], ids=["short", "spoilt", "gone"])
@pytest.mark.parametrize(
    "file",
    [
        "agents/0/warc/*.warc.gz",
        "agents/0/warc/*.cdxj.part",
        "agents/0/frontier/state-*",
    ],
)
def test_a_damaged_file_is_one_clear_error_that_names_it(
    interrupted: Path, harm: Callable[[Path], None], file: str
):
    path = max(interrupted.glob(file))
    harm(path)
    refused(crivello("crawl", "-o", interrupted), path.name)


@pytest.mark.parametrize("harm", [shorten, spoil, os.unlink], ids=["short", "spoilt", "gone"])
@pytest.mark.parametrize("kind", ["spool", "manifest"])
def test_damaged_rows_are_one_clear_error_that_names_their_file(interrupted, harm, kind):
    """Of whichever table has some at the instant of the kill."""
    tables = json.loads((interrupted / CHECKPOINT).read_bytes())["tables"]
    spools = [name for part in tables.values() for name, size, _ in part["spool"] if size]
    sealed = [table for table, part in tables.items() if part["manifest"]["len"]]
    path = (
        interrupted / "agents/0/spool" / max(spools)
        if kind == "spool"
        else interrupted / "tables" / max(sealed) / "manifest.log"
    )
    harm(path)
    refused(crivello("crawl", "-o", interrupted), path.name)


@pytest.mark.parametrize("harm", [shorten, os.unlink], ids=["short", "gone"])
def test_a_damaged_queue_is_one_clear_error_that_names_it(interrupted, harm):
    """Its chunks have checksums of their own, which are verified as they are read."""
    state = json.loads((interrupted / CHECKPOINT).read_bytes())["frontier"]
    path = max(interrupted.glob("agents/0/frontier/queue-*"))
    assert path.stat().st_size >= state["segment_len"] > 0
    harm(path)
    refused(crivello("crawl", "-o", interrupted), path.name)


@pytest.mark.parametrize("harm", [shorten, spoil, os.unlink], ids=["short", "spoilt", "gone"])
def test_a_damaged_file_of_the_sieve_is_one_clear_error_that_names_it(halfway, directory, harm):
    """`known` is verified by the flush that reads it, so that a spoilt one may be met later."""
    state = json.loads((halfway / CHECKPOINT).read_bytes())["sieve"]
    files = [state["log"], state["known"]]
    files += [ready[key] for ready in state["ready"] for key in ("log", "fresh")]
    assert state["known"]
    for file in files:
        interrupted = shutil.copytree(halfway, directory / Path(file["path"]).name)
        harm(interrupted / file["path"])
        refused(crivello("crawl", "-o", interrupted), Path(file["path"]).name)


def test_a_second_process_is_refused_and_the_first_goes_on(directory, small):
    with running("crawl", "-o", directory, *options(small, delay=0.2)) as first:
        while alive(first) and not (directory / CHECKPOINT).exists():
            pass
        settings = (directory / "crivello.toml").read_bytes()
        for more in ([], ["--delay", "0"]):
            refused(crivello("crawl", "-o", directory, *more), str(first.pid), "is crawling")
        assert (directory / "crivello.toml").read_bytes() == settings
        assert alive(first)
    resumed_with = crivello("crawl", "-o", directory, "--delay", "0")
    assert resumed_with.returncode == 0, resumed_with
    check_whole(directory)


def test_a_sealed_file_that_is_gone_is_one_clear_error_that_names_it(interrupted):
    path = max(interrupted.glob("tables/*/*.parquet"))
    path.unlink()
    refused(crivello("crawl", "-o", interrupted), path.name)


def test_a_checkpoint_in_which_one_number_changed_is_refused(interrupted):
    path = interrupted / CHECKPOINT
    state = json.loads(path.read_bytes())
    state["counters"]["visits"] += 1
    path.write_bytes(json.dumps(state).encode())
    refused(crivello("crawl", "-o", interrupted), CHECKPOINT)


def test_a_finished_crawl_without_its_checkpoint_is_refused_and_not_begun_anew(directory, small):
    assert crivello("crawl", "-o", directory, *options(small)).returncode == 0
    whole = (directory / CHECKPOINT).read_bytes()
    (directory / CHECKPOINT).unlink()
    refused(crivello("crawl", "-o", directory), CHECKPOINT, "is gone")
    (directory / CHECKPOINT).write_bytes(whole)
    resumed(directory)
    check_whole(directory)


def test_a_crawl_begins_that_died_while_its_settings_were_written(directory, small):
    directory.mkdir()
    (directory / "crivello.toml.new").write_text("[crawl")
    done = crivello("crawl", "-o", directory, *options(small))
    assert done.returncode == 0, done
    check_whole(directory)
