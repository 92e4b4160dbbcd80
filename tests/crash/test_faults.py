"""The fault plan over a whole crawl: every kind of fault at instants all over it."""

from __future__ import annotations

import signal
import subprocess
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


@pytest.fixture(scope="session", params=[False, True], ids=["process", "power"])
def made(request, small, tmp_path_factory):
    """Options of a crawl that is safe from the death of the process, or from a loss of power too;
    and how many durable operations it takes."""
    directory = tmp_path_factory.mktemp("operations")
    config = directory / "config.toml"
    config.write_text(f"[store]\nfsync = {str(request.param).lower()}\n")
    told = [*options(small), "--config", str(config)]
    count = directory / "operations"
    done = crivello("crawl", "-o", directory / "unharmed", *told, operations=count)
    assert done.returncode == 0, done.stderr
    return told, int(count.read_text())


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


@pytest.mark.parametrize("point", range(POINTS))
@pytest.mark.parametrize("kind", KINDS)
def test_a_crawl_survives_a_fault_at_any_operation(directory, small, made, rng, kind, point):
    """A fault somewhere in the `point`-th fifth of the crawl, then the same command again."""
    told, total = made
    if point % 2 == list(KINDS).index(kind) % 2 and "fsync = true" in Path(told[-1]).read_text():
        pytest.skip("every second point is enough here")
    number = 1 + int(total * (point + rng.random()) / POINTS)
    done = crivello("crawl", "-o", directory, *told, fault=f"{kind}:{number}")
    if done.returncode != 0 or number < total * 0.8:  # the number of operations varies a little
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
