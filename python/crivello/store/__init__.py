"""What a crawl keeps: the tables, the WARC files, and how they are read while it runs."""

from __future__ import annotations

from crivello.store.tables import Tables

__all__ = ["Tables"]
