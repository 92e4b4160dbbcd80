"""Recovery, case by case."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from child import PLACES
from harness import (
    check_whole,
    crivello,
    options,
    refused,
    resumed,
    running,
    stored,
)

CHECKPOINT = "agents/0/checkpoint.json"


@pytest.mark.parametrize("place", PLACES)
def test_a_crawl_goes_on_that_died(directory, small, place):
    told = options(small, checkpoint_every=0.05)
    died = crivello("crawl", "-o", directory, *told, die=place)
    assert died.returncode == -signal.SIGKILL, died
    resumed(directory)
    assert set(stored(directory)) == set(small.truth()["url"].to_pylist())
    check_whole(directory)


def test_a_crawl_goes_on_that_died_at_every_place_in_turn(directory, small):
    arguments = options(small, checkpoint_every=0.05)
    for place in PLACES:
        crivello("crawl", "-o", directory, *arguments, die=place)
        arguments = []
    resumed(directory)
    assert set(stored(directory)) == set(small.truth()["url"].to_pylist())
    check_whole(directory)


@pytest.fixture
def interrupted(directory, small):
    """A crawl that was killed half-way, with checkpoints and with rows that are not sealed."""
    arguments = options(small, checkpoint_every=0.05)
    died = crivello("crawl", "-o", directory, *arguments, die="before anything is sealed")
    assert died.returncode == -signal.SIGKILL, died
    return directory


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
    path = interrupted / CHECKPOINT
    whole = path.read_bytes()
    path.write_bytes(content)
    refused(crivello("crawl", "-o", interrupted), CHECKPOINT)
    refused(crivello("sql", interrupted, "select 1"), CHECKPOINT)
    path.write_bytes(whole)
    resumed(interrupted)
    check_whole(interrupted)


@pytest.mark.parametrize("harm", [shorten, spoil, os.unlink], ids=["short", "spoilt", "gone"])
@pytest.mark.parametrize(
    "file",
    ["spool/pages-*", "spool/urls-*", "warc/*.warc.gz", "warc/*.cdxj.part", "frontier/state-*"],
)
def test_a_damaged_file_is_one_clear_error_that_names_it(
    interrupted: Path, harm: Callable[[Path], None], file: str
):
    [path] = (interrupted / "agents/0").glob(file)
    whole = path.read_bytes()
    harm(path)
    refused(crivello("crawl", "-o", interrupted), path.name)
    path.write_bytes(whole)
    resumed(interrupted)
    check_whole(interrupted)


@pytest.mark.parametrize("harm", [shorten, spoil, os.unlink], ids=["short", "spoilt", "gone"])
def test_a_damaged_file_of_the_sieve_is_one_clear_error_that_names_it(interrupted, harm):
    """`known` is verified by the flush that reads it, so that a spoilt one may be met later."""
    for path in sorted((interrupted / "agents/0/sieve").iterdir()):
        whole = path.read_bytes()
        harm(path)
        refused(crivello("crawl", "-o", interrupted), path.name)
        path.write_bytes(whole)
    resumed(interrupted)
    check_whole(interrupted)


def test_a_second_process_is_refused_and_the_first_goes_on(directory, small):
    with running("crawl", "-o", directory, *options(small, delay=0.2)) as first:
        while not (directory / CHECKPOINT).exists():
            assert first.poll() is None
        refused(crivello("crawl", "-o", directory), str(first.pid), "is crawling")
        assert first.poll() is None
    resumed_with = crivello("crawl", "-o", directory, "--delay", "0")
    assert resumed_with.returncode == 0, resumed_with
    check_whole(directory)
