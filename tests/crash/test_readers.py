"""Readers during a crash: they see completed checkpoints, and nothing they saw disappears."""

from __future__ import annotations

import json
from pathlib import Path

from harness import crivello, options, resumed, running, table, visible

from crivello.simweb import SimWeb

VISITS = "select visit, url, status from pages"


def asked(directory: Path) -> set[str]:
    done = crivello("sql", directory, VISITS, "--json")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines())


def test_what_sql_saw_before_a_kill_is_there_for_ever(directory, rng):
    seen: set[str] = set()
    with SimWeb(hosts=20, pages=2000, seed=rng.randrange(1000)) as web:
        arguments = options(web)
        for _ in range(3):
            with running("crawl", "-o", directory, *arguments) as process:
                target = web.served + rng.randrange(100, 300)
                while web.served < target and process.poll() is None:
                    if (directory / "agents/0/checkpoint.json").exists():
                        now = visible(directory)["pages"]
                        assert seen_visits(seen) <= now
                before = asked(directory)
                assert process.poll() in (None, 0)
            assert seen <= before
            dead = asked(directory)
            assert before <= dead
            seen = dead
            arguments = []
        resumed(directory)
    assert seen
    assert seen <= asked(directory)


def seen_visits(lines: set[str]) -> set[str]:
    return {str(json.loads(line)["visit"]) for line in lines}


def test_a_reader_of_a_dead_crawl_sees_its_checkpoint_and_not_what_came_after(directory, small):
    died = crivello(
        "crawl",
        "-o",
        directory,
        *options(small, checkpoint_every=0.05),
        die="with every part flushed and checkpoint.json half written",
    )
    assert died.returncode < 0, died
    state = json.loads((directory / "agents/0/checkpoint.json").read_bytes())
    counters = state["counters"]
    pages, urls = table(directory, "pages"), table(directory, "urls")
    assert (pages.num_rows, urls.num_rows) == (counters["visits"], counters["urls_known"])
    spooled = sum(path.stat().st_size for path in (directory / "agents/0/spool").iterdir())
    listed = sum(size for part in state["tables"].values() for _, size, _ in part["spool"])
    assert spooled > listed, "nothing had been written after the checkpoint: the test shows nothing"


def test_a_snapshot_opened_before_a_kill_can_be_read_after_the_resume(directory, small):
    from crivello.store import Snapshot

    died = crivello(
        "crawl", "-o", directory, *options(small), die="before the last rows are sealed"
    )
    assert died.returncode < 0, died
    with Snapshot.open(directory) as snapshot:
        before = snapshot.count("pages")
        resumed(directory)
        rows = snapshot.table("pages")["visit"].to_pylist()
        assert len(rows) == before
    assert set(rows) <= set(table(directory, "pages")["visit"].to_pylist())
