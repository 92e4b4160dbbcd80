"""Building the index: sealed rows of `pages` become segments, segments are merged.

The indexer follows the manifests of `pages` as completed checkpoints name them: of each agent it
remembers the number of the last entry that it has read. A document is a page with status 200 and
a text, whose robots directives do not say noindex.

Segments are written first, then `index.json` names them by one rename (`state`), then files that
it no longer names are removed. What a crash leaves unnamed is removed at the next start and made
again. An entry counts as read only when all its rows lie in segments that are named with it: so
no document is lost, and none is there twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crivello._native import Files, IndexBuilder, Searcher, merge_segments
from crivello.crawl.lock import CrawlLock
from crivello.errors import Error
from crivello.index import state
from crivello.index.state import Index, Ranges, Segment
from crivello.store.reader import Sealed, Snapshot, crawl_directory

TIER = "0"
MOST_SEGMENTS = 10
MERGED_AT_ONCE = 4
BATCH_ROWS = 256
MEMORY = 256 << 20
BUILDER_PART = 0.6
"""Of the memory: the rest is for rows on their way, and for writing the segment."""

COLUMNS = ["url", "url_hash", "visit", "fetched_at", "lang", "title", "text"]
_NOINDEX = 1


@dataclass(frozen=True)
class Update:
    """What a run of the indexer did."""

    index: Index
    added: int
    """Documents that are new in the index."""
    complete: bool
    """Whether all that is sealed is in it; not so when the run was stopped."""


class Indexer:
    """Keeps the index of a crawl, within `memory` bytes. One at a time writes; readers go on.

    >>> Indexer("docs.crivello").update().index.documents                      # doctest: +SKIP
    1000
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        memory: int = MEMORY,
        fsync: bool = False,
        fault: str | None = None,
    ) -> None:
        self.root = crawl_directory(directory)
        self.memory_bytes = 0
        """What the segment under construction holds."""
        self._files = Files(self.root, fsync=fsync, fault=fault)
        self._memory = int(memory * BUILDER_PART)

    def update(
        self,
        *,
        rebuild: bool = False,
        merge: bool = False,
        stop: Callable[[], bool] = lambda: False,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Update:
        """Index what has been sealed since the last time, until `stop()` is true.

        `rebuild` begins with an empty index, which replaces the old one when it is done; `merge`
        makes one segment of all at the end. `on_progress` is told rows read and rows to read.
        """
        folder = self.root / state.FOLDER / TIER
        folder.mkdir(parents=True, exist_ok=True)
        lock = CrawlLock(
            self.root / state.FOLDER / "lock",
            taken="is indexing this crawl; wait until it is done",
        )
        with lock, Snapshot.open(self.root) as snapshot:
            before = None if rebuild else state.read(self.root)
            run = _Run(self._files, self._memory, before or Index(), on_memory=self._holds)
            if not rebuild:
                run.sweep()
            waiting = run.waiting(snapshot.sealed("pages"), self.root)
            complete = run.read(waiting, stop, on_progress or _silent, publish=not rebuild)
            if complete:
                if run.index != before:
                    run.publish()
                run.merge(1 if merge else MOST_SEGMENTS, stop)
            return Update(run.index, run.added, complete)

    def _holds(self, memory: int) -> None:
        self.memory_bytes = memory


class _Run:
    """One run of the indexer: the index as it grows, and the segment under construction."""

    def __init__(
        self, files: Files, memory: int, index: Index, *, on_memory: Callable[[int], None]
    ) -> None:
        self._files = files
        self._memory = memory
        self._on_memory = on_memory
        self._builder = IndexBuilder()
        self._origin: Ranges = {}
        self._unnamed: list[Segment] = []
        self.index = index
        self.added = 0
        present = files.list(f"{state.FOLDER}/{TIER}")
        self._number = max((_number(name) for name in present), default=0)

    def sweep(self) -> None:
        """Remove what the index does not name."""
        named = {segment.file for segment in self.index.segments}
        for name in self._files.list(f"{state.FOLDER}/{TIER}"):
            if f"{TIER}/{name}" not in named:
                self._files.remove(f"{state.FOLDER}/{TIER}/{name}")

    def waiting(self, sealed: Sequence[Sealed], root: Path) -> list[Sealed]:
        """The files that are not in the index yet."""
        for agent, number in self.index.indexed.items():
            if number > sum(str(each.agent) == agent for each in sealed):
                raise Error(
                    f"{root / state.NAME}: knows more than the tables of the crawl;"
                    f" {state.rebuild(root)}"
                )
        return [each for each in sealed if each.number > self.index.indexed.get(str(each.agent), 0)]

    def read(
        self,
        waiting: Sequence[Sealed],
        stop: Callable[[], bool],
        on_progress: Callable[[int, int], None],
        *,
        publish: bool,
    ) -> bool:
        """Make documents of the files, and `publish` now and then; whether all were read."""
        total = sum(each.rows for each in waiting)
        done = 0
        indexed = dict(self.index.indexed)
        for file in waiting:
            split = False
            for rows, documents in _documents(file):
                if stop():
                    return False
                _cover(self._origin, str(file.agent), file.number, file.number)
                self._builder.add(documents)
                held = self._builder.memory_bytes
                self._on_memory(held)
                if held >= self._memory:
                    self._finish()
                    split = True
                done += rows
                on_progress(done, total)
            indexed[str(file.agent)] = file.number
            if split:  # this entry's rows may lie in several segments: now they are all there
                self._name(indexed)
                if publish:
                    self.publish()
        self._name(indexed)
        return True

    def _finish(self) -> None:
        """Write the segment under construction."""
        documents = len(self._builder)
        if documents:
            file = self._next_file()
            length, crc = self._builder.finish(self._files, f"{state.FOLDER}/{file}")
            self._unnamed.append(Segment(file, length, crc, documents, self._origin))
        self._origin = {}
        self._on_memory(0)

    def _name(self, indexed: dict[str, int]) -> None:
        """End the segment under construction: now all entries up to `indexed` are in segments."""
        self._finish()
        self.added += sum(segment.documents for segment in self._unnamed)
        self.index = Index((*self.index.segments, *self._unnamed), dict(indexed))
        self._unnamed = []

    def publish(self) -> None:
        """Name the segments, and let go of what is not named any more."""
        state.write(self._files, self.index)
        self.sweep()

    def merge(self, most: int, stop: Callable[[], bool]) -> None:
        """Merge neighbours, those that are smallest together first, down to `most` segments."""
        while len(self.index.segments) > most and not stop():
            segments = self.index.segments
            width = len(segments) if most == 1 else MERGED_AT_ONCE
            start = min(
                range(len(segments) - width + 1),
                key=lambda at: sum(segment.len for segment in segments[at : at + width]),
            )
            merged = self._merged(segments[start : start + width])
            self.index = Index(
                (*segments[:start], merged, *segments[start + width :]), self.index.indexed
            )
            self.publish()

    def _merged(self, parts: Sequence[Segment]) -> Segment:
        file = self._next_file()
        path = f"{state.FOLDER}/{file}"
        length, crc = merge_segments(self._files, [part.path for part in parts], path)
        documents = Searcher([self._files.path(path)]).documents_total
        origin: Ranges = {}
        for part in parts:
            for agent, ranges in part.origin.items():
                for first, last in ranges:
                    _cover(origin, agent, first, last)
        return Segment(file, length, crc, documents, origin)

    def _next_file(self) -> str:
        self._number += 1
        return f"{TIER}/{self._number:06}.seg"


def _silent(_done: int, _total: int) -> None:
    """Nobody wants to know."""


def _number(name: str) -> int:
    digits = name.partition(".")[0]
    return int(digits) if digits.isdecimal() else 0


def _cover(origin: Ranges, agent: str, first: int, last: int) -> None:
    """Add the entries from `first` to `last`, which are the latest of the agent."""
    ranges = origin.setdefault(agent, [])
    if ranges and first <= ranges[-1][1] + 1:
        ranges[-1][1] = max(last, ranges[-1][1])
    else:
        ranges.append([first, last])


def _documents(file: Sealed) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The documents of a file in its order, with the number of rows that they are found in."""
    with file.open() as opened:
        try:
            pages = pq.ParquetFile(opened, page_checksum_verification=True)
            batches = pages.iter_batches(
                BATCH_ROWS, columns=[*COLUMNS, "status", "robots_flags"], use_threads=False
            )
            for rows in batches:
                wanted = pc.and_kleene(pc.equal(rows["status"], 200), pc.is_valid(rows["text"]))
                unwanted = pc.bit_wise_and(pc.fill_null(rows["robots_flags"], 0), _NOINDEX)
                wanted = pc.and_kleene(wanted, pc.equal(unwanted, 0))
                yield rows.num_rows, rows.filter(wanted).select(COLUMNS)
        except (OSError, pa.ArrowException) as error:
            raise Error(f"{file.path}: cannot be read: {error}") from None
