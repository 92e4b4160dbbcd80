"""The tables of a crawl, as one agent writes them.

A row goes to the spool of its table (`spool`), and with the segment it lies in, later, to
Parquet (`seal`), listed in the table's manifest (`manifest`). What is true is what
`checkpoint.json` names; the steps of a seal, each safe to be cut off:

1. a background thread writes `tables/<t>/<agent>-<n>.parquet.sealing` from a closed segment;
2. the next `checkpoint` appends the manifest's entry and no longer lists the segment;
3. once `checkpoint.json` has its name, `reclaim` renames the file to `.parquet` and removes
   the segment. Recovery rolls this step forward, and everything before it back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from crivello.errors import Error
from crivello.store.manifest import SEALING, Manifest, Seal
from crivello.store.schema import TABLES, conform, layout
from crivello.store.seal import seal
from crivello.store.spool import Segment, Spool

if TYPE_CHECKING:
    from crivello._native import Files

State = dict[str, Any]
"""What a checkpoint records: JSON, under "tables" in `checkpoint.json`."""


class _Table:
    """One table: its spool, its manifest, and the seals under way."""

    def __init__(
        self, files: Files, agent: int, name: str, state: Mapping[str, Any] | None
    ) -> None:
        self.name = name
        self.files = files
        self.agent = agent
        self.manifest = Manifest(files, name, agent, state and state["manifest"])
        self.running: dict[str, Future[Seal]] = {}
        self.reclaimable: list[Seal] = []
        self._clean()

    def _clean(self) -> None:
        """Roll sealed files forward to their names, and remove this agent's other files."""
        folder = f"tables/{self.name}"
        present = set(self.files.list(folder))
        wanted = {entry.file for entry in self.manifest.entries}
        for name in sorted(wanted - present):
            if name + SEALING not in present:
                raise Error(
                    f"{self.files.path(f'{folder}/{name}')}: is gone, though the manifest"
                    " names it; restore it from a copy"
                )
            self.files.rename(f"{folder}/{name}{SEALING}", f"{folder}/{name}")
            present.discard(name + SEALING)
        for name in sorted(present - wanted):
            if name.startswith(f"{self.agent}-"):
                self.files.remove(f"{folder}/{name}")

    def start(self, pool: ThreadPoolExecutor, spool: Spool) -> None:
        """Begin to seal the closed segments that are not being sealed."""
        for segment in spool.closed:
            if segment.name not in self.running:
                target = f"tables/{self.name}/{self.agent}-{segment.number:06}.parquet"
                self.running[segment.name] = pool.submit(
                    seal, self.files, self.name, segment, spool.path(segment.name), target
                )

    def harvest(self, spool: Spool) -> None:
        """Take over what is sealed. A seal that failed raises once and may be started again."""
        for name, future in list(self.running.items()):
            if not future.done():
                continue
            if future.exception() is not None:
                del self.running[name]
            entry = future.result()
            self.manifest.extend([entry])
            self.reclaimable.append(entry)
            spool.sealed(name)
            del self.running[name]

    def reclaim(self, folder: str) -> None:
        while self.reclaimable:
            entry = self.reclaimable[0]
            target = f"tables/{self.name}/{entry.file}"
            if self.files.exists(target + SEALING):
                self.files.rename(target + SEALING, target)
            if self.files.exists(f"{folder}/{entry.segment}"):
                self.files.remove(f"{folder}/{entry.segment}")
            del self.reclaimable[0]


class Tables:
    """The tables `urls`, `pages`, `links`, `robots`, `clusters` of one agent.

    `state` is what `checkpoint` returned for the checkpoint to go on from (None: a new crawl);
    whatever was written after it is rolled back. One thread appends.
    """

    def __init__(
        self,
        files: Files,
        agent: int,
        state: Mapping[str, Any] | None = None,
        *,
        seal_bytes: int = 64 << 20,
        seal_seconds: float = 900.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = f"agents/{agent}/spool"
        self._tables: dict[str, _Table] = {}
        self._spools: dict[str, Spool] = {}
        for name in TABLES:
            known = (state or {}).get(name)
            table = _Table(files, agent, name, known)
            self._tables[name] = table
            self._spools[name] = Spool(
                files,
                self._folder,
                name,
                layout(name).schema,
                segments=[Segment(*segment) for segment in known["spool"]] if known else (),
                sealed=max((entry.number for entry in table.manifest.entries), default=0),
                seal_bytes=seal_bytes,
                seal_seconds=seal_seconds,
                clock=clock,
            )
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="crivello-seal")

    def append(self, table: str, batch: Any) -> int:  # noqa: ANN401 - any PyCapsule producer
        """Add rows, from any Arrow batch with the table's columns; how many they were."""
        rows = conform(table, batch)
        if rows.num_rows:
            self._spools[table].append(rows)
        return int(rows.num_rows)

    def checkpoint(self) -> State:
        """Flush everything up to here and describe it; what is sealed by now is part of it.

        A seal that failed (a full disk) raises its `OSError` here; the next call tries again.
        """
        state: State = {}
        for name, table in self._tables.items():
            spool = self._spools[name]
            table.harvest(spool)
            segments = spool.checkpoint()
            table.start(self._pool, spool)
            state[name] = {
                "spool": [[part.name, part.length, part.crc] for part in segments],
                "manifest": table.manifest.checkpoint(),
            }
        return state

    def reclaim(self) -> None:
        """The last `checkpoint` is in `checkpoint.json`: drop what only older ones needed."""
        for table in self._tables.values():
            table.reclaim(self._folder)

    def seal(self) -> None:
        """Close the open segments and begin to seal them."""
        for name, table in self._tables.items():
            self._spools[name].rotate()
            table.start(self._pool, self._spools[name])

    def finish(self) -> None:
        """Seal every row and wait for it; the `OSError` of a failed seal is raised here.

        After one more `checkpoint` and `reclaim`, `tables/<t>/*.parquet` is the whole table.
        """
        self.seal()
        wait([future for table in self._tables.values() for future in table.running.values()])
        for name, table in self._tables.items():
            table.harvest(self._spools[name])

    def sealed(self, table: str) -> int:
        """Files of a table that the manifest of the last checkpoint names."""
        return len(self._tables[table].manifest.entries)

    def sealing(self) -> int:
        """Segments that wait to be sealed or are being sealed."""
        return sum(len(spool.closed) for spool in self._spools.values())

    def close(self) -> None:
        """End the background thread; unfinished seals are begun anew when opened again."""
        self._pool.shutdown(wait=True, cancel_futures=True)
