"""The frontier: URLs that wait to be visited, and the tokens that make visiting them polite."""

from __future__ import annotations

from crivello.frontier.disk import DiskFrontier
from crivello.frontier.memory import MemoryFrontier
from crivello.frontier.protocol import CLOCKS, LEASES, Frontier

__all__ = ["CLOCKS", "LEASES", "DiskFrontier", "Frontier", "MemoryFrontier"]
