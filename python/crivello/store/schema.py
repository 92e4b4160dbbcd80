"""The tables' columns, version 1, and how a batch is made to fit them.

`docs/formats/tables.md` documents them one by one. Times are UTC microseconds; a `*_hash` is
the xxh3-64 of a URL's normal form. Columns that a producer adds beside these are not stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crivello.errors import Error

VERSION = 1
VERSION_KEY = "crivello.schema"
_TIME = pa.timestamp("us", tz="UTC")
_DIGEST = pa.binary(16)


@dataclass(frozen=True)
class Layout:
    """A table: its columns, and how its Parquet files are laid out."""

    schema: pa.Schema
    order: tuple[str, ...]
    """Rows of a file are sorted by these columns, stably."""
    looked_up: tuple[str, ...]
    """Columns with a Bloom filter."""
    repeated: tuple[str, ...]
    """Columns of few distinct values, encoded by a dictionary."""
    wide: tuple[str, ...] = ()
    """Columns of long texts, without statistics."""
    group_rows: int = 65_536
    """Rows of a row group: the unit of reading."""


def _schema(*columns: tuple[str, Any] | tuple[str, Any, str]) -> pa.Schema:
    fields = [pa.field(column[0], column[1], nullable=len(column) == 3) for column in columns]
    return pa.schema(fields, metadata={VERSION_KEY: str(VERSION)})


TABLES: Mapping[str, Layout] = {
    "urls": Layout(
        _schema(
            ("url", pa.string()),
            ("url_hash", pa.uint64()),
            ("host", pa.string()),
            ("domain", pa.string()),
            ("depth", pa.uint16()),
            ("score", pa.float32()),
            ("useful", pa.bool_(), "null"),
            ("from_hash", pa.uint64()),
            ("from_url", pa.string()),
            ("state", pa.string()),
            ("admitted_at", _TIME),
        ),
        order=("host", "url"),
        looked_up=("url_hash",),
        repeated=("host", "domain", "from_url", "state"),
    ),
    "pages": Layout(
        _schema(
            ("url", pa.string()),
            ("url_hash", pa.uint64()),
            ("host", pa.string()),
            ("domain", pa.string()),
            ("visit", pa.uint64()),
            ("fetched_at", _TIME),
            ("status", pa.uint16(), "null"),
            ("error", pa.string(), "null"),
            ("redirect_to", pa.string(), "null"),
            ("mime", pa.string(), "null"),
            ("charset", pa.string(), "null"),
            ("ip", pa.string(), "null"),
            ("http", pa.string(), "null"),
            ("fetch_ms", pa.float32(), "null"),
            ("bytes", pa.uint64(), "null"),
            ("truncated", pa.string(), "null"),
            ("etag", pa.string(), "null"),
            ("last_modified", pa.string(), "null"),
            ("payload_digest", _DIGEST, "null"),
            ("text_digest", _DIGEST, "null"),
            ("simhash", pa.uint64(), "null"),
            ("text_len", pa.uint32(), "null"),
            ("title", pa.string(), "null"),
            ("description", pa.string(), "null"),
            ("lang", pa.string(), "null"),
            ("published_at", _TIME, "null"),
            ("canonical", pa.string(), "null"),
            ("robots_flags", pa.uint16(), "null"),
            ("text", pa.string(), "null"),
            ("main_text", pa.string(), "null"),
            ("depth", pa.uint16()),
            ("score", pa.float32()),
            ("useful", pa.bool_(), "null"),
            ("warc_file", pa.string(), "null"),
            ("warc_offset", pa.uint64(), "null"),
            ("warc_length", pa.uint64(), "null"),
        ),
        order=("host", "url", "visit"),
        looked_up=("url_hash",),
        repeated=(
            "host", "domain", "error", "mime", "charset", "ip", "http", "lang", "truncated",
            "robots_flags", "warc_file",
        ),
        wide=("title", "description", "text", "main_text"),
        group_rows=2_048,
    ),
    "links": Layout(
        _schema(
            ("src_hash", pa.uint64()),
            ("dst_url", pa.string()),
            ("dst_hash", pa.uint64()),
            ("anchor", pa.string(), "null"),
            ("rel", pa.string(), "null"),
            ("kind", pa.string()),
        ),
        order=("src_hash",),
        looked_up=("src_hash", "dst_hash"),
        repeated=("src_hash", "dst_url", "dst_hash", "anchor", "rel", "kind"),
        wide=("anchor",),
        group_rows=262_144,
    ),
    "robots": Layout(
        _schema(
            ("host", pa.string()),
            ("origin", pa.string()),
            ("fetched_at", _TIME),
            ("status", pa.uint16(), "null"),
            ("body", pa.binary(), "null"),
            ("expires", _TIME),
        ),
        order=("host", "fetched_at"),
        looked_up=("host",),
        repeated=(),
        wide=("body",),
    ),
    "clusters": Layout(
        _schema(
            ("url_hash", pa.uint64()),
            ("duplicate_of", pa.uint64()),
            ("kind", pa.string()),
            ("distance", pa.uint8()),
        ),
        order=("url_hash",),
        looked_up=("url_hash",),
        repeated=("kind",),
    ),
}  # fmt: skip


def layout(table: str) -> Layout:
    """A table's layout, or an error that names the tables."""
    try:
        return TABLES[table]
    except KeyError:
        raise Error(f"table {table!r}: there is none; the tables are {', '.join(TABLES)}") from None


def conform(table: str, batch: Any) -> pa.RecordBatch:  # noqa: ANN401 - any PyCapsule producer
    """`batch` with the table's columns in their order and types.

    Columns are found by name; those that may be null may be missing, others than the table's
    are left out.
    """
    given = batch if isinstance(batch, pa.RecordBatch) else pa.record_batch(batch)
    schema = layout(table).schema
    columns = []
    for field in schema:
        at = given.schema.get_field_index(field.name)
        if at < 0 and not field.nullable:
            raise Error(f"table {table}: column {field.name} is missing in a batch")
        column = pa.nulls(given.num_rows, field.type) if at < 0 else given.column(at)
        if column.type != field.type:
            try:
                column = column.cast(field.type)
            except pa.ArrowException as error:
                raise Error(f"table {table}: column {field.name}: {error}") from None
        if column.null_count and not field.nullable:
            raise Error(f"table {table}: column {field.name} may not be null")
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)
