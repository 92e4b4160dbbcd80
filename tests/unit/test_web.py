"""What the pages of `crivello serve` show: words, links and figures."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from crivello._native import Files
from crivello.store import Snapshot, Tables
from crivello.store.checkpoint import encode
from crivello.web import view
from crivello.web.overview import BARS, look
from crivello.web.pages import _page_number, _page_numbers


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("http://a.example/", True),
        ("HTTPS://a.example/", True),
        ("javascript:alert(1)", False),
        (" javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("//a.example/", False),
        ("http:javascript", False),
        ("http:// x", False),
        ("", False),
    ],
)
def test_only_web_addresses_become_links(url, link):
    assert view.weblink(url) == (url if link else None)


@pytest.mark.parametrize(
    ("tag", "kept"),
    [
        ("en", True),
        ("zh-Hant-TW", True),
        ('en" onclick="x', False),
        ("", False),
        (None, False),
        ("e", False),
        ("english language", False),
        ("en\n", False),
    ],
)
def test_only_what_looks_like_a_language_becomes_one(tag, kept):
    assert view.language(tag) == (tag if kept else "")


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://example.org/", ["example.org"]),
        ("http://example.org:8080/a//b/", ["example.org:8080", "a", "b"]),
        ("http://example.org/a%20b/c.html?q=%C3%A9", ["example.org", "a b", "c.html?q=é"]),
        ("http://example.org/?q=1", ["example.org", "?q=1"]),
        ("http://example.org/%E2%80%AEfdp.exe", ["example.org", "fdp.exe"]),
        ("http://example.org/%FF%00", ["example.org", "\ufffd"]),
        ("no url", ["no url"]),
    ],
)
def test_a_url_is_read_in_parts(url, parts):
    assert view.crumbs(url) == parts


def test_control_characters_cannot_turn_a_line_around():
    assert view.plain("safe\u202egpj.exe\x00\x1b[31m\n\ttail") == "safe gpj.exe [31m tail"
    assert view.plain(None) == ""


def test_times_are_told_in_utc():
    moment = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    microseconds = int(moment.timestamp() * 1e6)
    for given in (moment, microseconds):
        assert view.iso(given) == "2026-02-03T04:05:06Z"
        assert view.moment(given) == "2026-02-03 04:05:06 UTC"
        assert view.day(given) == "3 Feb 2026"


def test_addresses_carry_their_parameters_whole():
    assert view.address("/", q="a&b=c d", page=2) == "/?q=a%26b%3Dc+d&page=2"
    assert view.address("/", q="") == "/"


def test_up_to_nine_pages_are_offered_around_the_one_that_is_shown():
    assert _page_numbers(1, 1) == [1]
    assert _page_numbers(1, 40) == list(range(1, 10))
    assert _page_numbers(20, 40) == list(range(16, 25))
    assert _page_numbers(40, 40) == list(range(32, 41))
    assert _page_numbers(77, 3) == [1, 2, 3]
    assert [_page_number(text) for text in ("3", "0", "x", "", "²", "9" * 9)] == [3, 1, 1, 1, 1, 1]


def snapshot_of(tmp_path, times, end):
    """A snapshot, taken at `end`, of pages that were stored at these times (seconds)."""
    count = len(times)
    rows = pa.RecordBatch.from_pydict(
        {
            "visit": pa.array(range(1, count + 1), pa.uint64()),
            "url": [f"http://h{n % 3}.example/{n}" for n in range(count)],
            "url_hash": pa.array(range(count), pa.uint64()),
            "host": [f"h{n % 3}.example" for n in range(count)],
            "domain": ["example"] * count,
            "depth": pa.array([0] * count, pa.uint16()),
            "score": pa.array([0.0] * count, pa.float32()),
            "fetched_at": pa.array([round(t * 1e6) for t in times], pa.int64()),
            "status": pa.array([404 if n % 10 == 9 else 200 for n in range(count)], pa.uint16()),
            "error": ["http-404" if n % 10 == 9 else None for n in range(count)],
            "bytes": pa.array([100] * count, pa.uint64()),
        }
    )
    (tmp_path / "crivello.toml").touch()
    files = Files(str(tmp_path))
    tables = Tables(files, 0)
    tables.append("pages", rows)
    state = {"agent": 0, "at": round(end * 1e6), "tables": tables.checkpoint()}
    files.write_atomic("agents/0/checkpoint.json", encode(state))
    return Snapshot.open(tmp_path)


@pytest.mark.parametrize("elapsed", [0.05, 0.9, 4.0, 7.9, 8.1, 60.0, 1000.0, 86_400.0, 1e7])
def test_the_chart_shows_the_rate_of_the_last_run_and_nothing_before_it(tmp_path, elapsed):
    end = 1_800_000_000.0
    times = [end - elapsed * (n + 0.5) / 1000 for n in range(1000)]
    earlier = [end - elapsed - 1 - n for n in range(50)]
    with snapshot_of(tmp_path, times + earlier, end) as snapshot:
        overview = look(snapshot, elapsed)
    pace = overview.pace
    assert 0 < len(pace.bars) <= BARS
    assert pace.mean == pytest.approx(900 / max(elapsed, 0.01))
    assert [bar.start for bar in pace.bars] == sorted({bar.start for bar in pace.bars})
    shown = pace.bars if elapsed < pace.width else pace.bars[:-1]
    for bar in shown:
        assert bar.rate == pytest.approx(900 / elapsed, rel=0.35)
    assert [row.host for row in overview.hosts] == ["h0.example", "h1.example", "h2.example"]
    assert sum(row.pages for row in overview.hosts) == 945
    assert sum(row.failures for row in overview.hosts) == 105
    assert sum(row.bytes for row in overview.hosts) == 105_000


def test_a_crawl_without_a_checkpoint_has_an_empty_overview(tmp_path):
    (tmp_path / "crivello.toml").touch()
    with Snapshot.open(tmp_path) as snapshot:
        overview = look(snapshot, 1.0)
    assert (overview.at, overview.hosts, overview.pace.bars) == (None, [], [])
