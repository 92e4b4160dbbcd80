"""crivello: crawl a web, keep it, index it, search it and study its links.

>>> import crivello
>>> crawl = crivello.Crawl("docs.crivello", seeds=["http://localhost:8000/"])  # doctest: +SKIP
>>> crawl.run(max_pages=1000)                                                  # doctest: +SKIP
>>> crawl.sql("select host, count(*) from pages group by 1")                   # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crivello.errors import Error, UsageError

if TYPE_CHECKING:
    from crivello.crawl import Crawl, import_warcs
    from crivello.crawl import open_crawl as open

__version__ = "0.1.0"
__all__ = ["Crawl", "Error", "UsageError", "__version__", "import_warcs", "open"]


def __getattr__(name: str) -> object:
    """Import the crawler when it is first used: the command line starts faster without it."""
    if name in ("Crawl", "import_warcs", "open"):
        from crivello import crawl

        return getattr(crawl, "open_crawl" if name == "open" else name)
    raise AttributeError(f"module 'crivello' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is imported late is there to be found, as by an interactive session's completion."""
    return sorted({*globals(), *__all__})
