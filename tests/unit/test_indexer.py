"""The indexer follows the table `pages`: every document once, whatever happens to its files."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from search_corpora import vocabulary, words

import crivello
from crivello import _native
from crivello._native import Files
from crivello.config import Settings
from crivello.crawl.lock import CrawlLock
from crivello.errors import Error, UsageError
from crivello.index import Background, Indexer, indexer, state
from crivello.search import Searcher
from crivello.store import Tables, checkpoint

COMMON = "everywhere"


class Shop:
    """A crawl's directory whose pages are written by hand, checkpoint by checkpoint."""

    def __init__(self, root: Path) -> None:
        self.root = root
        Settings().save(root / "crivello.toml")
        self.files = Files(root)
        self.tables = Tables(self.files, 0)
        self.visit = 0
        self.expected: set[str] = set()
        self.rng = random.Random(5)
        self.known = vocabulary(self.rng, 200)

    def checkpoint(self) -> None:
        body = {"agent": 0, "epoch": 1, "at": 1, "tables": self.tables.checkpoint()}
        self.files.write_atomic("agents/0/checkpoint.json", checkpoint.encode(body))
        self.tables.reclaim()

    def write(self, count: int, **columns) -> list[str]:
        """Pages of the words that chance gives, and of one that all of them hold."""
        numbers = range(self.visit, self.visit + count)
        self.visit += count
        rows = [
            {
                "url": f"http://h{number % 3}.sim/{number}",
                "url_hash": number * 7919,
                "host": f"h{number % 3}.sim",
                "domain": "sim",
                "visit": number,
                "fetched_at": 1_700_000_000_000_000 + number,
                "status": 200,
                "title": words(self.rng, self.known, 3),
                "text": f"{COMMON} {words(self.rng, self.known, 40)}",
                "depth": 0,
                "score": 0.0,
                **columns,
            }
            for number in numbers
        ]
        self.tables.append("pages", pa.Table.from_pylist(rows).combine_chunks().to_batches()[0])
        return [row["url"] for row in rows]

    def seal(self, count: int) -> None:
        """Documents, sealed: to be found once they are indexed."""
        self.expected |= set(self.write(count))
        self.finish()

    def finish(self) -> None:
        self.tables.finish()
        self.checkpoint()


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path)


def found(root: Path) -> Counter[str]:
    """The URLs that the word of all documents finds, with how often."""
    return Counter(hit.url for hit in Searcher.open(root).search(COMMON, k=100_000))


def check(shop: Shop) -> None:
    """Every document is there, once, and nothing else lies about."""
    assert found(shop.root) == dict.fromkeys(shop.expected, 1)
    index = state.read(shop.root)
    assert index.documents == len(shop.expected)
    assert {f"0/{path.name}" for path in (shop.root / "index/0").iterdir()} == {
        segment.file for segment in index.segments
    }
    for segment in index.segments:
        assert (shop.root / segment.path).stat().st_size == segment.len
    numbers = [n for s in index.segments for first, last in s.origin["0"] for n in (first, last)]
    assert numbers == sorted(numbers)


def test_what_is_sealed_is_indexed_and_nothing_twice(shop):
    shop.seal(30)
    done = Indexer(shop.root).update()
    assert (done.added, done.complete) == (30, True)
    check(shop)
    shop.write(10)  # not sealed yet
    shop.checkpoint()
    assert Indexer(shop.root).update().added == 0
    check(shop)
    for _ in range(3):
        shop.seal(20)
    shop.expected = set(shop.expected) | {f"http://h{n % 3}.sim/{n}" for n in range(30, 40)}
    done = Indexer(shop.root).update()
    assert done.added == 70
    assert done.index.indexed == {"0": 4}
    check(shop)
    assert Indexer(shop.root).update() == indexer.Update(done.index, 0, True)


def test_a_document_is_a_page_with_text_that_may_be_indexed(shop):
    shop.write(3, status=404)
    shop.write(3, status=301, text=None)
    shop.write(3, text=None)
    shop.write(3, robots_flags=1)
    shop.write(3, robots_flags=1 | 2)
    shop.expected |= set(shop.write(3, robots_flags=2))
    shop.expected |= set(shop.write(3, title=None))
    shop.seal(3)
    Indexer(shop.root).update()
    check(shop)


def test_a_crawl_with_nothing_sealed_has_an_empty_index(shop):
    shop.checkpoint()
    assert Indexer(shop.root).update().index.documents == 0
    assert Searcher.open(shop.root).search("anything").total == 0


def test_little_memory_makes_more_segments_of_the_same_documents(shop):
    for _ in range(3):
        shop.seal(1000)
    done = Indexer(shop.root, memory=1 << 16).update()
    assert len(done.index.segments) > 3
    check(shop)


