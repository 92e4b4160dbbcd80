"""Segments across the border: built, searched, merged, refused; and a frozen one of version 1."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from crivello._native import Files, IndexBuilder, Searcher, analyse, merge_segments, snippet

FROZEN = Path(__file__).parents[1] / "data" / "segments" / "v1.seg"
SCHEMA = pa.schema(
    [
        pa.field("url", pa.string(), nullable=False),
        pa.field("url_hash", pa.uint64(), nullable=False),
        pa.field("visit", pa.uint64(), nullable=False),
        pa.field("fetched_at", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("lang", pa.string()),
        pa.field("title", pa.string()),
        pa.field("text", pa.string()),
    ]
)


def documents(count: int, first: int = 0) -> pa.RecordBatch:
    """Documents as the frozen segment has them: document n has the divisors of n."""
    rows = [
        {
            "url": f"http://www.sim/{n}",
            "url_hash": n * 0x9E3779B97F4A7C15 % (1 << 64),
            "visit": 1000 + n,
            "fetched_at": 1_700_000_000_000_000 + n,
            "lang": ("en", "ja", None)[n % 3],
            "title": f"Number {n}" if n % 4 else None,
            "text": " ".join(f"d{d}" for d in range(1, n + 1) if n % d == 0) + f" 素数 end {n}"
            if n % 7
            else None,
        }
        for n in range(first, first + count)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def build(root: Path, batch: pa.RecordBatch, name: str = "a.seg", **options: bool) -> Path:
    builder = IndexBuilder(**options)
    builder.add(batch)
    files = Files(root)
    length, _ = builder.finish(files, name)
    assert len(builder) == 0
    assert (root / name).stat().st_size == length
    return root / name


def hits(searcher: Searcher, query: tuple, k: int = 10) -> list[tuple[int, int, float]]:
    found = pa.record_batch(searcher.search(query, k)).to_pylist()
    return [(hit["segment"], hit["document"], hit["score"]) for hit in found]


QUERIES = [
    ("term", "d3"),
    ("phrase", ["素", "数"]),
    ("title", ("term", "13")),
    ("any", [("term", "d5"), ("term", "d14"), ("title", ("phrase", ["number", "9"]))]),
    ("all", [("term", "d2"), ("any", [("term", "d3"), ("term", "d11")])]),
    ("without", ("term", "d2"), ("term", "d4")),
    ["any", [["term", "d299"], ["phrase", ["d1", "d2", "d4"]]]],
]


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_segment_of_the_first_version_answers_as_one_built_now(tmp_path, query):
    frozen, fresh = Searcher([FROZEN]), Searcher([build(tmp_path, documents(300))])
    frozen.check()
    assert hits(frozen, query, 400) == hits(fresh, query, 400)
    assert frozen.count(query) == fresh.count(query) == len(hits(frozen, query, 400)) > 0


def test_documents_come_back_as_they_were_given(tmp_path):
    batch = documents(300)
    searcher = Searcher([FROZEN])
    wanted = [299, 3, 4, 4, 0]
    asked = pa.record_batch({"segment": [0] * 5, "document": wanted}, schema=pa.schema(
        [("segment", pa.uint32()), ("document", pa.uint32())]
    ))  # fmt: skip
    got = pa.record_batch(searcher.documents(asked))
    assert got.schema.names == SCHEMA.names
    assert got.to_pylist() == batch.take(pa.array(wanted)).to_pylist()
    assert searcher.documents_total == searcher.live_total == 300
    assert searcher.bytes == FROZEN.stat().st_size


def test_a_score_is_bm25_in_floating_point_as_documented(tmp_path):
    searcher = Searcher([build(tmp_path, documents(50))])
    rows = documents(50).to_pylist()
    words = [
        (
            [t for t, _, _ in analyse(row["title"] or "")],
            [t for t, _, _ in analyse(row["text"] or "")],
        )
        for row in rows
    ]
    lengths = [len(text) + 4 * len(title) for title, text in words]
    n, mean = len(rows), sum(lengths) / len(rows)
    df = sum(1 for title, text in words if "12" in title + text)
    idf = math.log(1.0 + (n - df + 0.5) / (df + 0.5))
    expected = []
    for number, (title, text) in enumerate(words):
        tf = float(text.count("12") + 4 * title.count("12"))
        if tf:
            norm = tf + 1.2 * (1.0 - 0.75 + 0.75 * lengths[number] / mean)
            expected.append((-(idf * tf * (1.2 + 1.0) / norm), number))
    found = hits(searcher, ("term", "12"))
    assert found == [(0, number, -score) for score, number in sorted(expected)]


def test_the_latest_visit_of_a_url_is_live_and_a_merge_drops_the_others(tmp_path):
    old, new = documents(40), documents(20, first=30)
    newer = new.set_column(2, SCHEMA.field("visit"), pa.array(range(9000, 9020), pa.uint64()))
    paths = [build(tmp_path, old, "old.seg"), build(tmp_path, newer, "new.seg")]
    searcher = Searcher(paths)
    assert (searcher.documents_total, searcher.live_total) == (60, 50)
    title = ("title", ("term", "number"))
    everything = ("any", [("term", "d1"), title])
    merge_segments(Files(tmp_path), ["old.seg", "new.seg"], "all.seg")
    merged = Searcher([tmp_path / "all.seg"])
    merged.check()
    assert merged.documents_total == merged.live_total == 50
    assert merged.count(everything) == searcher.count(everything)
    assert all(segment == 1 for segment, number, _ in hits(searcher, ("title", ("term", "35"))))


def test_many_threads_search_one_searcher():
    searcher = Searcher([FROZEN])
    expected = [hits(searcher, tuple(query)) for query in QUERIES]
    wrong = []

    def work() -> None:
        for _ in range(50):
            if [hits(searcher, tuple(query)) for query in QUERIES] != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_files_that_are_no_segments_are_one_clear_error(tmp_path):
    good = FROZEN.read_bytes()
    cases = {
        "empty": (b"", "no segment of an index"),
        "foreign": (b"PAR1" * 100, "no segment of an index"),
        "cut": (good[: len(good) // 2], "its end is not what was written"),
        "later": (good[:8] + b"\x02" + good[9:], "its header is not what was written"),
    }
    for name, (data, says) in cases.items():
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises((ValueError, OSError), match=says):
            Searcher([path])
    with pytest.raises(FileNotFoundError):
        Searcher([tmp_path / "missing"])
    middle = bytearray(good)
    middle[200] ^= 1
    (tmp_path / "damaged").write_bytes(middle)
    with pytest.raises(ValueError, match="not what was written"):
        Searcher([tmp_path / "damaged"]).check()


@pytest.mark.parametrize(
    "query",
    [
        ("word", "a"),
        ("term",),
        ("term", 3),
        "term",
        None,
        ("without", ("term", "a")),
        ("title", ("all", [("term", "a")])),
        ("all", []),
        ("phrase", []),
    ],
    ids=str,
)
def test_a_tree_that_is_no_query_is_refused(query):
    with pytest.raises((TypeError, ValueError), match="query"):
        Searcher([FROZEN]).search(query, 10)


def test_a_tree_without_end_is_refused():
    query: list = ["all", []]
    query[1].append(query)
    with pytest.raises(ValueError, match="64 deep"):
        Searcher([FROZEN]).count(query)


def test_phrases_need_positions_and_documents_a_store(tmp_path):
    path = build(tmp_path, documents(300), positions=False, store=False)
    searcher = Searcher([path])
    assert path.stat().st_size < FROZEN.stat().st_size
    assert hits(searcher, ("term", "d3")) == hits(Searcher([FROZEN]), ("term", "d3"))
    with pytest.raises(ValueError, match="no positions"):
        searcher.search(("phrase", ["d1", "d2"]), 10)
    with pytest.raises(ValueError, match="without the documents"):
        searcher.documents(searcher.search(("term", "d3"), 1))


def test_a_builder_says_what_memory_it_holds_and_misses_columns_loudly():
    builder = IndexBuilder()
    empty = builder.memory_bytes
    builder.add(documents(300))
    assert len(builder) == 300
    assert builder.memory_bytes > empty
    with pytest.raises(ValueError, match="text"):
        builder.add(documents(3).drop_columns(["text"]))


def test_terms_and_snippets_count_characters():
    assert analyse("Ä-b 漢字") == [("ä", 0, 1), ("b", 2, 3), ("漢", 4, 5), ("字", 5, 6)]
    text, marks = snippet("é\n\nthe  quick fox", ("phrase", ["quick", "fox"]))
    assert (text, [text[start:end] for start, end in marks]) == ("é the quick fox", ["quick fox"])


def test_damage_never_goes_on_into_a_merged_segment(tmp_path):
    whole = build(tmp_path, documents(40)).read_bytes()
    build(tmp_path, documents(40, 40), "b.seg")
    for at in range(0, len(whole), 97):
        damaged = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        (tmp_path / "a.seg").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"a\.seg"):
            merge_segments(Files(tmp_path), ["a.seg", "b.seg"], "c.seg")
        assert not (tmp_path / "c.seg").exists()
