"""What the tables say of a crawl as a whole: its pace over time, its largest hosts."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crivello.store import Snapshot

BARS = 80
"""At most so many in the chart."""
HOSTS = 12
SHARE = 20
"""The tables are looked at anew after 20 times the time that it took: a twentieth of the time."""
_WIDTHS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600)


@dataclass(frozen=True)
class Bar:
    """A span of time in the chart: pages a second from `start` (UTC microseconds) on."""

    start: int
    rate: float


@dataclass(frozen=True)
class Pace:
    """Pages a second over the time of the last run, in spans of `width` seconds."""

    width: float
    bars: list[Bar]
    mean: float = 0.0

    @property
    def most(self) -> float:
        """The highest rate."""
        return max((bar.rate for bar in self.bars), default=0.0)


@dataclass(frozen=True)
class HostRow:
    """What a host gave."""

    host: str
    pages: int
    failures: int
    bytes: int


@dataclass(frozen=True)
class Overview:
    """The tables as of a checkpoint (`at`; None: there is none yet)."""

    at: int | None
    pace: Pace
    hosts: list[HostRow]


class Overviews:
    """The overview of the crawl in a directory, kept until it is worth making anew."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._latest: Overview | None = None
        self._next = 0.0

    def latest(self, status: Mapping[str, Any]) -> Overview:
        """The overview, at most a few checkpoints old, for the status of the same moment."""
        with self._lock:
            begun = time.monotonic()
            if self._latest is None or begun >= self._next:
                with Snapshot.open(self._directory) as snapshot:
                    if self._latest is None or snapshot.at != self._latest.at:
                        self._latest = look(snapshot, status["elapsed_s"])
                ended = time.monotonic()
                self._next = ended + SHARE * (ended - begun)
            return self._latest


def look(snapshot: Snapshot, elapsed: float) -> Overview:
    """The overview of a snapshot whose last run has taken so many seconds."""
    end = snapshot.at
    if end is None:
        return Overview(None, Pace(1, []), [])
    hosts = snapshot.sql(f"""
        select host, count(*) filter (status = 200) as pages,
               count(*) filter (error is not null), coalesce(sum(bytes), 0)::ubigint
        from pages group by host order by pages desc, host limit {HOSTS}""")
    return Overview(end, pace(snapshot, end, elapsed), [HostRow(*row) for row in hosts])


def pace(snapshot: Snapshot, end: int, elapsed: float) -> Pace:
    """The rates of the `elapsed` seconds before `end`."""
    width = next((w for w in _WIDTHS if elapsed <= w * BARS), None) or elapsed / BARS
    step = round(width * 1e6)
    start = end - round(elapsed * 1e6)
    counted: dict[int, int] = dict(
        snapshot.sql(f"""
            select (epoch_us(fetched_at) - {start}) // {step}, count(*) from pages
            where status = 200 and epoch_us(fetched_at) between {start} and {end} group by 1""")
    )
    bars = []
    for number in range((end - start + step - 1) // step):
        begun = start + number * step
        seconds = min(step, end - begun) / 1e6
        if seconds >= width / 2 or number == 0:  # else too little of it is over to tell a rate
            bars.append(Bar(begun, counted.get(number, 0) / max(seconds, 0.01)))
    return Pace(width, bars, sum(counted.values()) / max(elapsed, 0.01))