def test_many_segments_are_merged_and_neighbours_stay_neighbours(shop):
    counts = set()
    for _ in range(35):
        shop.seal(5)
        Indexer(shop.root).update()
        counts.add(len(state.read(shop.root).segments))
    assert max(counts) == indexer.MOST_SEGMENTS
    check(shop)
    before = found(shop.root)
    Indexer(shop.root).update(merge=True)
    [segment] = state.read(shop.root).segments
    assert segment.origin == {"0": [[1, 35]]}
    assert found(shop.root) == before
    check(shop)


def test_what_a_crash_left_is_swept_away(shop):
    shop.seal(20)
    Indexer(shop.root).update()
    (shop.root / "index/0/000099.seg").write_bytes(b"half of a segment")
    (shop.root / "index/0/000100.seg.tmp").write_bytes(b"less")
    shop.seal(20)
    Indexer(shop.root).update()
    check(shop)


def test_an_index_that_was_deleted_is_made_again(shop):
    import shutil

    shop.seal(20)
    Indexer(shop.root).update()
    shutil.rmtree(shop.root / "index")
    assert Indexer(shop.root).update().added == 20
    check(shop)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"documents": 20', b'"documents": 21'),
        lambda data: data.replace(b'"version": 1', b'"version": 2'),
        lambda data: b"",
        lambda data: b"[]",
    ],
)
def test_a_damaged_list_of_segments_is_told_and_can_be_rebuilt(shop, damage):
    shop.seal(20)
    Indexer(shop.root).update()
    path = shop.root / state.NAME
    path.write_bytes(damage(path.read_bytes()))
    told = f"{path}: is damaged, or of another version; `crivello index {shop.root} --rebuild`"
    for call in (Indexer(shop.root).update, lambda: Searcher.open(shop.root)):
        with pytest.raises(Error) as raised:
            call()
        assert str(raised.value).startswith(told)
    Indexer(shop.root).update(rebuild=True)
    check(shop)


@pytest.mark.parametrize("damage", ["cut", "flipped head", "foreign", "gone"])
def test_a_damaged_segment_is_told_and_can_be_rebuilt(shop, damage):
    shop.seal(200)
    Indexer(shop.root).update()
    [path] = (shop.root / "index/0").iterdir()
    data = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    else:
        data[8] ^= 0xFF
        changed = {"cut": data[:-5], "flipped head": data, "foreign": b"PK\3\4" * 100}
        path.write_bytes(changed[damage])
    with pytest.raises(Error) as raised:
        Searcher.open(shop.root).search(COMMON)
    assert str(path) in str(raised.value)
    assert f"`crivello index {shop.root} --rebuild`" in str(raised.value)
    assert "\n" not in str(raised.value)
    Indexer(shop.root).update(rebuild=True)
    check(shop)


def test_damage_anywhere_in_a_segment_is_an_error_or_changes_nothing_else(shop):
    """A search over flipped bytes ends in results or in one line, never in anything worse."""
    shop.seal(100)
    Indexer(shop.root).update()
    [path] = (shop.root / "index/0").iterdir()
    data = path.read_bytes()
    rng = random.Random(3)
    refused = 0
    for _ in range(60):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            Searcher.open(shop.root).search(f"{COMMON} OR {rng.choice(shop.known)}", k=200)
        except Error as error:
            assert "--rebuild" in str(error)
            refused += 1
        with pytest.raises(ValueError, match=str(path.name)):
            _native.Searcher([path]).check()
    assert refused > 5


def test_an_index_that_is_ahead_of_its_tables_is_told(shop):
    shop.seal(20)
    done = Indexer(shop.root).update()
    state.write(shop.files, state.Index(done.index.segments, {"0": 5}))
    with pytest.raises(Error, match=r"knows more than the tables of the crawl; .*--rebuild"):
        Indexer(shop.root).update()


def test_a_rebuild_leaves_the_old_index_until_it_is_done(shop):
    shop.seal(300)
    Indexer(shop.root).update()
    before = state.read(shop.root)
    looked = []

    def look(done: int, total: int) -> None:
        looked.append((state.read(shop.root) == before, sum(found(shop.root).values())))

    Indexer(shop.root, memory=1 << 16).update(rebuild=True, on_progress=look)
    assert set(looked) == {(True, 300)}
    assert state.read(shop.root) != before
    check(shop)


def test_a_run_that_is_stopped_leaves_the_rest_to_the_next(shop):
    for _ in range(4):
        shop.seal(600)
    asked = iter([False] * 5 + [True] * 100)
    done = Indexer(shop.root, memory=1 << 16).update(stop=lambda: next(asked))
    assert not done.complete
    assert 0 < done.added < 2400
    assert sum(found(shop.root).values()) == done.added
    done = Indexer(shop.root).update()
    assert done.complete
    check(shop)


