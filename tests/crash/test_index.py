"""kill -9 while the index is made: no document is lost, none is there twice."""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from harness import check_whole, crivello, options, refused, resumed, table

from crivello._native import Searcher
from crivello.index import state

PLACES = [
    "with documents read and no segment written",
    "with a segment written and not named",
    "with index.json half written",
    "with a segment named",
    "with a merged segment written and not named",
    "with a merged segment named and its parts there",
]
KINDS = {
    "kill": None,
    "torn": None,
    "full": "No space left on device",
    "error": "Input/output error",
}


def often_sealing(web, directory):
    """Options of a crawl whose tables are sealed all the time, so that it is indexed often."""
    config = directory.with_name("config.toml")
    config.write_text('[store]\nseal_bytes = "64KiB"\nseal_seconds = 0.05\n')
    return [*options(web, checkpoint_every=0.02), "--config", str(config)]


def indexed(directory: Path) -> Counter[str]:
    """URLs of all documents of all segments, with how often they are there."""
    index = state.read(directory)
    segments = Searcher([directory / segment.path for segment in index.segments])
    segments.check()
    assert segments.documents_total == segments.live_total == index.documents
    places = [(at, n) for at, part in enumerate(index.segments) for n in range(part.documents)]
    asked = {
        "segment": pa.array([at for at, _ in places], pa.uint32()),
        "document": pa.array([n for _, n in places], pa.uint32()),
    }
    documents = segments.documents(pa.RecordBatch.from_pydict(asked))
    return Counter(pa.record_batch(documents)["url"].to_pylist())


def check_index(directory: Path) -> None:
    """Every page with text is there, once, and nothing lies about."""
    pages = table(directory, "pages").select(["url", "status", "text"]).to_pylist()
    expected = {row["url"] for row in pages if row["status"] == 200 and row["text"] is not None}
    index = state.read(directory)
    assert index.documents == len(expected)
    assert indexed(directory) == dict.fromkeys(expected, 1)
    present = {str(path.relative_to(directory)) for path in (directory / "index/0").iterdir()}
    assert present == {segment.path for segment in index.segments}
    assert not (directory / f"{state.NAME}.tmp").exists()


@pytest.mark.parametrize("place", PLACES)
def test_a_crawl_killed_while_it_indexes_goes_on_with_its_index(directory, small, place):
    arguments = often_sealing(small, directory)
    died = crivello("crawl", "-o", directory, *arguments, die=place)
    assert died.returncode == -signal.SIGKILL, died
    resumed(directory)
    check_whole(directory)
    check_index(directory)


@pytest.fixture(scope="module")
def unindexed(small, tmp_path_factory):
    """A crawl of many sealed files, without an index."""
    directory = tmp_path_factory.mktemp("unindexed") / "crawl"
    done = crivello("crawl", "-o", directory, *often_sealing(small, directory), "--no-index")
    assert done.returncode == 0, done.stderr
    assert not (directory / "index").exists()
    return directory


@pytest.mark.parametrize("place", [PLACES[0], PLACES[1], PLACES[2]])
@pytest.mark.parametrize("what", [[], ["--rebuild"]])
def test_indexing_that_was_killed_is_done_again(directory, unindexed, place, what):
    shutil.copytree(unindexed, directory)
    if what:
        assert crivello("index", directory).returncode == 0
    # Little memory, so that there are many segments.
    died = crivello("index", directory, "--memory", "64KiB", *what, die=place)
    if died.returncode != 0:
        assert died.returncode == -signal.SIGKILL, died
    done = crivello("index", directory, *what)
    assert done.returncode == 0, done.stderr
    check_index(directory)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attempt", range(3))
def test_indexing_survives_a_fault_at_any_operation(directory, unindexed, rng, kind, attempt):
    shutil.copytree(unindexed, directory)
    fault = f"{kind}:{rng.randrange(1, 30)}"
    done = crivello("index", directory, "--memory", "64KiB", fault=fault)
    if done.returncode != 0:
        if KINDS[kind] is None:
            assert done.returncode == -signal.SIGABRT, done
        else:
            refused(done, KINDS[kind])
    again = crivello("index", directory, "--memory", "64KiB", "--merge")
    assert again.returncode == 0, again.stderr
    check_index(directory)
