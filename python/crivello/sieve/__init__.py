"""Sieves: from all the URLs that a crawl meets, each comes out exactly once."""

from __future__ import annotations

from crivello.sieve.memory import MemorySieve
from crivello.sieve.mercator import MercatorSieve
from crivello.sieve.protocol import Sieve

__all__ = ["MemorySieve", "MercatorSieve", "Sieve"]
