"""A table as one file for other programs: JSON lines or Parquet, streamed, all or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from crivello.errors import UsageError
from crivello.store.jsonl import json_rows, plain
from crivello.store.reader import Snapshot
from crivello.store.schema import layout

FORMATS = ("jsonl", "parquet")
_BATCH_ROWS = 8_192

OnProgress = Callable[[int, int], None]


def export(
    directory: str | Path,
    output: str | Path,
    *,
    table: str = "pages",
    to: str = "jsonl",
    columns: Sequence[str] | None = None,
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> int:
    """Write `table` of the crawl in `directory` to the file `output`; the number of rows.

    `on_progress(rows done, rows in all)` is called after every batch.
    """
    path = Path(output)
    if to not in FORMATS:
        raise UsageError(f"format {to!r}: there is none; the formats are {', '.join(FORMATS)}")
    names = layout(table).schema.names
    unknown = [name for name in columns or () if name not in names]
    if unknown:
        raise UsageError(f"table {table} has no column {unknown[0]}; it has {', '.join(names)}")
    if path.exists() and not force:
        raise UsageError(f"{path}: exists; choose another name, or --force to replace it")
    with Snapshot.open(directory) as snapshot:
        dataset = snapshot.dataset(table)
        total = int(dataset.count_rows())
        batches = dataset.to_batches(columns=columns, batch_size=_BATCH_ROWS)
        schema = layout(table).schema
        if columns:
            schema = pa.schema([schema.field(name) for name in columns], schema.metadata)
        with atomic(path) as file:
            write = _write_jsonl if to == "jsonl" else _write_parquet
            done = 0
            for rows in write(file, schema, batches):
                done += rows
                if on_progress is not None:
                    on_progress(done, total)
    return done


def _write_jsonl(
    file: IO[bytes], _schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[int]:
    for batch in batches:
        for row in json_rows(batch):
            file.write(json.dumps(row, ensure_ascii=False, default=plain).encode() + b"\n")
        yield batch.num_rows


def _write_parquet(
    file: IO[bytes], schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[int]:
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield batch.num_rows


@contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when the block ends well, and is gone when not."""
    draft = path.with_name(f".{path.name}.part")
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        draft.unlink(missing_ok=True)
