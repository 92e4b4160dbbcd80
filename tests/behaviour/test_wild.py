"""A web with all that crawlers meet: the crawl ends, and every URL ends as the truth says."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any
from urllib.parse import urljoin

import pytest
from commands import QUICK, Command, asked, column, resolving

import crivello
from crivello.simweb import SimWeb
from crivello.url import normalise

pytestmark = pytest.mark.slow

HOSTS, PAGES = 40, 2500
RETRIES = 2
ERRORS = {
    "closed without answer": "reset",
    "reset without answer": "reset",
    "not http": "protocol",
    "connection": "host-dead",
    "robots": "robots",
    "robots unreachable": "robots-unreachable",
    "gzip corrupt": "coding-corrupt",
    "gzip cut": "coding-unfinished",
    "gzip plain": "coding-absent",
}
CUT = {"closed in body", "reset in body", "chunk size", "chunks cut"}

LATEST = """
    select url, status, error, truncated, redirect_to, bytes, text_digest
    from pages qualify row_number() over (partition by url_hash order by visit desc) = 1"""


class Crawled:
    """A crawl of the wild web, its truth by URL, and what the server was asked."""

    def __init__(self, directory, web: SimWeb, ended: dict[str, Any]) -> None:
        self.crawl = directory / "crawl"
        self.ended = ended
        self.truth = {row["url"]: row for row in web.truth().to_pylist()}
        self.requests = web.requests()
        self.latest = {row["url"]: row for row in asked(self.crawl, LATEST).to_pylist()}

    def rows(self, outcome: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Truth and latest visit of the URLs with an outcome that were found."""
        rows = [row for row in self.truth.values() if row["outcome"] == outcome]
        assert rows
        missing = [row for row in rows if row["certain"] and row["url"] not in self.latest]
        assert missing == []
        return [(row, self.latest[row["url"]]) for row in rows if row["url"] in self.latest]


@pytest.fixture(scope="module")
def wild(tmp_path_factory):
    directory = tmp_path_factory.mktemp("wild")
    (directory / "quick.toml").write_text(QUICK, "utf-8")
    with SimWeb(HOSTS, PAGES, profile="wild", time_scale=0.5, log=directory / "log") as web:
        done = Command(directory)(
            "crawl", web.seed_url, "-o", "crawl", "--scope", "any", "--delay", "0",
            "--config", "quick.toml", "--json", *resolving(web),
        )  # fmt: skip
        assert done.returncode == 0, done
        yield Crawled(directory, web, json.loads(done.stdout))


def test_the_crawl_ends_by_itself_with_nothing_left(wild):
    assert wild.ended["ending"] == wild.ended["state"] == "finished"
    assert (wild.ended["urls_queued"], wild.ended["urls_in_flight"]) == (0, 0)
    assert set(column(wild.crawl, "select state from urls_state")) == {
        "stored", "redirect", "denied", "failed",
    }  # fmt: skip
    assert wild.ended["urls_known"] == len(wild.latest)


def test_no_url_is_known_that_is_not_in_the_truth(wild):
    assert set(column(wild.crawl, "select url from urls")) == set(wild.latest)
    assert wild.latest.keys() - wild.truth.keys() == set()


def test_all_that_can_be_stored_is_stored_whole(wild):
    stored = wild.rows("stored")
    assert len(stored) > 2000
    for row, latest in stored:
        assert (latest["status"], latest["error"], latest["truncated"]) == (200, None, None), row


def test_no_page_is_stored_twice(wild):
    twice = "select url from pages where status = 200 group by url having count(*) > 1"
    assert column(wild.crawl, twice) == []


def test_redirects_end_as_such_with_their_target(wild):
    for row, latest in wild.rows("redirect"):
        target = row["location"] and normalise(urljoin(row["url"], row["location"]))
        assert (latest["status"], latest["redirect_to"]) == (row["status"], target or None), row
        assert latest["error"] is None


def test_error_statuses_are_classes_of_failure(wild):
    for row, latest in wild.rows("error"):
        assert (latest["status"], latest["error"]) == (row["status"], f"http-{row['status']}"), row


def test_what_gives_no_answer_or_may_not_be_asked_says_why(wild):
    for row, latest in [*wild.rows("failed"), *wild.rows("denied")]:
        assert (latest["status"], latest["error"]) == (None, ERRORS[row["reason"]]), row


def test_what_came_in_part_is_marked(wild):
    for row, latest in wild.rows("damaged"):
        assert latest["status"] == 200
        assert latest["error"] == ERRORS.get(row["reason"]), row
        assert (latest["truncated"] == "disconnect") == (row["reason"] in CUT), row
    for row, latest in wild.rows("truncated"):
        assert (latest["status"], latest["error"]) == (200, None), row
        assert (latest["truncated"], latest["bytes"]) == ("length", 1 << 20), row


