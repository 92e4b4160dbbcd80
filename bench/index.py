"""How fast is an index built and searched, and how large is it, beside Tantivy's?

    python -m bench.index [--corpus FILE] [--queries 1000] [--rounds 3]

The corpus is a text file with a document a line, words in lower case joined by a space, so that
both engines see the same terms. Without one it is made of documentation packages of Debian
(`apt-get download`, into ~/.cache/crivello/bench-index), cut at their headings. Queries are drawn
from documents: terms of one document (t1, and2, and3, or, not) or words that follow one another.

One thread; CPU time, as other work on the machine counts less in it; the best of the rounds for
each query. For every query the numbers of matching documents must be equal, and for those that
match few the documents themselves. Scores are not compared: Tantivy rounds lengths to a byte.
"""

from __future__ import annotations

import argparse
import html
import random
import re
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import tantivy

from bench._figures import Figures
from crivello._native import Files, IndexBuilder, Searcher

CACHE = Path.home() / ".cache" / "crivello" / "bench-index"
PACKAGES = [
    "apache2-doc",
    "cppreference-doc-en-html",
    "erlang-doc",
    "libboost1.74-doc",
    "libgtk-3-doc",
    "libstdc++-12-doc",
    "postgresql-doc-15",
    "python-django-doc",
    "python-pandas-doc",
    "python-scipy-doc",
    "python-sympy-doc",
    "python3.11-doc",
    "qtbase5-doc-html",
    "sqlite3-doc",
]
CLASSES = ("t1", "and2", "and3", "or", "phrase2", "phrase3", "not")
SEED = 20261118
PACKAGE_BYTES = 20_000_000
FEW = 500

WORD = re.compile(r"[a-z0-9]+")
HEADING = re.compile(r"(?i)(?=<h[1-4][\s>])")
HIDDEN = re.compile(r"(?is)<(script|style|head)\b.*?</\1\s*>|<!--.*?-->")
TAG = re.compile(r"<[^>]*>")


def sections(page: str) -> Iterator[str]:
    """The parts of a page between headings, short ones joined, as words."""
    words: list[str] = []
    for part in HEADING.split(HIDDEN.sub(" ", page)):
        words += WORD.findall(html.unescape(TAG.sub(" ", part)).lower())
        if len(words) >= 40:
            for start in range(0, len(words), 1000):
                yield " ".join(words[start : start + 1000])
            words = []


def make_corpus(path: Path) -> None:
    """Fetch packages and write their sections, each once, in the order of paths."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        subprocess.run(["apt-get", "download", "-q", *PACKAGES], cwd=root, check=True)
        for package in root.glob("*.deb"):
            name = root / package.name.partition("_")[0]
            subprocess.run(["dpkg", "-x", package, name], check=True)
        seen = set()
        with path.with_suffix(".tmp").open("w", encoding="utf-8") as out:
            for package in sorted(folder for folder in root.iterdir() if folder.is_dir()):
                size = 0
                for page in sorted(package.rglob("*.htm*")):
                    if page.is_symlink() or size > PACKAGE_BYTES:
                        continue
                    for section in sections(page.read_text("utf-8", "replace")):
                        if section not in seen:
                            seen.add(section)
                            size += len(section)
                            out.write(f"{section}\n")
        path.with_suffix(".tmp").rename(path)


def draw(documents: list[str], count: int) -> dict[str, list[list[str]]]:
    """Queries of each class; frequent terms are thinned out, as people do it."""
    rng = random.Random(SEED)
    df = Counter(term for document in documents for term in set(document.split(" ")))

    def terms(number: int) -> list[str]:
        while True:
            there = sorted(set(rng.choice(documents).split(" ")))
            rng.shuffle(there)
            common = 0.1 * len(documents)
            kept = [t for t in there if df[t] > 1 and (df[t] <= common or rng.random() < 0.25)]
            if len(kept) >= number:
                return kept[:number]

    def phrase(number: int) -> list[str]:
        while True:
            words = rng.choice(documents).split(" ")
            start = rng.randrange(max(1, len(words) - number + 1))
            found = words[start : start + number]
            if len(set(found)) == number:
                return found

    sizes = {"t1": 1, "and2": 2, "and3": 3, "not": 2}
    queries = {name: [terms(size) for _ in range(count)] for name, size in sizes.items()}
    queries["or"] = [terms(rng.choice([2, 3, 4, 5])) for _ in range(count)]
    queries |= {f"phrase{size}": [phrase(size) for _ in range(count)] for size in (2, 3)}
    return queries


class Ours:
    """crivello's kernels."""

    def __init__(self, documents: list[str], directory: Path) -> None:
        """Build one segment from Arrow batches."""
        batches = list(self._batches(documents))
        start = time.process_time()
        builder = IndexBuilder(store=False)
        for batch in batches:
            builder.add(batch)
        self.bytes, _ = builder.finish(Files(directory), "bench.seg")
        self.seconds = time.process_time() - start
        self.searcher = Searcher([directory / "bench.seg"])

    @staticmethod
    def _batches(documents: list[str]) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(documents), 4096):
            texts = documents[start : start + 4096]
            numbers = pa.array(range(start, start + len(texts)), pa.uint64())
            none = pa.nulls(len(texts), pa.string())
            yield pa.record_batch(
                {
                    "url": pa.array([""] * len(texts)),
                    "url_hash": numbers,
                    "visit": numbers,
                    "fetched_at": pa.array([0] * len(texts), pa.timestamp("us", tz="UTC")),
                    "lang": none,
                    "title": none,
                    "text": pa.array(texts),
                }
            )

    def query(self, name: str, terms: list[str]) -> object:
        leaves = [("term", term) for term in terms]
        if name.startswith("phrase"):
            return ("phrase", terms)
        if name == "not":
            return ("without", *leaves)
        return leaves[0] if name == "t1" else ("any" if name == "or" else "all", leaves)

    def top(self, query: Any) -> object:
        return self.searcher.search(query, 10)

    def count(self, query: Any) -> int:
        return self.searcher.count(query)

    def found(self, query: Any, count: int) -> set[int]:
        return set(pa.record_batch(self.searcher.search(query, count))["document"].to_pylist())