def test_a_searcher_sees_what_is_indexed_later_and_what_is_merged(shop):
    shop.seal(20)
    Indexer(shop.root).update()
    searcher = Searcher.open(shop.root)
    assert searcher.search(COMMON).total == 20
    for total in range(40, 300, 20):
        shop.seal(20)
        Indexer(shop.root).update()
        assert searcher.search(COMMON).total == searcher.documents == total
    (shop.root / state.NAME).unlink()
    with pytest.raises(UsageError, match=f"has no index yet; `crivello index {shop.root}`"):
        searcher.search(COMMON)


def test_searching_goes_on_while_segments_are_added_merged_and_removed(shop):
    shop.seal(10)
    Indexer(shop.root).update()
    searcher = Searcher.open(shop.root)
    totals: list[list[int]] = [[], []]
    over = threading.Event()
    errors = []

    def look(seen: list[int]) -> None:
        try:
            while not over.is_set():
                results = searcher.search(COMMON, k=1000)
                assert len(results) == results.total
                seen.append(results.total)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=look, args=(seen,)) for seen in totals]
    for thread in threads:
        thread.start()
    for _ in range(25):
        shop.seal(10)
        Indexer(shop.root).update()
    over.set()
    for thread in threads:
        thread.join()
    assert errors == []
    for seen in totals:
        assert seen == sorted(seen)
    check(shop)


def test_one_at_a_time_writes_an_index(shop):
    shop.seal(20)
    lock = CrawlLock(shop.root / "index/lock", taken="is busy")
    (shop.root / "index").mkdir()
    with lock, pytest.raises(Error, match=r"process \d+ is indexing this crawl; wait"):
        Indexer(shop.root).update()
    assert Indexer(shop.root).update().added == 20


def test_a_directory_that_is_no_crawl_is_refused(tmp_path):
    for make in (Indexer, Searcher.open):
        with pytest.raises(UsageError, match="is not a crawl"):
            make(tmp_path)
    Settings().save(tmp_path / "crivello.toml")
    with pytest.raises(UsageError, match=f"has no index yet; `crivello index {tmp_path}` makes it"):
        crivello.open(tmp_path).search("anything")


def test_the_index_is_told_apart_from_what_is_not_json(shop):
    shop.seal(5)
    Indexer(shop.root).update()
    listed = json.loads((shop.root / state.NAME).read_bytes())
    assert listed["indexed"] == {"0": 1}
    assert listed["segments"][0]["from"] == {"0": [[1, 1]]}


class TestBackground:
    """The thread beside the loop."""

    def test_what_is_sealed_meanwhile_is_indexed(self, shop):
        shop.seal(20)
        beside = Background(Indexer(shop.root))
        beside.maybe(1)
        shop.seal(20)
        turns = []
        beside.finish(2, stop=lambda: False, on_turn=lambda: turns.append(1))
        assert (beside.documents, beside.problem) == (40, None)
        assert turns
        check(shop)

    @pytest.mark.parametrize("how", ["stop", "Ctrl-C"])
    def test_whoever_does_not_want_to_wait_can_index_later(self, shop, how):
        class Endless(Indexer):
            """Does not get anywhere before it is stopped."""

            def update(self, *, stop, **given):
                while not stop():
                    threading.Event().wait(0.001)
                return super().update(stop=stop, **given)

        shop.seal(20)
        beside = Background(Endless(shop.root))
        turns = iter(range(100))

        def on_turn():
            if how == "Ctrl-C" and next(turns) == 2:
                raise KeyboardInterrupt

        beside.finish(1, stop=lambda: how == "stop" and next(turns) > 2, on_turn=on_turn)
        assert beside.problem == (
            f"not all pages are indexed; `crivello index {shop.root}` adds the rest"
        )
        assert Indexer(shop.root).update().added == 20
        check(shop)

    def test_another_process_that_indexes_is_named(self, shop):
        shop.seal(20)
        (shop.root / "index").mkdir()
        beside = Background(Indexer(shop.root))
        with CrawlLock(shop.root / "index/lock"):
            beside.maybe(1)
            beside.finish(1, stop=lambda: False, on_turn=lambda: None)
        assert "is indexing this crawl" in beside.problem
        assert beside.problem.endswith(f"`crivello index {shop.root}` adds the rest")

    def test_damage_ends_indexing_and_not_the_crawl(self, shop):
        shop.seal(20)
        Indexer(shop.root).update()
        (shop.root / state.NAME).write_bytes(b"{}")
        beside = Background(Indexer(shop.root))
        beside.maybe(1)
        beside.finish(1, stop=lambda: False, on_turn=lambda: None)
        assert f"`crivello index {shop.root} --rebuild`" in beside.problem
