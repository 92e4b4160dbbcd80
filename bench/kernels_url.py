"""Joining links: resolve + normalise + hash, against the standard library.

Run after `make release`:  python bench/kernels_url.py
Links come from a made-up site whose pages link as documentation does (menus repeated on each
page, relative, absolute and external links, fragments). One thread, repeats counted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from urllib.parse import urldefrag, urljoin

import pyarrow as pa

from crivello import _native


def page_links(rng: random.Random) -> list[str]:
    words = [f"section-{i}" for i in range(200)]
    menu = [f"/docs/{word}/index.html" for word in words[:20]]
    links = list(menu)
    for _ in range(110):
        word, other = rng.choice(words), rng.choice(words)
        links.append(
            rng.choice(
                [
                    f"../{word}/{other}.html",
                    f"{word}.html#{other}",
                    f"#{word}",
                    f"../../api/{word}/{other}.html?lang=en&v=2",
                    f"https://docs.example.org/manual/{word}/{other}.html",
                    f"https://www.example{rng.randrange(50)}.com/{word}/?q={other}",
                    f"./{word}/{other}/",
                    f"/wiki/{word}_({other})",
                ]
            )
        )
    return links


def best(work: Callable[[], object], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    rng = random.Random(7)
    base = "https://docs.example.org/manual/reference/page.html"
    links = [link for _ in range(1000) for link in page_links(rng)]
    batch = pa.record_batch({"url": links})
    size = sum(map(len, links)) / len(links)
    print(f"{len(links)} links of {size:.0f} bytes in the mean, one thread")

    ours = len(links) / best(lambda: _native.normalise_batch(batch, base))
    few = links[: len(links) // 10]
    library = len(few) / best(lambda: [hash(urldefrag(urljoin(base, link))[0]) for link in few], 3)
    single = len(few) / best(lambda: [_native.normalise(link, base) for link in few], 3)
    print(f"normalise_batch   {ours / 1e6:8.2f} M/s   (target 3)")
    print(f"normalise, singly {single / 1e6:8.2f} M/s")
    print(f"urllib.parse      {library / 1e6:8.2f} M/s")
    print(f"ratio             {ours / library:8.1f} x")


if __name__ == "__main__":
    main()
