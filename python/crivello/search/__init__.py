"""Search: the query language, the searcher over an index, and a reference in plain Python."""

from __future__ import annotations

from crivello.search.language import Query, QueryError, parse
from crivello.search.results import Hit, Results
from crivello.search.searcher import Searcher

__all__ = ["Hit", "Query", "QueryError", "Results", "Searcher", "parse"]
