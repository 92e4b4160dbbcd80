"""Reading a crawl's tables, while it runs or not.

A `Snapshot` is the state of all agents' last completed checkpoints: what a reader has seen
never disappears, because recovery goes back to such a point or a later one. It holds the spool
segments open, so that one that is reclaimed meanwhile can still be read; sealed files stay.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from crivello.errors import Error, UsageError
from crivello.store import manifest, spool
from crivello.store.checkpoint import NAME, decode
from crivello.store.manifest import SEALING, Seal
from crivello.store.schema import layout

if TYPE_CHECKING:
    from types import TracebackType

    from crivello.store.sql import Rows

SETTINGS = "crivello.toml"


@dataclass(frozen=True)
class _Segment:
    path: Path
    length: int
    crc: int
    file: IO[bytes]

    def read(self) -> pa.Table:
        data = os.pread(self.file.fileno(), self.length, 0)
        if len(data) < self.length or zlib.crc32(data) != self.crc:
            raise Error(f"{self.path}: is not what the checkpoint says; restore it from a copy")
        return spool.read(data, str(self.path))


@dataclass(frozen=True)
class Sealed:
    """A sealed file of a table: entry `number` of an agent's manifest."""

    agent: int
    number: int
    rows: int
    path: Path

    def open(self) -> IO[bytes]:
        """The file, also when it has not got its name yet."""
        for path in (self.path, self.path.with_name(self.path.name + SEALING), self.path):
            try:
                return path.open("rb")
            except FileNotFoundError:
                continue  # a crash, or a crawl that runs, leaves it so until its next step
        raise Error(f"{self.path}: is gone, though the manifest names it; restore it from a copy")


