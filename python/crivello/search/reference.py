"""The search engine in plain Python: every document looked at, every score added up.

What the index answers by postings and bounds is here said as it is defined: the analysis, which
documents match, what a score is. It is the oracle of the index, whose answers are the same to the
last bit, and the shortest way to read what they mean.

A document is its title's terms at positions 0 … T-1 and its text's at T+1 …, so that no phrase
crosses from one to the other. An occurrence counts 1, in the title TITLE_WEIGHT; so does a term
for the length. Statistics are those of all documents, also of superseded ones.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from crivello.search.language import Query

if TYPE_CHECKING:
    import pyarrow as pa

    from crivello._native import Leaf
    from crivello._native import Query as Tree

UNSPACED = ("CJK", "IDEOGRAPHIC", "HANGZHOU", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "THAI",
            "LAO", "KHMER", "MYANMAR")  # fmt: skip
"""How Unicode's names of the characters begin of which each is a term."""
TITLE_WEIGHT = 4
LONGEST_TERM = 255
"""In bytes; a longer one has its position, and is not found."""


def terms(text: str) -> list[str]:
    """The terms of a text, as `crivello._native.analyse` finds them (but for a few signs that
    Unicode calls alphabetic and Python does not, as circled letters).

    >>> terms("Foo-bar 漢字2")
    ['foo', 'bar', '漢', '字', '2']
    """
    found: list[str] = []
    grows = alone = False  # whether there is a term to go on with, and whether by marks only
    for character in text:
        kind = _kind(character)
        if grows and (kind == "mark" or (kind == "word" and not alone)):
            found[-1] += character.lower()
        elif kind in ("word", "alone"):
            found.append(character.lower())
            grows, alone = True, kind == "alone"
        else:
            grows = False
    return found


@cache
def _kind(character: str) -> Literal["word", "alone", "mark", "gap"]:
    if unicodedata.category(character).startswith("M"):
        return "mark"
    if not character.isalnum():
        return "gap"
    return "alone" if unicodedata.name(character, "").startswith(UNSPACED) else "word"


class Found(NamedTuple):
    """A hit: the number of its segment, its number there, its score."""

    segment: int
    document: int
    score: float


@dataclass(frozen=True)
class _Document:
    segment: int
    number: int
    url_hash: int
    visit: int
    positions: dict[str, list[int]]
    title_length: int
    length: int

    @classmethod
    def read(cls, segment: int, number: int, row: dict[str, object]) -> _Document:
        title = terms(str(row["title"] or ""))
        text = terms(str(row["text"]))
        positions: dict[str, list[int]] = {}
        for position, term in enumerate([*title, None, *text]):
            if term is not None and len(term.encode()) <= LONGEST_TERM:
                positions.setdefault(term, []).append(position)
        return cls(
            segment,
            number,
            int(str(row["url_hash"])),
            int(str(row["visit"])),
            positions,
            len(title),
            TITLE_WEIGHT * len(title) + len(text),
        )

    def frequency(self, leaf: Leaf) -> int:
        """The weighted number of occurrences."""
        in_title = leaf[0] == "title"
        inner = leaf[1] if leaf[0] == "title" else leaf
        terms = (inner[1],) if inner[0] == "term" else inner[1]
        starts = set(self.positions.get(str(terms[0]), ()))
        for offset, term in enumerate(terms[1:], 1):
            starts &= {position - offset for position in self.positions.get(str(term), ())}
        titles = sum(start < self.title_length for start in starts)
        return TITLE_WEIGHT * titles + (0 if in_title else len(starts) - titles)

    def matches(self, tree: Tree) -> bool:
        if tree[0] == "all":
            return all(map(self.matches, tree[1]))
        if tree[0] == "any":
            return any(map(self.matches, tree[1]))
        if tree[0] == "without":
            return self.matches(tree[1]) and not self.matches(tree[2])
        return self.frequency(tree) > 0


class Reference:
    """Searches rows with the columns `url_hash`, `visit`, `title`, `text`, a table a segment.

    >>> import pyarrow as pa
    >>> from crivello.search import parse
    >>> rows = [{"url_hash": n, "visit": n, "title": None, "text": f"a b{n}"} for n in range(3)]
    >>> reference = Reference([pa.Table.from_pylist(rows)])
    >>> [found.document for found in reference.search(parse("a -b1").tree, 10)]
    [0, 2]
    """

    def __init__(self, segments: Sequence[pa.Table]) -> None:
        self._documents = [
            _Document.read(segment, number, row)
            for segment, rows in enumerate(segments)
            for number, row in enumerate(rows.to_pylist())
        ]
        self._frequencies = Counter(
            term for document in self._documents for term in document.positions
        )
        latest: dict[int, _Document] = {}
        for document in self._documents:
            before = latest.get(document.url_hash)
            if before is None or before.visit <= document.visit:
                latest[document.url_hash] = document
        self._live = [each for each in self._documents if latest[each.url_hash] is each]
        total = sum(document.length for document in self._documents)
        self._average = total / len(self._documents) if self._documents else 0.0

    def search(self, tree: Tree, k: int, *, k1: float = 1.2, b: float = 0.75) -> list[Found]:
        """The k best documents that match, best first."""
        leaves = Query("", tree).leaves
        found = [
            Found(each.segment, each.number, self._score(each, leaves, k1, b))
            for each in self._live
            if each.matches(tree)
        ]
        return sorted(found, key=lambda hit: (-hit.score, hit.segment, hit.document))[:k]

    def count(self, tree: Tree) -> int:
        """How many documents match."""
        return sum(document.matches(tree) for document in self._live)

    def idf(self, leaf: Leaf) -> float:
        """How rare a leaf is: a phrase is as rare as its terms together."""
        if leaf[0] == "title":
            return self.idf(leaf[1])
        idf = 0.0
        for term in (leaf[1],) if leaf[0] == "term" else leaf[1]:  # sum() rounds otherwise
            count, frequency = len(self._documents), self._frequencies[term]
            idf += math.log(1.0 + (count - frequency + 0.5) / (frequency + 0.5))
        return idf

    def _score(self, document: _Document, leaves: Iterable[Leaf], k1: float, b: float) -> float:
        score = 0.0
        for leaf in leaves:
            tf = document.frequency(leaf)
            if tf:
                norm = k1 * (1.0 - b + b * document.length / self._average)
                score += self.idf(leaf) * tf * (k1 + 1.0) / (tf + norm)
        return score
