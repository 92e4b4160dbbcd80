"""What a crawl keeps: the tables, the WARC files, and how they are read while it runs."""

from __future__ import annotations

from crivello.store.capture import Capture
from crivello.store.reader import Snapshot
from crivello.store.sql import Rows
from crivello.store.tables import Tables
from crivello.store.warcs import Warcs

__all__ = ["Capture", "Rows", "Snapshot", "Tables", "Warcs"]