def test_failures_in_the_status_are_those_of_the_table_and_of_the_truth(wild):
    query = "select error, count(*) from pages where error is not null group by 1"
    assert wild.ended["failures"] == dict(
        zip(*(c.to_pylist() for c in asked(wild.crawl, query).columns), strict=True)
    )
    expected = set(ERRORS.values())
    expected |= {f"http-{row['status']}" for row, _ in wild.rows("error")} | {"http-429"}
    assert set(wild.ended["failures"]) == expected


def test_what_robots_txt_denies_is_never_asked_for(wild):
    denied = {url for url, row in wild.truth.items() if row["outcome"] == "denied"}
    assert len(denied) > 100
    assert [r for r in wild.requests if f"http://{r.host}{r.path}" in denied] == []
    first = {}
    for request in wild.requests:
        first.setdefault(request.host, request.path)
    assert set(first.values()) == {"/robots.txt"}


def test_nothing_that_only_looks_like_a_link_is_asked_for(wild):
    assert [r for r in wild.requests if r.path.startswith("/decoy/")] == []


def test_passing_failures_are_tried_again_and_pages_are_asked_for_once(wild):
    asked_for = Counter(f"http://{r.host}{r.path}" for r in wild.requests)
    for row, _ in wild.rows("stored"):
        assert asked_for[row["url"]] == row["refusals"] + 1, row
    for row, _ in wild.rows("error"):
        lasting = row["reason"] in {"not found", "gone", "forbidden"}
        assert asked_for[row["url"]] == (1 if lasting else RETRIES + 1), row


def test_a_host_is_left_alone_as_long_as_it_says(wild):
    by_host = defaultdict(list)
    for request in wild.requests:
        by_host[request.host].append(request)
    held = 0
    for requests in by_host.values():
        for one, next_one in pairwise(requests):
            if one.status in {429, 503} and one.path != "/robots.txt":
                row = wild.truth[f"http://{one.host}{one.path}"]
                if row["reason"] in {"429 once", "503 twice"}:
                    assert next_one.time_us - one.time_us >= 1_000_000, one
                    held += 1
    assert held >= 10
    slow = "select host from robots where contains(body::varchar, 'Crawl-delay: 0.050')"
    hosts = column(wild.crawl, slow)
    assert hosts
    for host in hosts:
        times = [request.time_us for request in by_host[host]]
        assert len(times) > 5
        assert min(b - a for a, b in pairwise(times)) >= 50_000


def test_duplicates_are_what_they_are_said_to_be(wild):
    pairs = asked(
        wild.crawl,
        """select c.kind, c.distance, a.text_digest = b.text_digest as same,
                  bit_count(xor(a.simhash, b.simhash)) as bits
           from clusters c
           join pages a on a.url_hash = c.url_hash and a.status = 200
           join pages b on b.url_hash = c.duplicate_of and b.status = 200""",
    ).to_pylist()
    assert len(pairs) == column(wild.crawl, "select count(*) from clusters")[0]
    for pair in pairs:
        assert pair["same"] == (pair["kind"] == "exact")
        assert pair["bits"] == pair["distance"] <= 3
    counts = Counter(pair["kind"] for pair in pairs)
    assert wild.ended["duplicates"] == counts
    for row, latest in wild.rows("stored"):
        same = row["distance"] == 0 and row["lang"] and not row["changes_per_day"]
        if same and row["kind"] != "session":  # the last session's pages have an arrow less
            original = wild.latest[row["duplicate_of"]]
            assert latest["text_digest"] == original["text_digest"], row
    assert counts["exact"] > 100


def test_plain_python_parts_end_with_the_same(wild, tmp_path):
    (tmp_path / "quick.toml").write_text(QUICK, "utf-8")
    with SimWeb(HOSTS, PAGES, profile="wild", time_scale=0) as web:
        crawl = crivello.Crawl(
            tmp_path / "crawl", seeds=[web.seed_url], scope="any", delay=0, resolve=web.resolve,
            sieve="memory", frontier="memory", config=tmp_path / "quick.toml",
        )  # fmt: skip
        assert crawl.run().ending == "finished"
    ends = {row["url"]: row for row in asked(tmp_path / "crawl", LATEST).to_pylist()}
    assert ends.keys() == wild.latest.keys()
    assert {url: (row["status"], row["error"]) for url, row in ends.items()} == {
        url: (row["status"], row["error"]) for url, row in wild.latest.items()
    }