class Tantivy:
    """The peer: the same terms with positions, one thread, one segment."""

    def __init__(self, documents: list[str], directory: Path) -> None:
        """Build from Python objects, as its binding takes them."""
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("b", tokenizer_name="whitespace", index_option="position")
        self.schema = builder.build()
        start = time.process_time()
        index = tantivy.Index(self.schema, path=str(directory))
        writer = index.writer(heap_size=2_000_000_000, num_threads=1)
        for document in documents:
            writer.add_document(tantivy.Document(b=document))
        writer.commit()
        writer.wait_merging_threads()
        self.seconds = time.process_time() - start
        self.bytes = sum(file.stat().st_size for file in directory.iterdir())
        index.reload()
        self.searcher = index.searcher()
        if self.searcher.num_segments != 1:
            raise SystemExit("bench: Tantivy has made several segments; numbers cannot be compared")

    def query(self, name: str, terms: list[str]) -> object:
        kind, occur = tantivy.Query, tantivy.Occur
        if name.startswith("phrase"):
            return kind.phrase_query(self.schema, "b", terms)
        leaves = [kind.term_query(self.schema, "b", term) for term in terms]
        if name == "t1":
            return leaves[0]
        rest = {"or": occur.Should, "not": occur.MustNot}.get(name, occur.Must)
        first = occur.Should if name == "or" else occur.Must
        return kind.boolean_query([(first, leaves[0]), *((rest, leaf) for leaf in leaves[1:])])

    def top(self, query: Any) -> object:
        return self.searcher.search(query, 10, count=False)

    def count(self, query: Any) -> int:
        constant = tantivy.Query.const_score_query(query, 1.0)
        return int(self.searcher.search(constant, 1, count=True).count)

    def found(self, query: Any, count: int) -> set[int]:
        return {place.doc for _, place in self.searcher.search(query, count).hits}


def compare(name: str, terms: list[list[str]], ours: Ours, theirs: Tantivy) -> None:
    """Stop at the first query of which the results differ."""
    for query in terms:
        one, other = ours.query(name, query), theirs.query(name, query)
        counts = ours.count(one), theirs.count(other)
        few = 0 < counts[0] <= FEW
        same = counts[0] == counts[1] and (
            not few or ours.found(one, FEW) == theirs.found(other, FEW)
        )
        if not same:
            raise SystemExit(f"bench: {name} {query}: results differ ({counts[0]}, {counts[1]})")


def measure(work: Callable[[Any], object], queries: list[Any], rounds: int) -> dict[str, float]:
    """Microseconds a query: mean, median, 99 %."""
    best = [float("inf")] * len(queries)
    for _ in range(rounds):
        for at, query in enumerate(queries):
            start = time.thread_time_ns()
            work(query)
            best[at] = min(best[at], (time.thread_time_ns() - start) / 1e3)
    best.sort()
    last = best[int(0.99 * len(best))]
    return {"mean": statistics.mean(best), "p50": statistics.median(best), "p99": last}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.index")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    path = options.corpus or CACHE / "docs.txt"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        make_corpus(path)
    documents = path.read_text("utf-8").splitlines()
    size = path.stat().st_size
    figures = Figures(
        "index",
        (__doc__ or "").partition("\n")[0],
        f"{len(documents):,} sections of documentation, {size / 1e6:.1f} MB of words",
        ["tantivy"],
    )
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        ours, theirs = Ours(documents, Path(one)), Tantivy(documents, Path(other))
        engines: dict[str, Any] = {"crivello": ours, "tantivy": theirs}
        rows = [
            {
                "engine": name,
                "MB/s": size / 1e6 / engine.seconds,
                "index MB": engine.bytes / 1e6,
                "% of text": 100 * engine.bytes / size,
            }
            for name, engine in engines.items()
        ]
        figures.table("build with positions, one thread", rows)
        built = "index built, MB/s: crivello ÷ Tantivy"
        figures.ratio(built, theirs.seconds, ours.seconds, target=1.6)
        figures.ratio("index size: Tantivy ÷ crivello", theirs.bytes, ours.bytes)
        queries = draw(documents, options.queries)
        for name, terms in queries.items():
            compare(name, terms, ours, theirs)
        print(f"{options.queries} queries a class: the same documents")
        for mode, title, target in (("top", "top 10 by BM25", 1.43), ("count", "count", 2.5)):
            rows = []
            for name in CLASSES:
                row: dict[str, Any] = {"class": name}
                for label, engine in engines.items():
                    trees = [engine.query(name, terms) for terms in queries[name]]
                    times = measure(getattr(engine, mode), trees, options.rounds)
                    row |= {f"{label} {key}": each for key, each in times.items()}
                rows.append(row)
            figures.table(f"{title}, µs of CPU a query", rows)
            for row in rows:
                what = f"query {row['class']}, {title}: crivello ÷ Tantivy"
                times = row["tantivy mean"], row["crivello mean"]
                figures.ratio(what, *times, target=target)
    figures.finish()


if __name__ == "__main__":
    main()
