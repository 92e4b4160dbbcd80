"""Corpora and queries made by chance, for the tests of index and search."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa

from crivello._native import Files, IndexBuilder, Searcher

LETTERS = "abcdefgh"
SCHEMA = pa.schema(
    [
        ("url", pa.string()),
        ("url_hash", pa.uint64()),
        ("visit", pa.uint64()),
        ("fetched_at", pa.timestamp("us", tz="UTC")),
        ("lang", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
    ]
)


def vocabulary(rng: random.Random, size: int) -> list[str]:
    """Words of which some are prefixes of others, and some are of other scripts."""
    words = {"".join(rng.choices(LETTERS, k=rng.randrange(1, 6))) for _ in range(size)}
    return [*sorted(words), "漢", "字", "か", "straße", "über", "c99"]


def words(rng: random.Random, known: list[str], count: int) -> str:
    """Frequent words are frequent as in a text: the n-th is drawn in proportion to 1/n."""
    weights = [1 / (n + 1) for n in range(len(known))]
    return " ".join(rng.choices(known, weights, k=count))


def documents(rng: random.Random, known: list[str], numbers: list[int], visit: int) -> pa.Table:
    """A document for each of `numbers`, which are the hashes of their URLs."""
    rows = [
        {
            "url": f"http://h.sim/{number}",
            "url_hash": number,
            "visit": visit + place,
            "fetched_at": 1_700_000_000_000_000 + place,
            "lang": rng.choice([None, "en", "ja"]),
            "title": rng.choice([None, "", words(rng, known, rng.randrange(1, 6))]),
            "text": words(rng, known, int(rng.paretovariate(0.6)) % 400),
        }
        for place, number in enumerate(numbers)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def build(files: Files, path: str, rows: pa.Table, *, batch: int = 100) -> Path:
    """A segment of the rows."""
    builder = IndexBuilder()
    for part in rows.to_batches(max_chunksize=batch):
        builder.add(part)
    builder.finish(files, path)
    return Path(files.path(path))


def some_tree(rng: random.Random, known: list[str], depth: int):
    """A query of words that are frequent or rare."""
    kind = rng.choice(["leaf", "leaf", "all", "any", "without"]) if depth else "leaf"
    if kind == "leaf":
        chosen = tuple(words(rng, known, rng.choice([1, 1, 1, 2, 2, 3])).split())
        leaf = ("term", chosen[0]) if len(chosen) == 1 else ("phrase", chosen)
        return ("title", leaf) if rng.random() < 0.15 else leaf
    if kind == "without":
        return ("without", some_tree(rng, known, depth - 1), some_tree(rng, known, depth - 1))
    count = rng.randrange(1, 5)
    return (kind, tuple(some_tree(rng, known, depth - 1) for _ in range(count)))


def hits(searcher: Searcher, tree, k: int, **how: float) -> list[tuple[int, int, float]]:
    """What the index answers, as the reference does."""
    found = pa.record_batch(searcher.search(tree, k, **how)).to_pydict()
    return list(zip(found["segment"], found["document"], found["score"], strict=True))
