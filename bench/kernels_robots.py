"""robots.txt: parsing and deciding, against Protego and the standard library.

Run after `make release`:  python bench/kernels_robots.py
Typical files: a few groups, comments, some tens of rules, a sitemap. One thread.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from urllib.robotparser import RobotFileParser

from protego import Protego

from crivello.fetch.robots import Robots

AGENT = "crivello"


def make_file(rng: random.Random) -> str:
    lines = ["# robots.txt of a site", ""]
    for agent in ("*", "BadBot", "Googlebot", "bingbot"):
        lines.append(f"User-agent: {agent}")
        for _ in range(rng.randrange(5, 40)):
            depth = rng.randrange(1, 4)
            path = "/".join(f"dir{rng.randrange(100)}" for _ in range(depth))
            tail = rng.choice(["/", "/", "", "/*.pdf$", "/*?sort=", "*/print"])
            lines.append(f"{rng.choice(['Disallow', 'Disallow', 'Allow'])}: /{path}{tail}")
        lines += ["Crawl-delay: 2", ""]
    return "\n".join([*lines, "Sitemap: https://example.org/sitemap.xml", ""])


def best(work: Callable[[], object], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def standard(text: str) -> RobotFileParser:
    parser = RobotFileParser()
    parser.parse(text.splitlines())
    return parser


def main() -> None:
    rng = random.Random(7)
    texts = [make_file(rng) for _ in range(300)]
    bodies = [text.encode() for text in texts]
    megabytes = sum(map(len, bodies)) / 1e6
    print(f"{len(texts)} files, {megabytes:.2f} MB; parsing includes one agent's compiled rules")

    ours = megabytes / best(lambda: [Robots.parse(body).crawl_delay(AGENT) for body in bodies])
    protego = megabytes / best(lambda: [Protego.parse(text) for text in texts], 2)
    library = megabytes / best(lambda: [standard(text) for text in texts], 2)
    print(f"parse   crivello {ours:8.1f} MB/s   (target 200)")
    print(f"        Protego  {protego:8.1f} MB/s   {ours / protego:6.1f} x")
    print(f"        urllib   {library:8.1f} MB/s   {ours / library:6.1f} x")

    paths = [
        "/" + "/".join(f"dir{rng.randrange(100)}" for _ in range(rng.randrange(1, 5))) + ".html"
        for _ in range(200_000)
    ]
    robots = Robots.parse(bodies[0])
    other = Protego.parse(texts[0])
    third = standard(texts[0])
    few = [f"https://example.org{path}" for path in paths[:5000]]
    assert robots.allowed_paths(AGENT, paths[:5000]) == [other.can_fetch(u, AGENT) for u in few]
    ours = len(paths) / best(lambda: robots.allowed_paths(AGENT, paths))
    protego = len(few) / best(lambda: [other.can_fetch(url, AGENT) for url in few], 2)
    library = len(few) / best(lambda: [third.can_fetch(AGENT, url) for url in few], 2)
    rules = sum(
        line.startswith(("Allow", "Disallow")) for line in texts[0].split("BadBot")[0].splitlines()
    )
    print(f"decide  crivello {ours / 1e6:8.2f} M/s    (target 5; {rules} rules apply)")
    print(f"        Protego  {protego / 1e6:8.2f} M/s    {ours / protego:6.1f} x")
    print(f"        urllib   {library / 1e6:8.2f} M/s    {ours / library:6.1f} x")


if __name__ == "__main__":
    main()
