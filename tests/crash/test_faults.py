"""The fault plan over a whole crawl: every kind of fault at instants all over it."""

from __future__ import annotations

import signal
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


@cache
def operations(web: SimWeb, directory: Path) -> int:
    """How many durable operations a whole crawl takes."""
    count = directory / "operations"
    done = crivello("crawl", "-o", directory / "unharmed", *options(web), operations=count)
    assert done.returncode == 0, done.stderr
    return int(count.read_text())


@pytest.fixture(scope="session")
def total(small, tmp_path_factory):
    return operations(small, tmp_path_factory.mktemp("operations"))


@pytest.mark.parametrize("point", range(POINTS))
@pytest.mark.parametrize("kind", KINDS)
def test_a_crawl_survives(directory, small, total, rng, kind, point):
    """A fault somewhere in the `point`-th fifth of the crawl, then the same command again."""
    number = 1 + int(total * (point + rng.random()) / POINTS)
    done = crivello("crawl", "-o", directory, *options(small), fault=f"{kind}:{number}")
    told = KINDS[kind]
    if done.returncode != 0 or number < total * 0.8:  # the number of operations varies a little
        if told is None:
            assert done.returncode == -signal.SIGABRT, done
        else:
            refused(done, told)
    resumed(directory)
    assert set(stored(directory)) == set(small.truth()["url"].to_pylist())
    check_whole(directory)


@pytest.mark.parametrize("kind", KINDS)
def test_a_crawl_survives_a_fault_in_its_first_operations(directory, small, rng, kind):
    """Where files come into being: the operations before the first page."""
    done = crivello("crawl", "-o", directory, *options(small), fault=f"{kind}:{rng.randrange(1, 12)}")
    told = KINDS[kind]
    if told is None:
        assert done.returncode == -signal.SIGABRT, done
    else:
        refused(done, told)
    resumed(directory)
    assert set(stored(directory)) == set(small.truth()["url"].to_pylist())
    check_whole(directory)


@pytest.mark.parametrize("kind", KINDS)
def test_a_crawl_survives_a_fault_while_it_recovers(directory, small, rng, kind):
    """Recovery writes too: truncations, removals, names."""
    killed = crivello("crawl", "-o", directory, *options(small), die="with all sealed and some files named")
    assert killed.returncode == -signal.SIGKILL, killed
    number = rng.randrange(1, 10)
    done = crivello("crawl", "-o", directory, fault=f"{kind}:{number}")
    assert done.returncode in (0, 1, -signal.SIGABRT), done
    if done.returncode == 1:
        refused(done, KINDS[kind])
    resumed(directory)
    assert set(stored(directory)) == set(small.truth()["url"].to_pylist())
    check_whole(directory)
