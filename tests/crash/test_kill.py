"""kill -9 at random instants of a whole crawl: nothing is lost, nothing is there twice."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import (
    again,
    check_polite,
    check_whole,
    crivello,
    options,
    resumed,
    running,
    stored,
    table,
    visible,
)

from crivello.simweb import SimWeb

AFTER_START = 1.0


def kill_at(directory: Path, arguments: list[str], instant: Callable[[], bool]) -> bool:
    """Crawl, and kill the crawl when `instant()` is true; whether it was killed."""
    with running("crawl", "-o", directory, *again(directory, arguments)) as process:
        while not instant():
            try:
                process.wait(0.002)
            except subprocess.TimeoutExpired:
                continue
            assert process.returncode == 0, process.stderr.read()
            return False
    return True


def random_instant(web: SimWeb, rng: random.Random, pages: int) -> Callable[[], bool]:
    """Two kinds of instants: after so many requests, and after so much time (starting counts)."""
    if rng.random() < 0.7:
        served = web.served + rng.randrange(1, pages)
        return lambda: web.served >= served
    moment = time.monotonic() + rng.uniform(0.2, AFTER_START)
    return lambda: time.monotonic() >= moment


def killed_often(
    directory: Path, web: SimWeb, rng: random.Random, arguments: list[str], *, kills: int, step: int
) -> int:
    """Crawl with up to `kills` kills, then to the end; how often it was killed."""
    for done in range(kills):
        if not kill_at(directory, arguments, random_instant(web, rng, step)):
            return done
    resumed(directory, arguments)
    return kills


@pytest.mark.parametrize("kind", [[], ["--sieve", "memory", "--frontier", "memory"]])
def test_a_crawl_killed_at_random_instants_ends_as_if_it_had_not_been(directory, rng, kind):
    with SimWeb(hosts=40, pages=2000, seed=rng.randrange(1000)) as web:
        arguments = [*options(web), *kind]
        kills = killed_often(directory, web, rng, arguments, kills=6, step=600)
        assert kills >= 2
        assert set(stored(directory)) == set(web.truth()["url"].to_pylist())
        check_whole(directory)
        unharmed = directory.with_name("unharmed")
        assert crivello("crawl", "-o", unharmed, *arguments).returncode == 0
    for name in ("urls", "links", "robots"):
        assert table(directory, name).num_rows == table(unharmed, name).num_rows, name


def test_no_delay_is_broken_across_a_kill(directory, tmp_path, rng):
    with SimWeb(hosts=40, pages=1200, seed=rng.randrange(1000), log=tmp_path / "log") as web:
        kills = killed_often(directory, web, rng, options(web, delay=0.05), kills=6, step=250)
        assert kills >= 2
        check_polite(web, 0.05)
        assert set(stored(directory)) == set(web.truth()["url"].to_pylist())
    check_whole(directory)


def test_what_a_checkpoint_holds_is_not_asked_again(directory, tmp_path, rng):
    with SimWeb(hosts=20, pages=800, seed=rng.randrange(1000), log=tmp_path / "log") as web:
        arguments = options(web)
        for _ in range(4):
            kill_at(directory, arguments, random_instant(web, rng, 250))
            if not (directory / "crivello.toml").exists():
                continue
            seen = visible(directory)
            asked = len(web.requests())
            kill_at(directory, arguments, random_instant(web, rng, 250))
            later = web.requests()[asked:]
            assert {f"http://{r.host}{r.path}" for r in later} & seen["fetched"] == set()
            origins = {f"http://{r.host}" for r in later if r.path == "/robots.txt"}
            assert origins & seen["robots"] == set()
        resumed(directory, arguments)
        assert set(stored(directory)) == set(web.truth()["url"].to_pylist())


def test_a_wild_crawl_killed_at_random_instants_stores_what_an_unharmed_one_does(directory, rng):
    seed = rng.randrange(1000)
    config = directory.with_name("config.toml")
    config.write_text("[fetch]\nretry_delay = 0.2\nfirst_byte_timeout = 2\ntotal_timeout = 4\n")
    outcomes = []
    for kills in (0, 3):
        target = directory.with_name(f"killed-{kills}")
        with SimWeb(hosts=20, pages=300, seed=seed, profile="wild", time_scale=0.1) as web:
            arguments = [*options(web), "--config", str(config)]
            killed_often(target, web, rng, arguments, kills=kills, step=150)
            certain = {row["url"] for row in web.truth().to_pylist() if row["certain"]}
        check_whole(target, retried=True)
        outcomes.append(set(stored(target)) & certain)
    assert outcomes[0] == outcomes[1]
