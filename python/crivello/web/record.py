"""What a crawl has stored of one URL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crivello.store import Snapshot
from crivello.url import normalise, url_hash

MAX_VISITS = 20
MAX_DUPLICATES = 20


@dataclass(frozen=True)
class Duplicate:
    """A page that says the same, `distance` bits of the simhash away (0 when it is exact)."""

    url: str
    kind: str
    distance: int


@dataclass(frozen=True, kw_only=True)
class Record:
    """A URL that was admitted, or asked for, as of the last checkpoint."""

    url: str
    admitted: dict[str, Any] | None
    """Its row of `urls`."""
    visits: list[dict[str, Any]]
    """Its rows of `pages`, the latest first; `text` only of that one."""
    duplicate_of: list[Duplicate]
    duplicates: list[Duplicate]
    """Later pages that repeat it."""

    @property
    def latest(self) -> dict[str, Any] | None:
        """The latest visit."""
        return self.visits[0] if self.visits else None


def read_record(directory: Path, url: str) -> Record | None:
    """What is stored of a URL; None when the crawl does not know it, ValueError when it is none."""
    url = normalise(url)
    key = url_hash(url)
    with Snapshot.open(directory) as snapshot:
        admitted = _rows(snapshot, f"select * from urls where url_hash = {key}")
        visits = _rows(
            snapshot,
            f"""select * replace
                    (if(row_number() over (order by visit desc) = 1, text, null) as text)
                from (select * exclude (main_text) from pages where url_hash = {key})
                order by visit desc limit {MAX_VISITS}""",
        )
        if not admitted and not visits:
            return None
        earlier, later = _duplicates(snapshot, key)
        return Record(
            url=url,
            admitted=admitted[0] if admitted else None,
            visits=visits,
            duplicate_of=earlier,
            duplicates=later,
        )


def _duplicates(snapshot: Snapshot, key: int) -> tuple[list[Duplicate], list[Duplicate]]:
    """What a page repeats, and what repeats it."""
    found = _rows(
        snapshot,
        f"""select url_hash = {key} as later, if(url_hash = {key}, duplicate_of, url_hash) as other,
                   kind, distance
            from clusters
            where (url_hash = {key} or duplicate_of = {key}) and url_hash <> duplicate_of
            order by later desc, distance, other limit {MAX_DUPLICATES}""",
    )
    if not found:
        return [], []
    keys = ", ".join(str(row["other"]) for row in found)
    named = _rows(snapshot, f"select url_hash, url from urls where url_hash in ({keys})")
    urls = {row["url_hash"]: row["url"] for row in named}
    earlier: list[Duplicate] = []
    later: list[Duplicate] = []
    for row in found:
        if url := urls.get(row["other"]):
            duplicate = Duplicate(url, row["kind"], row["distance"])
            (earlier if row["later"] else later).append(duplicate)
    return earlier, later


def _rows(snapshot: Snapshot, query: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = snapshot.sql(query).to_arrow().to_pylist()
    return rows
