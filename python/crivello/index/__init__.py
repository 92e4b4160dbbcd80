"""The index of a crawl: built from its tables, while it runs or afterwards."""

from __future__ import annotations

from crivello.index.background import Background
from crivello.index.indexer import Indexer, Update

__all__ = ["Background", "Indexer", "Update"]
