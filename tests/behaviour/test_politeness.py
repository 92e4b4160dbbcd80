"""Nobody is asked more often than was promised: the servers' own logs say so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from statistics import median
from typing import Any

import pytest
from commands import column, resolving
from small_web import Answer, SmallWeb, page

import crivello
from crivello.simweb import SimWeb

PLAIN = {"Content-Type": "text/plain"}


def gaps(times_by_name: Iterable[tuple[Any, float]]) -> dict[Any, list[float]]:
    """Times from one request to the next, by what they asked."""
    times = defaultdict(list)
    for name, at in times_by_name:
        times[name].append(at)
    return {name: [b - a for a, b in pairwise(sorted(at))] for name, at in times.items()}


def shortest(times_by_name: Iterable[tuple[Any, float]]) -> float:
    return min(gap for found in gaps(times_by_name).values() for gap in found)


@pytest.mark.parametrize("frontier", ["disk", "memory"])
def test_a_host_is_left_alone_for_the_delay(command, tmp_path, frontier):
    with SimWeb(hosts=40, pages=500, log=tmp_path / "log") as web:
        done = command(
            "crawl", web.seed_url, "-o", "crawl", "--scope", "any", "--delay", "0.05",
            "--frontier", frontier, *resolving(web),
        )  # fmt: skip
        assert done.returncode == 0, done
        requests = web.requests()
        assert column(tmp_path / "crawl", "select count(*) from pages") == [500]
        assert len(requests) == 540
        assert shortest((r.host, r.time_us / 1e6) for r in requests) >= 0.05
        # Hosts wait, the crawl does not: requests to others come in between.
        assert shortest(("all", r.time_us / 1e6) for r in requests) < 0.02


@pytest.mark.parametrize("frontier", ["disk", "memory"])
def test_an_address_is_left_alone_for_its_own_delay_whatever_hosts_it_serves(
    command, tmp_path, frontier
):
    with SimWeb(hosts=40, pages=400, addresses=4, log=tmp_path / "log") as web:
        done = command(
            "crawl", web.seed_url, "-o", "crawl", "--scope", "any", "--delay", "0",
            "--ip-delay", "0.02", "--frontier", frontier, *resolving(web),
        )  # fmt: skip
        assert done.returncode == 0, done
        requests = web.requests()
        assert len({r.ip for r in requests}) == 4
        assert column(tmp_path / "crawl", "select count(*) from pages") == [400]
        assert len(requests) == 440
        found = gaps((r.ip, r.time_us / 1e6) for r in requests)
        assert min(map(min, found.values())) >= 0.02
        # Nor is time lost: the loop wakes up when an address may be asked again.
        assert median(max(found.values(), key=len)) < 0.08


def delayed(delay: float, pages: int = 4) -> dict[str, Answer]:
    """A site whose robots.txt asks for a delay."""
    names = [f"{number}.html" for number in range(1, pages)]
    robots = Answer(f"User-agent: *\nCrawl-delay: {delay}\n".encode(), headers=PLAIN)
    leaves = {f"/{name}": page(name) for name in names}
    return {"/robots.txt": robots, "/": page("front", *names), **leaves}


def test_the_crawl_delay_of_every_host_is_obeyed_from_its_robots_txt_on(tmp_path):
    with SmallWeb(delayed(0.15)) as web:
        seeds = [f"http://h{number}.test/" for number in range(40)]
        crawl = crivello.Crawl(
            tmp_path / "crawl", seeds=seeds, delay=0, resolve=[f"*.test=127.0.0.1:{web.port}"]
        )
        assert crawl.run().status.pages_stored == 160
        found = gaps((asked.host, asked.at) for asked in web.asked)
        assert len(found) == 40
        assert all(len(times) == 4 for times in found.values())
        assert min(map(min, found.values())) >= 0.15


def test_the_longer_of_delay_and_crawl_delay_counts(tmp_path):
    with SmallWeb(delayed(0.01)) as web:
        crivello.Crawl(tmp_path / "crawl", seeds=[web.root], delay=0.1).run()
        assert len(web.asked) == 5
        assert shortest((asked.host, asked.at) for asked in web.asked) >= 0.1


def test_clocks_and_robots_txt_continue_when_a_crawl_goes_on(tmp_path):
    with SmallWeb(delayed(0.4)) as web:
        crivello.Crawl(tmp_path / "crawl", seeds=[web.root], delay=0).run(max_pages=2)
        assert web.paths.count("/robots.txt") == 1
        assert crivello.Crawl(tmp_path / "crawl").run().status.pages_stored == 4
        assert len(web.asked) == 5
        assert web.paths.count("/robots.txt") == 1
        assert shortest((asked.host, asked.at) for asked in web.asked) >= 0.4


def test_a_host_that_says_later_is_asked_later_and_its_page_is_had_in_the_end(tmp_path):
    names = [f"{number}.html" for number in range(5)]
    with SmallWeb({"/": page("front", *names)}) as web:
        web.answers.update({f"/{name}": page(name) for name in names})
        refusals = {"/2.html": Answer(b"later", 503, {"Retry-After": "1", **PLAIN})}
        ready, web.answers["/2.html"] = web.answers["/2.html"], refusals["/2.html"]
        crawl = tmp_path / "crawl"

        def relent() -> bool:
            if "/2.html" in web.paths:
                web.answers["/2.html"] = ready
            return False

        (tmp_path / "quick.toml").write_text("[fetch]\nretry_delay = 0\n", "utf-8")
        started = crivello.Crawl(crawl, seeds=[web.root], delay=0, config=tmp_path / "quick.toml")
        assert started.run(stop=relent).status.pages_stored == 6
        refused = web.paths.index("/2.html")
        assert web.paths.count("/2.html") == 2
        assert web.asked[refused + 1].at - web.asked[refused].at >= 1.0


def test_robots_txt_is_asked_first_and_what_it_denies_never(tmp_path):
    robots = b"User-agent: *\nDisallow: /\n\nUser-agent: mybot\nDisallow: /no\n"
    with SmallWeb({"/robots.txt": Answer(robots, headers=PLAIN)}) as web:
        web.answers["/"] = page("front", "no/1.html", "yes.html", "no.html")
        web.answers["/yes.html"] = page("yes")
        summary = crivello.Crawl(tmp_path / "crivello", seeds=[web.root], delay=0).run()
        assert summary.exit_code == 1
        assert web.paths == ["/robots.txt"]
        crivello.Crawl(tmp_path / "mine", seeds=[web.root], delay=0, agent_name="mybot").run()
        assert web.paths[1:] == ["/robots.txt", "/", "/yes.html"]
        denied = "select url from pages where error = 'robots' order by 1"
        assert column(tmp_path / "mine", denied) == [f"{web.root}/no.html", f"{web.root}/no/1.html"]


def test_a_host_whose_robots_txt_cannot_be_had_is_not_asked(tmp_path):
    with SmallWeb({"/robots.txt": Answer(b"oops", 500), "/": page("front")}) as web:
        summary = crivello.Crawl(tmp_path / "crawl", seeds=[web.root], delay=0).run()
        assert summary.exit_code == 1
        assert summary.status.failures == {"robots-unreachable": 1}
        assert set(web.paths) == {"/robots.txt"}
