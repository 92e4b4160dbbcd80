"""The fault plan over a whole crawl: every kind of fault at instants all over it."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from harness import check_whole, crivello, options, refused, resumed, stored

from crivello.simweb import SimWeb

POINTS = 5
KINDS = {
    "kill": None,
    "torn": None,
    "full": "No space left on device",
    "error": "Input/output error",
}


# With fsync there are more operations, of the same code: fewer points do.
CASES = [(False, kind, point) for kind in KINDS for point in range(POINTS)]
CASES += [(True, kind, point) for point, kind in enumerate(KINDS)]


@dataclass(frozen=True)
class Made:
    """A crawl that flushes, spills and seals all the time, and its number of operations."""

    options: list[str]
    operations: int


@pytest.fixture(scope="session")
def made(small, tmp_path_factory):
    return cache(lambda fsync: make(small, fsync, tmp_path_factory.mktemp("made")))


def make(web: SimWeb, fsync: bool, directory: Path) -> Made:
    config = directory / "config.toml"
    config.write_text(f'[store]\nfsync = {str(fsync).lower()}\nseal_bytes = "64KiB"\n')
    told = [*options(web), "--config", str(config)]
    count = directory / "operations"
    done = crivello("crawl", "-o", directory / "crawl", *told, operations=count, tight="yes")
    assert done.returncode == 0, done.stderr
    check_whole(directory / "crawl")
    return Made(told, int(count.read_text()))


def check_recovers(directory: Path, small: SimWeb) -> None:
    resumed(directory)
    assert set(stored(directory)) == set(small.truth()["url"].to_pylist())
    check_whole(directory)


def check_ended(done: subprocess.CompletedProcess[str], kind: str) -> None:
    """The fault ended the process: by death, or with one line that says what was wrong."""
    told = KINDS[kind]
    if told is None:
        assert done.returncode == -signal.SIGABRT, done
    else:
        refused(done, told)


@pytest.mark.parametrize(("fsync", "kind", "point"), CASES)
def test_a_crawl_survives_a_fault_at_any_operation(directory, small, made, rng, fsync, kind, point):
    """A fault somewhere in the `point`-th fifth of the crawl, then the same command again."""
    crawl = made(fsync)
    number = 1 + int(crawl.operations * (point + rng.random()) / POINTS)
    fault = f"{kind}:{number}"
    done = crivello("crawl", "-o", directory, *crawl.options, fault=fault, tight="yes")
    if done.returncode != 0 or point < POINTS - 1:  # the number of operations varies a little
        check_ended(done, kind)
    check_recovers(directory, small)


@pytest.mark.parametrize("kind", KINDS)
def test_a_crawl_survives_a_fault_in_its_first_operations(directory, small, rng, kind):
    """Where files come into being: the operations before the first page."""
    fault = f"{kind}:{rng.randrange(1, 12)}"
    check_ended(crivello("crawl", "-o", directory, *options(small), fault=fault), kind)
    check_recovers(directory, small)


@pytest.mark.parametrize("kind", KINDS)
def test_a_crawl_survives_a_fault_while_it_recovers(directory, small, rng, kind):
    """Recovery writes too: truncations, removals, names."""
    place = "with all sealed and some files named"
    died = crivello("crawl", "-o", directory, *options(small), die=place)
    assert died.returncode == -signal.SIGKILL, died
    fault = f"{kind}:{rng.randrange(1, 10)}"
    check_ended(crivello("crawl", "-o", directory, fault=fault), kind)
    check_recovers(directory, small)
