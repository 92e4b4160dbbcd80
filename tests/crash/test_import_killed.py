"""kill -9 during an import: the same command again adds what is missing and nothing twice."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from harness import check_archive, check_left_overs, crivello, table, twice

from crivello._native import WarcRecords
from crivello.simweb import SimWeb

FIRST_DAY = 1_700_000_000_000_000
PAGES = 1500


@pytest.fixture(scope="module")
def warcs(tmp_path_factory) -> list[Path]:
    """Archives of a simulated web, made by nobody's crawl; some captures are in two files."""
    folder = tmp_path_factory.mktemp("archives")
    records = WarcRecords(key=1)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    members = []
    with SimWeb(hosts=20, pages=PAGES) as web:
        for number, url in enumerate(sorted(web.truth()["url"].to_pylist())):
            status, body = web.page(url)
            assert status == 200
            at = FIRST_DAY + number * 1_000_000
            members.append(records.response(url, at, None, head, body, visit=number))
    paths = []
    for number in range(0, PAGES, 300):
        paths.append(folder / f"{number}.warc.gz")
        paths[-1].write_bytes(b"".join(members[max(0, number - 20) : number + 300]))
    return paths


@pytest.fixture
def often(monkeypatch):
    """Checkpoints after nearly every batch."""
    monkeypatch.setenv("CRIVELLO_CHECKPOINT_EVERY", "0.01")


def check_imported(directory: Path) -> None:
    pages = table(directory, "pages")
    assert twice(pages["url"].to_pylist()) == []
    assert pages.num_rows == PAGES
    assert sorted(table(directory, "urls")["url"].to_pylist()) == sorted(pages["url"].to_pylist())
    assert set(table(directory, "urls")["state"].to_pylist()) == {"imported"}
    assert twice(pages["visit"].to_pylist()) == []
    check_archive(directory, pages)
    check_left_overs(directory)


def test_an_import_killed_at_any_operation_and_run_again_is_as_one_unharmed(
    directory, warcs, often, rng
):
    unharmed = directory.with_name("unharmed")
    counted = directory.with_name("operations")
    assert crivello("import", unharmed, *warcs, operations=counted).returncode == 0
    check_imported(unharmed)
    operations = int(counted.read_text())
    assert operations > 100
    for number, kind in enumerate(("kill", "torn", "kill")):
        at = rng.randrange(20, operations)
        killed = crivello("import", directory, *warcs, fault=f"{kind}:{at}")
        ended = number > 0 and killed.returncode == 0  # less was left to do
        assert killed.returncode == -signal.SIGABRT or ended, (at, killed)
    done = crivello("import", directory, *warcs)
    assert done.returncode == 0, done
    check_imported(directory)
    for name in ("links", "clusters"):
        assert table(directory, name).num_rows == table(unharmed, name).num_rows, name


def test_a_crawl_after_an_import_that_was_killed_asks_for_nothing_imported(directory, warcs, often):
    with SimWeb(hosts=20, pages=PAGES) as web:
        killed = crivello("import", directory, *warcs, die="with half of the pages stored")
        assert killed.returncode == -9
        imported = set(table(directory, "pages")["url"].to_pylist())
        assert 200 <= len(imported) < PAGES
        resolve = [word for rule in web.resolve for word in ("--resolve", rule)]
        seeds = sorted({"/".join(url.split("/")[:3]) + "/" for url in imported})
        done = crivello("crawl", *seeds, "-o", directory, "--delay", "0", *resolve)
        assert done.returncode == 0, done
        pages = table(directory, "pages")
        assert twice(pages["url"].to_pylist()) == []
        assert web.served < pages.num_rows - len(imported) + 100
