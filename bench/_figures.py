"""What a benchmark found: printed, and kept as `bench/out/NAME.json` for the report.

The file holds `name`, `question`, `corpus`, `peers` (versions), `ratios` and `tables`. A ratio has
`what`, `value` and perhaps a `target`; it is ours divided by theirs in the same run, in the sense
that more is better. A table has `title`, `note` and `rows`, objects whose keys are its columns. A
value measured several times is `{"median", "least", "most"}`.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

OUT = Path(__file__).parent / "out"

Row = Mapping[str, object]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Repetitions as median, least and most."""
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def rate(amount: float, work: Callable[[], object], runs: int = 5) -> dict[str, float]:
    """Amount a second of CPU time, from several runs of the work."""
    rates = []
    for _ in range(runs):
        start = time.process_time()
        work()
        rates.append(amount / (time.process_time() - start))
    return spread(rates)


def number(value: float) -> str:
    """A number with three significant digits, whole ones whole."""
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 3
    return f"{value:.{digits}f}"


def shown(value: object) -> str:
    """A cell as text: spreads as `median (least to most)`."""
    if isinstance(value, Mapping) and {"median", "least", "most"} <= value.keys():
        middle, least, most = (number(value[key]) for key in ("median", "least", "most"))
        return middle if least == most else f"{middle} ({least} to {most})"
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return str(value)


def columns(rows: Sequence[Row]) -> list[str]:
    """The keys of all rows, in order of appearance."""
    return list(dict.fromkeys(key for row in rows for key in row))


@dataclass
class Figures:
    """What one benchmark has to say; `finish` keeps it."""

    name: str
    question: str
    corpus: str = ""
    packages: Sequence[str] = ()
    peers: dict[str, str] = field(default_factory=dict)
    ratios: list[dict[str, object]] = field(default_factory=list)
    tables: list[dict[str, object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Say what is asked, of what, against whom."""
        for package in self.packages:
            try:
                self.peers[package] = version(package)
            except PackageNotFoundError:
                continue
        print(self.question)
        if self.corpus:
            print(f"on {self.corpus}")
        if self.peers:
            print("beside", ", ".join(f"{name} {number}" for name, number in self.peers.items()))

    def table(self, title: str, rows: Sequence[Row], note: str = "") -> None:
        """Add a table and print it."""
        self.tables.append({"title": title, "note": note, "rows": list(rows)})
        names = columns(rows)
        cells = [names, *([shown(row.get(name)) for name in names] for row in rows)]
        widths = [max(len(line[n]) for line in cells) for n in range(len(names))]
        print(f"\n{title}")
        for line in cells:
            padded = (
                cell.ljust(width) if n == 0 else cell.rjust(width)
                for n, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            print("  " + "  ".join(padded).rstrip())
        if note:
            print(f"  {note}")

    def ratio(
        self,
        what: str,
        ours: Mapping[str, float] | float,
        theirs: Mapping[str, float] | float,
        *,
        target: float | None = None,
    ) -> None:
        """Add ours divided by theirs, of medians, and print it."""
        first, second = (
            value["median"] if isinstance(value, Mapping) else value for value in (ours, theirs)
        )
        value = round(first / second, 3)
        self.ratios.append({"what": what, "value": value, "target": target})
        aim = f" (target {number(target)})" if target else ""
        print(f"  {what}: {value:.2f} x{aim}")

    def finish(self) -> None:
        """Write the file that the report reads."""
        OUT.mkdir(exist_ok=True)
        keys = ("name", "question", "corpus", "peers", "ratios", "tables")
        text = json.dumps({key: getattr(self, key) for key in keys}, indent=1)
        (OUT / f"{self.name}.json").write_text(f"{text}\n", "utf-8")