class Snapshot:
    """The tables of a crawl as of its last completed checkpoint.

    >>> with Snapshot.open("docs.crivello") as snapshot:                       # doctest: +SKIP
    ...     snapshot.table("pages", columns=["url", "title"]).num_rows
    1000
    """

    def __init__(self, directory: Path, checkpoints: Sequence[dict[str, Any]]) -> None:
        """Of checkpoints already read; `Snapshot.open` reads them."""
        self.directory = directory
        self.checkpoints = list(checkpoints)
        self._open = ExitStack()
        self._segments: dict[str, list[_Segment]] = {}
        self._seals: dict[str, list[Seal]] = {}
        try:
            for state in self.checkpoints:
                for table, part in state["tables"].items():
                    self._take(int(state["agent"]), table, part)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, directory: str | Path) -> Self:
        """The tables of the crawl in `directory`. A crawl without a checkpoint has empty ones."""
        root = crawl_directory(directory)
        checkpoints = _checkpoints(root)
        while True:
            try:
                return cls(root, checkpoints)
            except FileNotFoundError as error:  # reclaimed since: then there is a newer checkpoint
                newer = _checkpoints(root)
                if newer == checkpoints:
                    raise Error(
                        f"{error.filename}: is gone, though the checkpoint names it;"
                        " restore it from a copy"
                    ) from None
                checkpoints = newer

    def _take(self, agent: int, table: str, part: dict[str, Any]) -> None:
        length, crc = part["manifest"]["len"], part["manifest"]["crc"]
        if length:
            path = self.directory / manifest.path(table, agent)
            with path.open("rb") as log:
                data = log.read(length)
            if zlib.crc32(data) != crc:
                raise Error(f"{path}: is not what the checkpoint says; restore it from a copy")
            self._seals.setdefault(table, []).extend(manifest.parse(data, str(path)))
        for name, size, check in part["spool"]:
            path = self.directory / "agents" / str(agent) / "spool" / name
            file = self._open.enter_context(path.open("rb"))
            self._segments.setdefault(table, []).append(_Segment(path, size, check, file))

    def close(self) -> None:
        """Let the spool segments go."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def at(self) -> int | None:
        """When the (oldest of the) checkpoints was taken, in UTC microseconds."""
        return min((state["at"] for state in self.checkpoints), default=None)

    def files(self, table: str) -> list[Path]:
        """The Parquet files that hold the sealed rows, but for some in `recent`."""
        return [path for path in self._sealed(table) if path.exists()]

    def sealed(self, table: str) -> list[Sealed]:
        """The sealed files of a table, of each agent in the order of its manifest.

        Who follows the table remembers the last number of each agent.
        """
        folder = self.directory / "tables" / layout_name(table)
        numbers: Counter[int] = Counter()
        found = []
        for seal in self._seals.get(table, []):
            numbers[seal.agent] += 1
            number = numbers[seal.agent]
            found.append(Sealed(seal.agent, number, seal.rows, folder / seal.file))
        return found

    def _sealed(self, table: str) -> Iterator[Path]:
        folder = self.directory / "tables" / layout_name(table)
        return (folder / entry.file for entry in self._seals.get(table, []))

    def recent(self, table: str) -> pa.Table:
        """The rows that lie in no `.parquet` yet, read into memory."""
        schema = layout(table).schema
        parts = [_fitted(segment.read(), schema) for segment in self._segments.get(table, [])]
        for path in self._sealed(table):
            if not path.exists():
                try:
                    data = path.with_name(path.name + SEALING).read_bytes()
                except FileNotFoundError:
                    if path.exists():
                        continue  # it has its name by now
                    raise Error(
                        f"{path}: is gone, though the manifest names it; restore it from a copy"
                    ) from None
                parts.append(_fitted(pq.read_table(pa.BufferReader(data)), schema))
        return pa.concat_tables(parts) if parts else schema.empty_table()

    def parts(self, table: str) -> tuple[list[Path], pa.Table]:
        """All rows of a table: Parquet files, and the rows that are in none of them."""
        waiting = [path for path in self._sealed(table) if not path.exists()]
        recent = self.recent(table)
        if any(path.exists() for path in waiting):
            return self.parts(table)  # a file was given its name between the two looks
        return self.files(table), recent

    def dataset(self, table: str) -> ds.Dataset:
        """A table as a pyarrow dataset: `scanner(columns=…, filter=…)`, `to_batches()`."""
        files, recent = self.parts(table)
        memory = ds.dataset(recent)
        if not files:
            return memory
        disk = ds.dataset([str(path) for path in files], schema=recent.schema, format="parquet")
        return ds.dataset([disk, memory])

    def table(self, table: str, *, columns: Sequence[str] | None = None) -> pa.Table:
        """A whole table in memory."""
        return self.dataset(table).to_table(columns=columns)

    def count(self, table: str) -> int:
        """How many rows a table has."""
        return int(self.dataset(table).count_rows())

    def sql(self, query: str, *, memory: int = 512 << 20) -> Rows:
        """Rows of a query over `urls`, `pages`, `links`, `robots`, `clusters`, `urls_state`."""
        from crivello.store.sql import run

        return run(self, query, memory=memory)


def layout_name(table: str) -> str:
    """`table` if there is such a table."""
    layout(table)
    return table


def crawl_directory(directory: str | Path) -> Path:
    """`directory` if it holds a crawl; an error that says what to do if not."""
    root = Path(directory)
    if not root.is_dir():
        what = "is a file, not a directory" if root.exists() else "there is no such directory"
        raise UsageError(f"{root}: {what}; give the directory of a crawl")
    if not (root / SETTINGS).is_file():
        raise UsageError(
            f"{root}: is not a crawl (it holds no {SETTINGS});"
            " give the directory that `crivello crawl -o` made"
        )
    return root


def _checkpoints(root: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted(root.glob(f"agents/*/{NAME}")):
        try:
            state = decode(path.read_bytes(), path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise Error(f"{path}: cannot be read: {error.strerror}") from None
        state.setdefault("agent", int(path.parent.name))
        found.append(state)
    sealed = None if found else next(root.glob("tables/*/*.parquet"), None)
    if sealed is not None:  # it got its name after a checkpoint
        raise Error(
            f"{root}: no {NAME} can be found in agents/, though there are sealed rows"
            f" ({sealed.name}); restore it from a copy"
        )
    return found


def _fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows of an older version of the schema with the columns of this one."""
    if rows.schema.equals(schema):
        return rows.replace_schema_metadata(schema.metadata)
    empty = {field.name: pa.nulls(rows.num_rows, field.type) for field in schema}
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else empty[field.name]
        for field in schema
    ]
    return pa.table(columns, schema=schema)
