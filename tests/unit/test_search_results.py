"""The index answers what the reference in plain Python answers, to the last bit."""

from __future__ import annotations

import math
import random

import pyarrow as pa
import pytest
from search_corpora import SCHEMA, build, documents, hits, some_tree, vocabulary

import crivello
from crivello._native import Files, Searcher, analyse, merge_segments
from crivello.search import parse
from crivello.search.reference import Reference, terms
from crivello.simweb import SimWeb


@pytest.fixture
def rng(request):
    seed = random.randrange(1 << 32)
    print(f"{request.node.name}: seed {seed}")
    return random.Random(seed)


def corpus(*texts, titles=None):
    rows = [
        {"url": f"u{n}", "url_hash": n, "visit": n, "fetched_at": n, "lang": None, "text": text,
         "title": titles[n] if titles else None}
        for n, text in enumerate(texts)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def check_same(searcher, reference, tree, rng):
    k = rng.choice([1, 3, 10, 1000])
    k1, b = rng.choice([(1.2, 0.75), (0.9, 0.4), (0.0, 0.0), (2.0, 1.0)])
    expected = [tuple(found) for found in reference.search(tree, k, k1=k1, b=b)]
    assert hits(searcher, tree, k, k1=k1, b=b) == expected, (tree, k, k1, b)
    assert searcher.count(tree) == reference.count(tree), tree


def test_the_reference_gives_the_scores_of_the_formula():
    reference = Reference([corpus("a b a", "b c", titles=["a", None])])
    idf = math.log(1 + (2 - 1 + 0.5) / 1.5)
    lengths, tf = (3 + 4, 2), 2 + 4
    norm = 1.2 * (1 - 0.75 + 0.75 * lengths[0] / 4.5)
    [found] = reference.search(parse("a").tree, 10)
    assert (found.segment, found.document) == (0, 0)
    assert found.score == pytest.approx(idf * tf * 2.2 / (tf + norm), rel=1e-15)
    assert [each.document for each in reference.search(parse("b").tree, 10)] == [1, 0]
    assert reference.count(parse('"a b"').tree) == 1
    assert reference.count(parse('"a a"').tree) == 0, "a phrase from the title into the text"
    assert reference.count(parse("title:a").tree) == 1
    assert reference.count(parse("title:b OR title:c").tree) == 0


def test_random_queries_over_random_segments_are_answered_as_by_the_reference(tmp_path, rng):
    files = Files(tmp_path)
    for _ in range(6):
        known = vocabulary(rng, rng.choice([5, 40, 300]))
        sizes = [rng.choice([0, 1, 7, 200, 700]) for _ in range(rng.randrange(1, 5))]
        segments = [
            documents(rng, known, rng.sample(range(3000), size), visit=10_000 * number)
            for number, size in enumerate(sizes)
        ]
        paths = [build(files, f"{n}.seg", rows) for n, rows in enumerate(segments)]
        searcher, reference = Searcher(paths), Reference(segments)
        assert searcher.documents_total == sum(sizes)
        for _ in range(60):
            check_same(searcher, reference, some_tree(rng, known, 3), rng)


def test_a_page_that_was_fetched_again_is_found_in_its_latest_form_only(tmp_path, rng):
    files = Files(tmp_path)
    known = vocabulary(rng, 40)
    numbers = list(range(300))
    segments = [
        documents(rng, known, rng.sample(numbers, 200), visit=visit) for visit in (1000, 9000, 5000)
    ]
    paths = [build(files, f"{n}.seg", rows) for n, rows in enumerate(segments)]
    searcher, reference = Searcher(paths), Reference(segments)
    distinct = {number for rows in segments for number in rows["url_hash"].to_pylist()}
    assert searcher.live_total == len(distinct) < searcher.documents_total == 600
    for _ in range(60):
        check_same(searcher, reference, some_tree(rng, known, 2), rng)
    # A merge forgets the others, and so their part in the statistics.
    merge_segments(files, ["0.seg", "1.seg", "2.seg"], "merged.seg")
    merged = Searcher([tmp_path / "merged.seg"])
    assert merged.documents_total == merged.live_total == len(distinct)
    latest = {}
    for rows in segments:
        for row in rows.to_pylist():
            if latest.get(row["url_hash"], row)["visit"] <= row["visit"]:
                latest[row["url_hash"]] = row
    live = [
        row
        for rows in segments
        for row in rows.to_pylist()
        if latest[row["url_hash"]]["visit"] == row["visit"]
    ]
    alone = Reference([pa.Table.from_pylist(live, schema=SCHEMA)])
    for _ in range(60):
        check_same(merged, alone, some_tree(rng, known, 2), rng)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """A crawl of simulated pages in several languages."""
    directory = tmp_path_factory.mktemp("search") / "crawl"
    with SimWeb(hosts=20, pages=600, seed=7) as web:
        crawl = crivello.Crawl(
            directory, seeds=[web.seed_url], scope="any", delay=0, resolve=web.resolve, index=False
        )
        crawl.run()
    table = crawl.sql("select * from pages where status = 200 and text is not null").to_arrow()
    return table.select(SCHEMA.names).cast(SCHEMA)


def test_texts_are_taken_apart_as_by_the_reference(crawled):
    samples = [
        "Straße, ÉCOLE—naïve; C99 v1.2 don't ½ ² ① x\u0301y \u0301a",
        "全文検索の仕組み ラーメン2杯 ｶﾅー 々 \u3007 ที่นี่ ๑๒ 한국어 हिन्दी ІЙ Σίσυφος ΟΔΟΣ İstanbul",
        "ខ្មែរ မြန်မာ ພາສາລາວ עברית العَرَبِيّة",
    ]
    for text in [*samples, *crawled["text"].to_pylist(), *crawled["title"].to_pylist()]:
        assert [term for term, _, _ in analyse(text)] == terms(text)


def test_queries_over_pages_of_many_languages_are_answered_as_by_the_reference(
    crawled, tmp_path, rng
):
    assert {"ja", "en"} < set(crawled["lang"].to_pylist())
    third = crawled.num_rows // 3
    segments = [crawled.slice(0, third), crawled.slice(third, third), crawled.slice(2 * third)]
    files = Files(tmp_path)
    paths = [build(files, f"{n}.seg", rows) for n, rows in enumerate(segments)]
    searcher, reference = Searcher(paths), Reference(segments)
    texts = [text for text in crawled["text"].to_pylist() if len(text) > 200]
    found = 0
    for _ in range(80):
        text = rng.choice(texts)
        places = [rng.randrange(len(text) - 40) for _ in range(3)]
        pieces = [[term for term, _, _ in analyse(text[at : at + 40])][1:-1] for at in places]
        phrase, one, other = (piece or ["x"] for piece in pieces)
        typed = rng.choice(
            [
                f'"{" ".join(phrase[:3])}"',
                f"{one[0]} OR {other[0]} OR {phrase[0]}",
                f"{one[0]} {other[0]}",
                f'({one[0]} OR "{" ".join(other[:2])}") -{phrase[0]}',
                f"title:{one[0]} OR {phrase[0]}",
                "".join(one[:3]),
            ]
        )
        tree = parse(typed).tree
        check_same(searcher, reference, tree, rng)
        found += reference.count(tree) > 0
    assert found > 40


def test_stored_fields_come_back_as_they_were(tmp_path, rng):
    files = Files(tmp_path)
    rows = documents(rng, vocabulary(rng, 30), list(range(50)), visit=7)
    parts = {"a.seg": rows.slice(0, 20), "b.seg": rows.slice(20)}
    searcher = Searcher([build(files, name, part) for name, part in parts.items()])
    order = [(0, 3), (1, 0), (1, 29), (0, 19)]
    asked = pa.RecordBatch.from_pydict(
        {
            "segment": pa.array([segment for segment, _ in order], pa.uint32()),
            "document": pa.array([document for _, document in order], pa.uint32()),
        }
    )
    found = pa.record_batch(searcher.documents(asked)).to_pylist()
    assert found == [rows.slice(20 * segment + n, 1).to_pylist()[0] for segment, n in order]
