"""crivello: crawl a web, keep it, index it, search it and study its links."""

from __future__ import annotations

from crivello.errors import Error, UsageError

__version__ = "0.1.0"
__all__ = ["Error", "UsageError", "__version__"]
