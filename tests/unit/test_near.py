"""Duplicates against their definition: comparing every page with every earlier one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crivello._native import Duplicates

SCHEMA = pa.schema(
    [
        ("text_digest", pa.binary(16)),
        ("simhash", pa.uint64()),
        ("url_hash", pa.uint64()),
        ("text_len", pa.uint32()),
    ]
)
MEMORY = 1 << 20


def batch(pages: list[tuple[int, int, int, int]]) -> pa.RecordBatch:
    rows = [
        {"text_digest": text.to_bytes(16, "little"), "simhash": sim, "url_hash": url, "text_len": n}
        for text, sim, url, n in pages
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def marks(duplicates: Duplicates, pages: list[tuple[int, int, int, int]]) -> list[tuple]:
    marked = pa.record_batch(duplicates.mark(batch(pages)))
    assert marked.schema.types == [pa.string(), pa.uint64(), pa.uint8()]
    return [tuple(row.values()) for row in marked.to_pylist()]


def by_definition(pages: list[tuple[int, int, int, int]], k: int) -> list[tuple]:
    due = []
    for at, (text, sim, _, length) in enumerate(pages):
        earlier = [page for page in pages[:at] if page[3] > 0] if length else []
        same = [page for page in earlier if page[0] == text]
        near = [  # a simhash of 0 is that of a text without words
            ((page[1] ^ sim).bit_count(), i) for i, page in enumerate(earlier) if page[1] and sim
        ]
        if same:
            due.append(("exact", same[0][2], 0))
        elif near and min(near)[0] <= k:
            distance, first = min(near)
            due.append(("near", earlier[first][2], distance))
        else:
            due.append((None, None, None))
    return due


# Few texts and simhashes of few bits far apart: repeats, distances about k and ties all occur.
BITS = [1 << place for place in (0, 1, 15, 16, 17, 31, 32, 47, 48, 63)]
SIMHASHES = st.lists(st.sampled_from(BITS), max_size=5).map(sum).map(lambda bits: bits % (1 << 64))
PAGES = st.lists(
    st.tuples(st.integers(0, 30), SIMHASHES, st.integers(0, 2**64 - 1), st.integers(0, 3)),
    max_size=60,
)


@given(pages=PAGES, k=st.integers(0, 3), cut=st.integers(0, 60))
def test_marks_follow_the_definition_however_batches_are_cut(pages, k, cut):
    duplicates = Duplicates(MEMORY, k=k)
    found = marks(duplicates, pages[:cut]) + marks(duplicates, pages[cut:])
    assert found == by_definition(pages, k)
    assert len(duplicates) == sum(page[3] > 0 for page in pages)


def test_pages_without_text_repeat_nothing_and_are_not_remembered():
    duplicates = Duplicates(MEMORY)
    assert marks(duplicates, [(0, 0, 1, 0), (0, 0, 2, 0)]) == [(None, None, None)] * 2
    assert marks(duplicates, [(0, 0, 3, 9)]) == [(None, None, None)]
    assert marks(duplicates, [(0, 0, 4, 9)]) == [("exact", 3, 0)]


def test_a_null_fingerprint_repeats_nothing():
    duplicates = Duplicates(MEMORY)
    row = {"text_digest": None, "simhash": None, "url_hash": 1, "text_len": None}
    marked = pa.record_batch(duplicates.mark(pa.RecordBatch.from_pylist([row] * 2, SCHEMA)))
    assert marked["kind"].null_count == 2


def test_memory_is_fixed_by_the_budget():
    duplicates = Duplicates(MEMORY)
    before = duplicates.memory_bytes
    assert 0.9 * MEMORY < before <= MEMORY
    assert duplicates.window == MEMORY // 160
    step = 0x9E3779B97F4A7C15
    pages = [(text, text * step % 2**64, text, 1) for text in range(1, 40_000)]
    found = marks(duplicates, pages)
    assert sum(mark[0] == "exact" for mark in found) == 0
    assert duplicates.memory_bytes == before
    assert marks(duplicates, pages[-duplicates.window :])[0][0] == "exact"


def test_wrong_arguments_are_refused_in_one_line():
    with pytest.raises(ValueError, match="k = 4"):
        Duplicates(MEMORY, k=4)
    with pytest.raises(ValueError, match="100 bytes"):
        Duplicates(100)
    with pytest.raises(ValueError, match="text_digest"):
        Duplicates(MEMORY).mark(pa.RecordBatch.from_pylist([{"simhash": 1}]))
    with pytest.raises(TypeError, match="record batch"):
        Duplicates(MEMORY).mark([1])
