"""How fast is robots.txt parsed, and how fast does it decide?

    python -m bench kernels_robots

Typical files: a few groups, comments, some tens of rules, a sitemap. One thread; parsing includes
one agent's compiled rules. Decisions are compared with Protego's first.
"""

from __future__ import annotations

import random
from urllib.robotparser import RobotFileParser

from protego import Protego

from bench._figures import Figures, rate
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


def standard(text: str) -> RobotFileParser:
    parser = RobotFileParser()
    parser.parse(text.splitlines())
    return parser


def main() -> None:
    rng = random.Random(7)
    texts = [make_file(rng) for _ in range(300)]
    bodies = [text.encode() for text in texts]
    megabytes = sum(map(len, bodies)) / 1e6
    figures = Figures(
        "kernels_robots",
        "How fast is robots.txt parsed, and how fast does it decide?",
        corpus=f"{len(texts)} files made for it, {megabytes:.2f} MB",
        packages=["protego"],
    )
    parse = {
        "crivello": rate(
            megabytes, lambda: [Robots.parse(body).crawl_delay(AGENT) for body in bodies]
        ),
        "Protego": rate(megabytes, lambda: [Protego.parse(text) for text in texts], 3),
        "urllib": rate(megabytes, lambda: [standard(text) for text in texts], 3),
    }
    figures.table(
        "Parsing",
        [{"parser": name, "MB/s": speed} for name, speed in parse.items()],
        "aimed at are 200 MB/s",
    )

    paths = [
        "/" + "/".join(f"dir{rng.randrange(100)}" for _ in range(rng.randrange(1, 5))) + ".html"
        for _ in range(200_000)
    ]
    robots, other, third = Robots.parse(bodies[0]), Protego.parse(texts[0]), standard(texts[0])
    few = [f"https://example.org{path}" for path in paths[:5000]]
    assert robots.allowed_paths(AGENT, paths[:5000]) == [other.can_fetch(u, AGENT) for u in few]
    count, small = len(paths) / 1e6, len(few) / 1e6
    decide = {
        "crivello": rate(count, lambda: robots.allowed_paths(AGENT, paths)),
        "Protego": rate(small, lambda: [other.can_fetch(url, AGENT) for url in few], 3),
        "urllib": rate(small, lambda: [third.can_fetch(AGENT, url) for url in few], 3),
    }
    rules = sum(
        line.startswith(("Allow", "Disallow")) for line in texts[0].split("BadBot")[0].splitlines()
    )
    figures.table(
        "Deciding",
        [{"parser": name, "million/s": speed} for name, speed in decide.items()],
        f"{rules} rules apply; aimed at are 5 million a second",
    )
    for what, speeds in (("parsed", parse), ("decides", decide)):
        for peer in ("Protego", "urllib"):
            figures.ratio(f"robots.txt {what}: crivello ÷ {peer}", speeds["crivello"], speeds[peer])
    figures.finish()


if __name__ == "__main__":
    main()
