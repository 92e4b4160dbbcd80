"""Sealing: a closed spool segment becomes a sorted Parquet file.

The segment is mapped, not read; its rows are sorted by index and taken group by group, so that
beside one copy of them only a row group and the compressed file are held.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crivello.store import spool
from crivello.store.manifest import SEALING, Seal
from crivello.store.schema import Layout, layout

if TYPE_CHECKING:
    from crivello._native import Files

_FALSE_POSITIVES = 0.01
_ZSTD_LEVEL = 1


def seal(files: Files, table: str, segment: spool.Segment, source: str, target: str) -> Seal:
    """Write the segment at path `source` as `target` + `.sealing`; the entry to be made true."""
    rows = spool.read(pa.memory_map(str(files.path(source))).read_buffer(), source)
    data = encode(table, rows)
    files.write_atomic(target + SEALING, data)
    name = target.rpartition("/")[2]
    return Seal(name, rows.num_rows, len(data), zlib.crc32(data), segment.name)


def encode(table: str, rows: pa.Table) -> bytes:
    """The rows, sorted, as a Parquet file: zstd, statistics, Bloom filters, page checksums."""
    plan = layout(table)
    rows = rows.combine_chunks()  # once: `take` would do it again for every row group
    order = pc.sort_indices(rows, sort_keys=[(column, "ascending") for column in plan.order])
    sink = pa.BufferOutputStream()
    with _writer(sink, plan, min(rows.num_rows, plan.group_rows)) as writer:
        for start in range(0, rows.num_rows, plan.group_rows):
            writer.write_table(rows.take(order.slice(start, plan.group_rows)))
    return bytes(sink.getvalue())


def _writer(sink: pa.BufferOutputStream, plan: Layout, group_rows: int) -> pq.ParquetWriter:
    names = plan.schema.names
    return pq.ParquetWriter(
        sink,
        plan.schema,
        compression="zstd",
        compression_level=_ZSTD_LEVEL,
        use_dictionary=[name for name in names if name in plan.repeated],
        write_statistics=[name for name in names if name not in plan.wide],
        write_page_checksum=True,
        sorting_columns=pq.SortingColumn.from_ordering(
            plan.schema, [(column, "ascending") for column in plan.order]
        ),
        bloom_filter_options={
            column: {"ndv": max(1, group_rows), "fpp": _FALSE_POSITIVES}
            for column in plan.looked_up
        },
    )
