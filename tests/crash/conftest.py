from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from crivello.simweb import SimWeb


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Chance, with its seed printed; a seed in the environment repeats a run."""
    import os

    seed = int(os.environ.get("CRASH_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"{request.node.name}: CRASH_SEED={seed}")
    return random.Random(seed)


@pytest.fixture(scope="session")
def small() -> Iterator[SimWeb]:
    """A web for the crawls that need no log of their own."""
    with SimWeb(hosts=12, pages=400, seed=11) as web:
        yield web


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "crawl"
